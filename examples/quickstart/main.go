// Command quickstart generates UIDs without a database: first a few, with their parts, then as
// many as one goroutine can take in a second.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -worker-file /path/to/file
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

func main() {
	path := flag.String("worker-file", "", "file that counts worker IDs; its directory must exist (default: a file in the user's state directory)")
	flag.Parse()
	if err := run(os.Stdout, *path); err != nil {
		log.Fatal("quickstart: ", err)
	}
}

func run(out io.Writer, path string) error {
	if path == "" {
		dir, err := stateDir(runtime.GOOS, os.Getenv, os.UserHomeDir)
		if err != nil {
			return err
		}
		dir = filepath.Join(dir, "ringuid")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("%w; choose another file with -worker-file", err)
		}
		path = filepath.Join(dir, "quickstart.worker")
	}

	// ONE HOST ONLY: processes on two hosts with a file each would generate the same UIDs.
	// Each start takes the next worker ID from a counter in this file. If the file were lost, the
	// counter would start again at 1, and earlier UIDs could be generated again. So it must not be
	// in a temporary directory or a cache.
	g, err := uid.NewCached(context.Background(), workerassign.NewFile(path))
	if err != nil {
		return err
	}
	defer g.Close()
	fmt.Fprintf(out, "Worker IDs are counted in %s.\n\nFive UIDs and their parts:\n", path)
	for range 5 {
		id, err := g.Next()
		if err != nil {
			return err
		}
		parts := g.Parse(id)
		fmt.Fprintf(out, "  %d = time %s, worker %d, sequence %d\n",
			id, parts.Time.Format(time.RFC3339), parts.WorkerID, parts.Sequence)
	}

	fmt.Fprintln(out, "\nAs many UIDs as one goroutine can take in a second (a warning about this load is expected):")
	count, begin := 0, time.Now()
	for ; count%65_536 != 0 || time.Since(begin) < time.Second; count++ {
		if _, err := g.Next(); err != nil {
			return err
		}
	}
	took := time.Since(begin)
	fmt.Fprintf(out, "  %d million per second, %.1f ns each.\n", int(float64(count)/took.Seconds()/1e6), float64(took.Nanoseconds())/float64(count))
	fmt.Fprintf(out, "  The layout holds 8,192 per second for each worker ID, so the times of these UIDs are ahead of the clock.\n"+
		"  Each time that they were %v ahead, the generator changed to another worker ID: %d times.\n",
		uid.DefaultMaxBorrow, g.Stats().Rollovers)
	return nil
}

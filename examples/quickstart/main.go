// Quickstart makes UIDs without a database: a few with their parts, then as many as this
// machine makes in a second.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	// Each start takes a new worker ID from a counter in a file. A service keeps the file
	// where it lasts: if it is lost, worker IDs come again, and UIDs with them.
	workers := workerassign.NewFile(filepath.Join(os.TempDir(), "ringuid-quickstart.worker"))
	g, err := uid.NewCached(context.Background(), workers)
	if err != nil {
		return err
	}
	defer g.Close()

	fmt.Println("Five UIDs and their parts:")
	for range 5 {
		id, err := g.Next()
		if err != nil {
			return err
		}
		parts := g.Parse(id)
		fmt.Printf("  %d = time %s, worker %d, sequence %d\n",
			id, parts.Time.Format(time.RFC3339), parts.WorkerID, parts.Sequence)
	}

	fmt.Println("Now as many as one goroutine gets in a second:")
	count, begin := 0, time.Now()
	for ; count%65_536 != 0 || time.Since(begin) < time.Second; count++ {
		if _, err := g.Next(); err != nil {
			return err
		}
	}
	took, stats := time.Since(begin), g.Stats()
	fmt.Printf("  %d million a second, %.1f ns each\n", int(float64(count)/took.Seconds()/1e6), float64(took.Nanoseconds())/float64(count))
	fmt.Printf("  (the layout holds 8,192 a second, so their times ran ahead of the clock; at %v ahead\n"+
		"  the generator went on with another worker ID, %d times)\n", uid.DefaultMaxBorrow, stats.Rollovers)
	return nil
}

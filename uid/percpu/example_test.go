package percpu_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/uid/percpu"
	"github.com/ringuid/ringuid/workerassign"
)

// A Generator for goroutines that take UIDs on many CPUs concurrently.
func ExampleNew() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	c, err := uid.NewCached(context.Background(), workerassign.NewFile(filepath.Join(folder, "worker")))
	if err != nil {
		log.Fatal(err)
	}
	g := percpu.New(c)
	defer g.Close() // closes c

	a, err := g.Next()
	if err != nil {
		log.Fatal(err)
	}
	b, err := g.Next()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a != b, g.Parse(a).WorkerID)
	// Output: true 1
}

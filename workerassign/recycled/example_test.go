package recycled_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Two generators at a time need two worker IDs, however often they are started. Another store is sqlstore.New(db), or that of
// the modules for Redis, etcd and ZooKeeper: then the generators may be on many hosts.
func ExampleNew() {
	ctx := context.Background()
	directory, err := os.MkdirTemp("", "ringuid") // a service uses a directory that is kept
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(directory)
	workers := recycled.New(filestore.New(filepath.Join(directory, "pool")))

	a, err := uid.NewCached(ctx, workers)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	b, err := uid.NewCached(ctx, workers)
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	for _, g := range []*uid.Cached{a, b} {
		id, err := g.Next()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("worker ID", g.Parse(id).WorkerID)
	}
	// Output:
	// worker ID 0
	// worker ID 1
}

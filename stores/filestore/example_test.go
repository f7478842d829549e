package filestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// One store has the worker IDs of UIDs, and the numbers of tags.
func ExampleNew() {
	ctx := context.Background()
	directory, err := os.MkdirTemp("", "ringuid") // a service uses a directory that is kept
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(directory)
	store := filestore.New(filepath.Join(directory, "ids"))

	g, err := uid.NewCached(ctx, recycled.New(store))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	id, err := g.Next()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("a UID of worker ID", g.Parse(id).WorkerID)

	if err := store.CreateTag(ctx, "orders", segment.TagConfig{}); err != nil { // once, by hand (ringuid tag create), and not at each start
		log.Fatal(err)
	}
	orders, err := segment.New(ctx, store, "orders", segment.WithMaxWait(time.Minute)) // a disk may be slow
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	for range 2 {
		n, err := orders.Next()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("order", n)
	}
	// Output:
	// a UID of worker ID 0
	// order 1
	// order 2
}

// Command segment hands out order numbers from a file, without a database: for all processes of one host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/filestore"
)

func main() {
	path := flag.String("file", filepath.Join(os.TempDir(), "ringuid-example-segment"), "the file with the counters; use one that lasts")
	count := flag.Int("n", 3, "how many numbers to print")
	flag.Parse()
	if err := run(context.Background(), *path, *count); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path string, count int) error {
	source := filestore.New(path)

	// Once, when the tag is introduced. With a table, a DBA inserts a row instead.
	err := source.CreateTag(ctx, "orders", segment.TagConfig{Start: 1, Step: 100, Description: "order numbers"})
	if err != nil && !errors.Is(err, segment.ErrTagExists) {
		return err
	}

	orders, err := segment.New(ctx, source, "orders")
	if err != nil {
		return err
	}
	defer orders.Close()
	for range count {
		n, err := orders.Next()
		if err != nil {
			return err
		}
		fmt.Println("order", n)
	}
	return nil
}

package segment_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/filestore"
)

// A Tags has the numbers of all tags of a source. In a real program the source is one of packages stores.
func ExampleNewTags() {
	source := segmenttest.NewMemory()
	if err := source.CreateTag(context.Background(), "orders", segment.TagConfig{Start: 5000}); err != nil {
		panic(err)
	}
	tags, err := segment.NewTags(source)
	if err != nil {
		panic(err)
	}
	defer tags.Close()

	for range 2 {
		n, err := tags.Next("orders")
		if err != nil {
			panic(err)
		}
		fmt.Println(n)
	}
	_, err = tags.Next("ordres")
	fmt.Println(errors.Is(err, segment.ErrNoTag))
	// Output:
	// 5000
	// 5001
	// true
}

// A program that has a tag for each tenant creates them when they are first used.
func ExampleWithCreate() {
	tags, err := segment.NewTags(segmenttest.NewMemory(), segment.WithCreate(segment.TagConfig{Start: 1}))
	if err != nil {
		panic(err)
	}
	defer tags.Close()

	for _, tenant := range []string{"north", "south", "north"} {
		n, err := tags.Next("invoices of " + tenant)
		if err != nil {
			panic(err)
		}
		fmt.Println(tenant, n)
	}
	// Output:
	// north 1
	// south 1
	// north 2
}

// Three independent stores hand out disjoint numbers. While one is down, the others serve.
func ExampleNewGroup() {
	stores := [3]*segmenttest.Memory{segmenttest.NewMemory(), segmenttest.NewMemory(), segmenttest.NewMemory()}
	group := segment.NewGroup(segment.Stripe(0, 3, stores[0]), segment.Stripe(1, 3, stores[1]), segment.Stripe(2, 3, stores[2]))
	ctx := context.Background()
	if err := group.CreateTag(ctx, "orders", segment.TagConfig{Step: 2}); err != nil {
		panic(err)
	}
	stores[1].Kill()

	s, err := segment.New(ctx, group, "orders")
	if err != nil {
		panic(err)
	}
	defer s.Close()
	for range 4 {
		n, err := s.Next()
		if err != nil {
			panic(err)
		}
		fmt.Println(n, "of stripe", n%3)
	}
	// Output:
	// 3 of stripe 0
	// 6 of stripe 0
	// 5 of stripe 2
	// 8 of stripe 2
}

// Daily numbers begin with the date. CreateTag is called once in the life of the file, by hand or by a setup script: it says that
// the file is new, and was not lost with the numbers of the day.
func ExampleNewDaily() {
	ctx := context.Background()
	directory, err := os.MkdirTemp("", "daily")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(directory) // a real program uses a file that lasts
	source := filestore.New(filepath.Join(directory, "segments"))
	if err := source.CreateTag(ctx, "orders", segment.TagConfig{}); err != nil {
		panic(err)
	}

	noon := func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) } // a fixed output
	daily, err := segment.NewDaily(ctx, source, "orders", 6, time.UTC, segment.WithClock(noon),
		segment.WithMaxWait(time.Minute), segment.WithTryTimeout(time.Minute)) // a disk may be slow
	if err != nil {
		panic(err)
	}
	defer daily.Close()

	n, err := daily.Next()
	if err != nil {
		panic(err)
	}
	fmt.Println(n)
	year, month, day, number, err := daily.Parse(n)
	fmt.Println(year, month, day, number, err)
	// Output:
	// 20261121000001
	// 2026 November 21 1 <nil>
}

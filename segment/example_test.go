package segment_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// newSource returns a source in memory that has the tag "orders". A real program uses a database, a file or another
// store.
func newSource(ctx context.Context) segment.Creator {
	src := segmenttest.NewMemory()
	if err := src.CreateTag(ctx, "orders", segment.TagConfig{Start: 1001, Step: 100}); err != nil {
		panic(err)
	}
	return src
}

func ExampleNew() {
	ctx := context.Background()
	orders, err := segment.New(ctx, newSource(ctx), "orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Close()

	for range 3 {
		number, err := orders.Next()
		fmt.Println(number, err)
	}
	// Output:
	// 1001 <nil>
	// 1002 <nil>
	// 1003 <nil>
}

// A tag must be created first.
func ExampleNew_noSuchTag() {
	ctx := context.Background()
	_, err := segment.New(ctx, newSource(ctx), "invoices")
	fmt.Println(errors.Is(err, segment.ErrNoTag))
	// Output:
	// true
}

func ExampleSequence_NextN() {
	ctx := context.Background()
	orders, err := segment.New(ctx, newSource(ctx), "orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Close()

	numbers := make([]int64, 5)
	n, err := orders.NextN(numbers)
	fmt.Println(numbers[:n], err)
	// Output:
	// [1001 1002 1003 1004 1005] <nil>
}

// A goroutine that takes many numbers uses a Local.
func ExampleSequence_Local() {
	ctx := context.Background()
	orders, err := segment.New(ctx, newSource(ctx), "orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Close()

	local := orders.Local()
	first, _ := local.Next()
	more := make([]int64, 3)
	n, err := local.NextN(more)
	fmt.Println(first, more[:n], err)
	// Output:
	// 1001 [1002 1003 1004] <nil>
}

func ExampleSequence_All() {
	ctx := context.Background()
	orders, err := segment.New(ctx, newSource(ctx), "orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Close()

	for number, err := range orders.All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(number)
		if number == 1003 {
			break
		}
	}
	// Output:
	// 1001
	// 1002
	// 1003
}

package ringbuffer_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ringuid/ringuid/ringbuffer"
)

// segments is a provider of consecutive ranges of numbers, as a table of segments provides them.
type segments struct{ next int64 }

func (s *segments) NextRun(context.Context) (ringbuffer.Run, error) {
	run := ringbuffer.Run{First: s.next, Length: 1000}
	s.next += 1000
	return run, nil
}

func ExampleNew() {
	ring, err := ringbuffer.New(context.Background(), ringbuffer.Config{Provider: new(segments)})
	if err != nil {
		log.Fatal(err)
	}
	defer ring.Close()

	ctx := context.Background()
	first, err := ring.Take(ctx)
	fmt.Println(first, err)
	from, n, err := ring.Claim(ctx, 10)
	fmt.Println(from, n, err)
	fmt.Println(ring.Stats().Taken, "taken")
	// Output:
	// 0 <nil>
	// 1 10 <nil>
	// 11 taken
}

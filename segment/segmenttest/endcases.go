package segmenttest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ringuid/ringuid/segment"
)

// At the end of the numbers, the last range is shorter, and then there are none.
func testEnd(t *sourceTest) {
	for n, tt := range []struct {
		numbers int64 // that the tag has
		size    int64
		step    int64
	}{{1, 1, 1}, {1, 0, 100}, {10, 4, 10}, {10, 10, 3}, {10, 0, 3}, {10, segment.MaxStep, 1}, {10, 0, segment.MaxStep}, {1000, 999, 5}, {11, 5, 7}} {
		tag := fmt.Sprintf("tag %d", n)
		start := segment.MaxNumber - tt.numbers + 1
		t.create(tag, segment.TagConfig{Start: start, Step: tt.step})
		r := segment.Request{Tag: tag, Size: tt.size}
		var taken ledger
		for taken.count() < 20 {
			ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
			got, err := t.call(ctx, t.source, r)
			cancel()
			if errors.Is(err, segment.ErrExhausted) {
				break
			}
			if err != nil {
				t.Fatalf("Take(%+v) of a tag that starts %d before its end: %v; want a range, or an error that wraps %q", r, tt.numbers, err, segment.ErrExhausted)
			}
			taken.add(got)
			r.AtLeast = last(got) + 1
			if t.Failed() {
				return
			}
		}
		taken.checkDense(t, start)
		if end := taken.end(); end != math.MaxInt64 && stride(taken.ranges[0]) == 1 {
			t.Errorf("the last number of a tag, with Takes of size %d, is %d; want %d", tt.size, end-1, int64(segment.MaxNumber))
		}
		for _, r := range []segment.Request{{}, {Size: 1}, {Size: segment.MaxStep}, {AtLeast: math.MaxInt64}, {Size: 1, AtLeast: start}} {
			r.Tag = tag
			t.refused(t.open(), r, segment.ErrExhausted)
		}
	}
}

// Concurrent Takes at the end hand out each number once.
func testEndConcurrent(t *sourceTest) {
	const numbers, takers = 100, 6
	clients := t.clients(takers)
	start := int64(segment.MaxNumber - numbers + 1)
	t.create("orders", segment.TagConfig{Start: start, Step: 7})
	var taken ledger
	concurrently(takers, func(n int) {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		for {
			got, err := t.call(ctx, clients[n], segment.Request{Tag: "orders", Size: int64(n)})
			if err != nil {
				if !errors.Is(err, segment.ErrExhausted) {
					t.Errorf("Take near the end: %v; want a range, or an error that wraps %q", err, segment.ErrExhausted)
				}
				return
			}
			taken.add(got)
			if taken.count() > 2*numbers || t.Failed() {
				return
			}
		}
	})
	taken.checkDense(t, start)
	if taken.count() > 0 && taken.end() != math.MaxInt64 && stride(taken.ranges[0]) == 1 {
		t.Errorf("the last number is %d; want %d", taken.end()-1, int64(segment.MaxNumber))
	}
}

package uid

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringuid/ringuid/internal/uniq"
)

// takers are the ways to take UIDs of a generator: each returns a function for one
// goroutine that fills a slice from the front.
func waysToTake(g Generator) []func() func([]ID) (int, error) {
	ways := []func() func([]ID) (int, error){
		func() func([]ID) (int, error) { return takeOneByOne(g.Next) },
		func() func([]ID) (int, error) { return g.NextN },
	}
	if c, ok := g.(*Cached); ok {
		ways = append(ways,
			func() func([]ID) (int, error) { return takeOneByOne(c.Local().Next) },
			func() func([]ID) (int, error) { return c.takeFromIterator },
		)
	}
	return ways
}

// one makes of a taker of one UID one of slices.
func takeOneByOne(next func() (ID, error)) func([]ID) (int, error) {
	return func(dst []ID) (int, error) {
		for n := range dst {
			id, err := next()
			if err != nil {
				return n, err
			}
			dst[n] = id
		}
		return len(dst), nil
	}
}

// loop takes UIDs by the iterator.
func (c *Cached) takeFromIterator(dst []ID) (n int, err error) {
	for id, err := range c.All(context.Background()) {
		if err != nil {
			return n, err
		}
		dst[n] = id
		if n++; n == len(dst) {
			break
		}
	}
	return n, nil
}

// hammer takes total UIDs or a few more with so many goroutines, in all ways mixed, and
// checks exactly that they all differ, and of each goroutine's that they rise where the
// generator promises it, and lie within the layout.
func takeConcurrently(t *testing.T, g Generator, goroutines int, total int64, rising bool) {
	t.Helper()
	var (
		seen uniq.Set
		got  atomic.Int64
		all  sync.WaitGroup
		l    = g.(interface{ Format() Format }).Format().Layout()
		top  = l.AllocateUnchecked(l.MaxDelta(), l.MaxWorkerID(), l.MaxSequence())
		ways = waysToTake(g)
	)
	for n := range goroutines {
		all.Go(func() {
			w, batch, last := seen.Writer(), make([]ID, 1+n*7), ID(-1)
			take := ways[n%len(ways)]()
			for got.Load() < total {
				taken := 0
				for range 64 { // so that the shared counter is seldom touched
					n, err := take(batch)
					if err != nil && !errors.Is(err, ErrEmpty) {
						t.Errorf("took %d, then %v", n, err)
						return
					}
					if n == 0 {
						runtime.Gosched()
					}
					for _, id := range batch[:n] {
						if int64(id) < 0 || int64(id) > top {
							t.Errorf("%d does not fit the layout %v", id, l)
							return
						}
						if !w.Add(int64(id)) {
							t.Errorf("%d (%v) was handed out twice", id, g.Parse(id))
							return
						}
						if rising && id <= last {
							t.Errorf("%d came after %d", id, last)
							return
						}
						last = id
					}
					taken += n
				}
				got.Add(int64(taken))
			}
		})
	}
	all.Wait()
	if n := seen.Len(); n != got.Load() {
		t.Errorf("%d UIDs are distinct of %d", n, got.Load())
	}
	// What is claimed in spans is issued, taken or not.
	if st := stats(g); st.Issued < uint64(got.Load()) || len(ways) == 2 && st.Issued != uint64(got.Load()) {
		t.Errorf("Stats().Issued = %d, want %d", st.Issued, got.Load())
	}
}

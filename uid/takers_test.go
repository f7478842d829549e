package uid

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
)

// waysToTake returns the ways to take UIDs from a generator. Each one returns a function for one
// goroutine, which fills a slice from the front.
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

// takeOneByOne returns a function that fills a slice by calls of next.
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

// takeFromIterator fills a slice from the iterator.
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

// takeConcurrently takes total UIDs, or a few more, in several goroutines and in all ways. It checks,
// exactly, that all UIDs differ and that each one fits the layout; and if rising is set, that those of
// each goroutine increase.
func takeConcurrently(t *testing.T, g Generator, goroutines int, total int64, rising bool) {
	t.Helper()
	var (
		seen     uniq.Set
		taken    atomic.Int64
		all      sync.WaitGroup
		l        = g.Format().Layout()
		greatest = l.AllocateUnchecked(l.MaxDelta(), l.MaxWorkerID(), l.MaxSequence())
		ways     = waysToTake(g)
		rounds   = min(64, 1+total/1_000) // so that the shared counter is accessed rarely
	)
	for n := range goroutines {
		all.Go(func() {
			w, batch, last := seen.Writer(), make([]ID, 1+n*7), ID(-1)
			take := ways[n%len(ways)]()
			for taken.Load() < total {
				batchTotal := 0
				for range rounds {
					n, err := take(batch)
					if err != nil && !errors.Is(err, ErrEmpty) {
						t.Errorf("took %d, then %v", n, err)
						return
					}
					if n == 0 {
						runtime.Gosched()
					}
					for _, id := range batch[:n] {
						if int64(id) < 0 || int64(id) > greatest {
							t.Errorf("%d does not fit layout %v", id, l)
							return
						}
						if !w.Add(int64(id)) {
							t.Errorf("%d (%v) was returned twice", id, g.Parse(id))
							return
						}
						if rising && id <= last {
							t.Errorf("%d came after %d", id, last)
							return
						}
						last = id
					}
					batchTotal += n
				}
				taken.Add(int64(batchTotal))
			}
		})
	}
	all.Wait()
	if n := seen.Len(); n != taken.Load() {
		t.Errorf("%d of %d UIDs are distinct", n, taken.Load())
	}
	// A UID that is claimed in a block counts as issued, whether it is taken or not.
	if st := g.Stats(); st.Issued < uint64(taken.Load()) || len(ways) == 2 && st.Issued != uint64(taken.Load()) {
		t.Errorf("Stats().Issued = %d, want %d", st.Issued, taken.Load())
	}
}

package uid

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Stats().Issued never falls, is never more than was issued, and neither while UIDs that have grown
// old are dropped nor while the generator is closed.
func TestIssuedNeverFalls(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		c := newCached(t, new(disposableAssigner), WithLayout(layout(t, 41, 10, 12)), WithTimeUnit(time.Millisecond),
			WithScheduleInterval(time.Millisecond), WithMaxStaleness(3*time.Millisecond))
		var (
			readers sync.WaitGroup
			stop    atomic.Bool
			issued  atomic.Uint64 // what was, or is about to be
		)
		for range 2 {
			readers.Go(func() {
				last := uint64(0)
				for !stop.Load() && !t.Failed() {
					st := c.Stats()
					if most := issued.Load(); st.Issued < last || st.Issued > most {
						t.Errorf("Issued = %d after %d, and at most %d were", st.Issued, last, most)
					}
					last = st.Issued
					runtime.Gosched()
				}
			})
		}
		for range 10 {
			issued.Add(1)
			next(t, c)
			time.Sleep(time.Millisecond)
		}
		c.Close()
		stop.Store(true)
		readers.Wait()
		if n := c.Stats().Issued; n != 10 {
			t.Errorf("Issued = %d after Close, want 10", n)
		}
		if t.Failed() {
			return
		}
	}
}

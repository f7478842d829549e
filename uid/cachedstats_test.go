package uid

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// Stats().Issued never decreases and never exceeds the number of issued UIDs, also while stale UIDs are
// dropped and while the generator is being closed.
func TestIssuedNeverFalls(t *testing.T) {
	for range testkit.Amount(3, 10, 20) {
		c := newCached(t, new(disposableAssigner), WithLayout(layout(t, 41, 10, 12)), WithTimeUnit(time.Millisecond),
			WithScheduleInterval(time.Millisecond), WithMaxStaleness(3*time.Millisecond))
		var (
			readers sync.WaitGroup
			stop    atomic.Bool
			started atomic.Uint64 // the number of UIDs that were taken, or are about to be
		)
		for range 2 {
			readers.Go(func() {
				last := uint64(0)
				for !stop.Load() && !t.Failed() {
					st := c.Stats()
					if most := started.Load(); st.Issued < last || st.Issued > most {
						t.Errorf("Issued = %d after %d; at most %d were issued", st.Issued, last, most)
					}
					last = st.Issued
					runtime.Gosched()
				}
			})
		}
		for range 10 {
			started.Add(1)
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

// A lease may begin ahead of the clock. What its first unit borrows is reported.
func TestBorrowedByTheFirstUnit(t *testing.T) {
	start := noon.Truncate(time.Second)
	c := newCached(t, &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
		return &fakeLease{id: n, notBefore: start.Add(5 * time.Second)}, nil
	}}, WithClock(fakeclock.New(start)), WithBoostPower(0), WithScheduleInterval(0))
	if st := c.Stats(); st.Borrowed != 5*time.Second || st.Ahead != 5*time.Second {
		t.Errorf("borrowed %v, the next UID is %v ahead; want 5 s", st.Borrowed, st.Ahead)
	}
}

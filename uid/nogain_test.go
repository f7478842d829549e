package uid

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// A laterSource is a boundedSource whose leases after the first begin at a time.
type laterSource struct {
	*boundedSource
	later time.Time
}

func (s *laterSource) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	lease, err := s.boundedSource.Assign(ctx, r)
	if bounded, ok := lease.(*boundedLease); ok && bounded.workerID > 1 {
		return &laterLease{bounded, s.later}, err
	}
	return lease, err
}

type laterLease struct {
	*boundedLease
	later time.Time
}

func (l *laterLease) NotBefore() time.Time { return l.later }

// At the borrow limit the generator keeps its worker ID if the next lease begins with the unit that would be stamped next, also if that
// lease may borrow more; and changes if it begins one unit earlier.
func TestRolloverToALeaseThatBeginsAtTheNextUnit(t *testing.T) {
	for later, want := range map[time.Duration]uint64{25 * time.Second: 0, 24 * time.Second: 1} {
		synctest.Test(t, func(t *testing.T) {
			horizon := func(lease int64) time.Duration { // borrow limits of 24 s and of 54 s
				if lease == 1 {
					return 70 * time.Second
				}
				return 100 * time.Second
			}
			begin := time.Now()
			s := &laterSource{&boundedSource{horizon: horizon}, begin.Add(later)}
			c, _ := newBounded(t, s, WithReserveAhead(30*time.Second))
			got := 0
			for ; time.Since(begin) < 900*time.Millisecond; got++ {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				if _, err := c.NextContext(ctx); err != nil {
					got--
				}
				cancel()
			}
			if rollovers := c.Stats().Rollovers; rollovers != want || want == 0 && got != 25*16 {
				t.Errorf("the next lease begins after %v: %d rollovers, %d UIDs; want %d, 400 without a rollover", later, rollovers, got, want)
			}
		})
	}
}

// At the borrow limit a generator waits for the clock if its assigner has no other worker ID while this one is leased, as
// recycled.Saved: no call fails.
func TestOnlyWorkerIDAtTheBorrowLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(disposableAssigner)
		c := newCached(t, a, smallOptions(t, WithMaxBorrow(20*time.Second))...)
		a.failWith(fmt.Errorf("%w: this generator has it", workerassign.ErrInUse))
		begin := time.Now()
		for n := range 16 * 120 {
			if _, err := c.Next(); err != nil {
				t.Fatalf("Next of UID %d: %v", n, err)
			}
		}
		if took := time.Since(begin); took < 95*time.Second || took > 101*time.Second || c.Stats().Rollovers != 0 {
			t.Errorf("120 s of UIDs took %v, with %d rollovers; want 100 s and none", took, c.Stats().Rollovers)
		}
	})
}

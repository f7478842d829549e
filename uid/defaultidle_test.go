package uid

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// An idle Default generator keeps its lease, whatever Health is asked.
func TestIdleDefaultKeepsItsLease(t *testing.T) {
	testkit.WithoutRace(t)
	synctest.Test(t, func(t *testing.T) {
		for idle, opts := range map[time.Duration][]any{3 * time.Hour: nil, time.Minute: {WithTimeUnit(10 * time.Millisecond), WithReserveAhead(100 * time.Millisecond)}} {
			d := newDefault(t, newExpiringAssigner(false), smallOptions(t, opts...)...)
			time.Sleep(idle)
			if h, s := d.Health(), d.Stats(); !h.OK() || h.For <= 0 || s.LostLeases != 0 || s.WorkerID != 1 {
				t.Errorf("after %v: %+v, worker ID %d, %d leases were lost", idle, h, s.WorkerID, s.LostLeases)
			}
		}
	})
}

// The lease of an idle Default generator is extended for the last unit of the time bits, too.
func TestIdleDefaultIsExtendedForTheLastUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := []any{WithEpoch(bubbleEpoch), WithLayout(layout(t, 17, 20, 4)), WithReserveAhead(time.Second)}
		last := mustFormat(t, opts...).End().Add(-time.Second)
		time.Sleep(time.Until(last) - 500*time.Millisecond)
		d := newDefault(t, workerassign.Static(5), opts...)
		if st := d.Stats(); !st.LeaseUntil.Equal(last) {
			t.Fatalf("control: in the unit before the last one, the lease ends at %v, want %v", st.LeaseUntil, last)
		}
		time.Sleep(time.Second)
		if st := d.Stats(); st.LeaseBounded {
			t.Errorf("in the last unit: the lease ends at %v, want no end before that of the time bits", st.LeaseUntil)
		}
	})
}

// An idle Default generator replaces a lease that is lost, as one that is used does.
func TestIdleDefaultReplacesALostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Bool
		a := newLosableAssigner(&lost)
		d := newDefault(t, a, smallOptions(t)...)
		lost.Store(true)
		time.Sleep(time.Minute)
		if h, s := d.Health(), d.Stats(); !h.OK() || s.WorkerID != 2 || s.LostLeases != 1 || a.calls.Load() != 2 {
			t.Errorf("a minute after the loss: %+v, worker ID %d, %d leases were lost, %d taken; want OK, 2, 1, 2", h, s.WorkerID, s.LostLeases, a.calls.Load())
		}
	})
}

// Health of a generator whose lease has ended calls no assigner, and starts nothing.
func TestHealthChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reserves atomic.Int64
		a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
				reserves.Add(1)
				return until, nil
			}}, nil
		}}
		d := newIdleDefault(t, a, smallOptions(t)...)
		time.Sleep(time.Hour)
		before := d.Stats()
		for range 100 {
			d.Health()
		}
		synctest.Wait()
		if got := d.Stats(); a.calls.Load() != 1 || reserves.Load() != 1 || got != before {
			t.Errorf("%d leases were taken, %d times extended; %+v, and before %+v", a.calls.Load(), reserves.Load(), got, before)
		}
		if next(t, d); reserves.Load() < 2 {
			t.Error("control: Next has not extended the lease")
		}
	})
}

// A lease that needs no extension is not looked at.
func TestUnboundedDefaultIsNotLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		newDefault(t, new(disposableAssigner), smallOptions(t, WithClock(funcClock(func() time.Time {
			reads.Add(1)
			return time.Now()
		})))...)
		before := reads.Load()
		time.Sleep(time.Hour)
		if n := reads.Load() - before; n != 0 {
			t.Errorf("the clock was read %d times in an idle hour, want 0", n)
		}
	})
}

// The lease of an idle generator that needs no extension is replaced when it is dropped, because another one was void.
func TestIdleDefaultReplacesUnboundedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Bool
		a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			l := &fakeLease{id: n}
			if n == 1 { // it has an end, is lost, and void when it is released, some seconds later
				l.reserve = func(_ context.Context, until time.Time) (time.Time, error) {
					if lost.Load() {
						return time.Time{}, errLeaseEnded
					}
					return until, nil
				}
				l.release = func(context.Context) error {
					time.Sleep(3 * time.Second)
					return fmt.Errorf("%w: a copy was closed", workerassign.ErrVoid)
				}
			}
			return l, nil
		}}
		d := newDefault(t, a, smallOptions(t)...)
		lost.Store(true)
		time.Sleep(time.Hour)
		if h := d.Health(); !h.OK() || d.Stats().WorkerID != 3 {
			t.Errorf("Health() = %v, and the worker ID is %d; want 3, the one after the lost and the dropped one", h.Err, d.Stats().WorkerID)
		}
	})
}

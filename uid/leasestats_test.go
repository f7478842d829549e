package uid

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// Stats have how many worker IDs remain, if the assigner counts them, and how much is reserved ahead.
func TestStatsOfLease(t *testing.T) {
	for _, mode := range modes {
		for name, tt := range map[string]struct {
			a                workerassign.Assigner
			remaining, total int64
		}{
			"counting":     {&fixedCountAssigner{remaining: 7, total: 4000}, 7, 4000},
			"none left":    {&fixedCountAssigner{remaining: -1, total: 4000}, 0, 4000},
			"not known":    {&fixedCountAssigner{remaining: 7, total: 0}, 0, 0},
			"not counting": {workerassign.Static(5), 0, 0},
		} {
			g, err := mode.make(t.Context(), tt.a, WithReserveAhead(42*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			st := g.Stats()
			if st.WorkerIDsRemaining != tt.remaining || st.WorkerIDsTotal != tt.total || st.ReserveAhead != 42*time.Second {
				t.Errorf("%s, %s: %d of %d worker IDs remain, and %v is reserved ahead; want %d of %d, and 42s", mode.name, name,
					st.WorkerIDsRemaining, st.WorkerIDsTotal, st.ReserveAhead, tt.remaining, tt.total)
			}
			g.Close()
		}
	}
}

// fixedCountAssigner assigns leases that report the same numbers of worker IDs.
type fixedCountAssigner struct {
	disposableAssigner
	remaining, total int64
}

func (a *fixedCountAssigner) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	l, err := a.disposableAssigner.Assign(ctx, r)
	return fixedCountLease{l, a}, err
}

type fixedCountLease struct {
	workerassign.Lease
	a *fixedCountAssigner
}

func (l fixedCountLease) Reserve(ctx context.Context, until time.Time) (workerassign.Grant, error) {
	g, err := l.Lease.Reserve(ctx, until)
	g.Remaining, g.Total = l.a.remaining, l.a.total
	return g, err
}

// Stats have how far ahead of the clock was stamped, and the limit. At the limit the ring runs empty, and Ahead is 0.
func TestStatsOfBorrowing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, new(disposableAssigner), WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 27, 5)), WithBoostPower(1),
			WithMaxBorrow(10*time.Second), WithRollover(false), WithTakePolicy(Fail))
		check := func(when string, least, most time.Duration) {
			t.Helper()
			if st := c.Stats(); st.Borrowed < least || st.Borrowed > most || st.BorrowLimit != 10*time.Second {
				t.Errorf("%s, %v of %v is borrowed, want %v to %v of 10s", when, st.Borrowed, st.BorrowLimit, least, most)
			}
		}
		check("with a full ring", time.Second, time.Second)
		for err := error(nil); ; {
			for err == nil {
				_, err = c.Next()
			}
			synctest.Wait() // for the padder
			if _, err = c.Next(); errors.Is(err, ErrEmpty) {
				break
			}
		}
		check("at the limit", 10*time.Second, 10*time.Second)
		time.Sleep(time.Hour)
		check("after an hour", 0, 2*time.Second)
	})
}

// Nothing is borrowed of a lease that begins later, and the limit of a lease with a horizon is less.
func TestStatsOfBorrowingWithLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newBounded(t, &boundedSource{horizon: lasting(70 * time.Second)}, WithReserveAhead(30*time.Second))
		if st := c.Stats(); st.BorrowLimit != 24*time.Second {
			t.Errorf("with a horizon of 70s, the borrow limit is %v, want 24s", st.BorrowLimit)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		later := lateAssigner{time.Now().Add(2 * time.Hour)}
		c := newCached(t, later, WithEpoch(bubbleEpoch))
		if st := c.Stats(); st.Borrowed != 0 || st.BorrowLimit != DefaultMaxBorrow {
			t.Errorf("before the lease begins, %v of %v is borrowed, want 0s of 1h0m0s", st.Borrowed, st.BorrowLimit)
		}
		time.Sleep(2 * time.Hour)
		next(t, c)
		if st := c.Stats(); st.Borrowed <= 0 || st.Borrowed > 10*time.Second {
			t.Errorf("when the lease has begun, %v is borrowed", st.Borrowed)
		}
	})
}

// lateAssigner assigns leases that begin at a time.
type lateAssigner struct{ begin time.Time }

func (a lateAssigner) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	return lateLease{unboundedLease(1), a.begin}, nil
}

type lateLease struct {
	unboundedLease
	begin time.Time
}

func (l lateLease) NotBefore() time.Time { return l.begin }

// A wait for a lease that begins in centuries does not use a whole CPU.
func TestDefaultWaitsForALeaseInCenturies(t *testing.T) {
	d := newDefault(t, lateAssigner{time.Now().AddDate(300, 0, 0)}, WithLayout(layout(t, 40, 10, 13)))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if id, err := d.NextContext(ctx); err == nil || d.Stats().RejectedTakes > 10 {
		t.Errorf("NextContext() = %d, %v, after %d waits", id, err, d.Stats().RejectedTakes)
	}
}

// Stats have the time of the last failure to pad, also when padding works again.
func TestStatsOfLastFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(disposableAssigner)
		c := newCached(t, a, smallOptions(t)...)
		if st := c.Stats(); !st.Ring.LastFailure.IsZero() {
			t.Errorf("without a failure, LastFailure is %v", st.Ring.LastFailure)
		}
		a.failWith(errors.New("down"))
		begin := time.Now()
		for err := error(nil); err == nil; {
			_, err = c.Next()
		}
		time.Sleep(10 * time.Second)
		st := c.Stats()
		if st.Ring.FailedPaddings == 0 || st.Ring.LastFailure.Before(begin) || st.Ring.LastFailure.After(time.Now()) {
			t.Fatalf("%d paddings failed, the last one at %v; want one or more after %v", st.Ring.FailedPaddings, st.Ring.LastFailure, begin)
		}
		a.recover()
		time.Sleep(time.Hour)
		next(t, c)
		if again := c.Stats(); again.Ring.LastFailure.Before(st.Ring.LastFailure) || time.Since(again.Ring.LastFailure) < 50*time.Minute {
			t.Errorf("an hour later, LastFailure is %v, and was %v", again.Ring.LastFailure, st.Ring.LastFailure)
		}
	})
}

package uid

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/workerassign"
)

// What an assigner does wrong is an error: nothing of it ends the process.
func TestAssignerFaults(t *testing.T) {
	nothing := func(context.Context, int64) (workerassign.Lease, error) { return nil, nil }
	for _, mode := range modes {
		for _, a := range []workerassign.Assigner{
			&fakeAssigner{assign: nothing}, workerassign.Divide(&fakeAssigner{assign: nothing}, 2), workerassign.Prefix(&fakeAssigner{assign: nothing}, 1, 2),
		} {
			expectConstructorError(t, mode.name, mode.make, a, ErrLease, "neither a lease nor an error")
		}
		expectConstructorError(t, mode.name, mode.make, &fakeAssigner{assign: func(context.Context, int64) (workerassign.Lease, error) { panic("boom") }},
			ErrLease, "panicked: boom")
	}
	good := func(_ context.Context, n int64) (workerassign.Lease, error) { return &fakeLease{id: n}, nil }
	for name, tt := range map[string]struct {
		bad  func(context.Context, int64) (workerassign.Lease, error)
		want string
	}{
		"no lease":      {nothing, "neither a lease nor an error"},
		"Assign panics": {func(context.Context, int64) (workerassign.Lease, error) { panic("boom") }, "panicked: boom"},
		"Reserve panics": {func(context.Context, int64) (workerassign.Lease, error) {
			return &fakeLease{reserve: panicInReserve}, nil
		}, "panicked: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mended atomic.Bool
				a := &fakeAssigner{assign: func(ctx context.Context, n int64) (workerassign.Lease, error) {
					if n == 1 || mended.Load() {
						return good(ctx, n)
					}
					return tt.bad(ctx, n)
				}}
				c := newCached(t, a, smallOptions(t)...)
				_, failed, err := takeFor(t, c, time.Minute)
				if failed == 0 || !errors.Is(err, ErrLease) {
					t.Errorf("%d failed, the last: %v", failed, err)
				}
				mended.Store(true)
				time.Sleep(leasing.MaxRetryPause)
				if _, failed, err := takeFor(t, c, 10*time.Second); failed != 0 || c.Stats().Rollovers == 0 {
					t.Errorf("%d failed, %v", failed, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &fakeLease{id: n, release: func(context.Context) error { panic("boom") }}, nil
		}}, smallOptions(t)...)
		takeFor(t, c, time.Second) // some are given back in the background
		if err := c.Close(); !errors.Is(err, ErrLease) {
			t.Errorf("Close() = %v", err)
		}
	})
}

func panicInReserve(context.Context, time.Time) (time.Time, error) { panic("boom") }

// uncountable is a lease that panics when it is asked how many are left.
type panickingCountLease struct{ fakeLease }

func (*panickingCountLease) Remaining(int64) (remaining, all int64) { panic("boom") }

// A lease that cannot say how many worker IDs are left does not panic into a constructor, nor into
// what puts runs.
func TestRemainingPanics(t *testing.T) {
	for _, mode := range modes {
		expectConstructorError(t, mode.name, mode.make, &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &panickingCountLease{fakeLease{id: n}}, nil
		}}, ErrLease, "panicked: boom")
	}
}

// A call of the store that hangs, as on a dead connection, is given up after a while.
func TestStoreThatHangs(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			var hangs atomic.Bool
			g, err := mode.make(context.Background(), newHangingAssigner(&hangs), smallOptions(t, WithRollover(false))...)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			next(t, g)
			hangs.Store(true)
			time.Sleep(time.Minute)
			if _, err := g.Next(); !errors.Is(err, ErrLease) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: Next() = %v", mode.name, err)
			}
			hangs.Store(false)
			time.Sleep(leasing.TryTimeout + leasing.MaxRetryPause)
			next(t, g)
		})
	}
}

// An assigner that calls runtime.Goexit, as a mock does that fails its test, has failed that try: the next
// one follows, and Close waits for nothing.
func TestAssignerEndsItsGoroutine(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			var ends, ended atomic.Int64
			exit := func() {
				if ends.Add(-1) >= 0 {
					ended.Add(1)
					runtime.Goexit()
				}
			}
			a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
				exit()
				return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
					exit()
					if n == 1 && ended.Load() >= 3 {
						return time.Time{}, errLeaseEnded
					}
					return until, nil
				}}, nil
			}}
			g, err := mode.make(context.Background(), a, smallOptions(t, WithReserveAhead(time.Second))...)
			if err != nil {
				t.Fatal(err)
			}
			first := g.Parse(next(t, g))
			ends.Store(6) // of Reserve, and then of Assign too
			for deadline := time.Now().Add(time.Minute); g.Parse(first.ID).WorkerID == first.WorkerID; time.Sleep(time.Second) {
				id, err := g.Next()
				if err == nil && g.Parse(id).WorkerID != first.WorkerID {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s: after %d ended goroutines Next() = %v", mode.name, ended.Load(), err)
				}
			}
			ends.Store(1)
			time.Sleep(time.Minute)
			if err := g.Close(); err != nil {
				t.Errorf("%s: Close() = %v", mode.name, err)
			}
		})
	}
}

// counter is an assigner whose leases call a function when they are asked how many are left.
type countingAssigner struct {
	disposableAssigner
	remaining func()
}

func (a *countingAssigner) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	l, err := a.disposableAssigner.Assign(ctx, r)
	return countingLease{l, a.remaining}, err
}

type countingLease struct {
	workerassign.Lease
	remaining func()
}

func (l countingLease) Remaining(int64) (n, all int64) {
	l.remaining()
	return 1000, 1000
}

// Remaining of a lease is called where it may take UIDs, and where its panic is an error.
func TestRemainingIsUserCode(t *testing.T) {
	for _, mode := range modes {
		g, err := mode.make(context.Background(), &countingAssigner{remaining: func() { panic("boom") }})
		if !errors.Is(err, ErrLease) || g != nil {
			t.Errorf("%s: a lease whose Remaining panics: %v, want ErrLease", mode.name, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var g atomic.Pointer[Cached]
		var taken atomic.Int64
		c := newCached(t, &countingAssigner{remaining: func() {
			if c := g.Load(); c != nil {
				for range 100 { // more than the ring holds
					if _, err := c.Next(); err == nil {
						taken.Add(1)
					}
				}
			}
		}}, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 3)), WithMaxBorrow(time.Minute))
		g.Store(c)
		for range 2000 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			if _, err := c.NextContext(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
		if taken.Load() == 0 {
			t.Error("Remaining was not called")
		}
	})
}

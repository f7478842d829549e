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
func TestBadAssigners(t *testing.T) {
	nothing := func(context.Context, int64) (workerassign.Lease, error) { return nil, nil }
	for _, mode := range modes {
		for _, a := range []workerassign.Assigner{
			&maker{make: nothing}, workerassign.Divide(&maker{make: nothing}, 2), workerassign.Prefix(&maker{make: nothing}, 1, 2),
		} {
			refused(t, mode.name, mode.make, a, ErrLease, "neither a lease nor an error")
		}
		refused(t, mode.name, mode.make, &maker{make: func(context.Context, int64) (workerassign.Lease, error) { panic("boom") }},
			ErrLease, "panicked: boom")
	}
	good := func(_ context.Context, n int64) (workerassign.Lease, error) { return &made{id: n}, nil }
	for name, tt := range map[string]struct {
		bad  func(context.Context, int64) (workerassign.Lease, error)
		want string
	}{
		"no lease":       {nothing, "neither a lease nor an error"},
		"Assign panics":  {func(context.Context, int64) (workerassign.Lease, error) { panic("boom") }, "panicked: boom"},
		"Reserve panics": {func(context.Context, int64) (workerassign.Lease, error) { return &made{reserve: panicking}, nil }, "panicked: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mended atomic.Bool
				a := &maker{make: func(ctx context.Context, n int64) (workerassign.Lease, error) {
					if n == 1 || mended.Load() {
						return good(ctx, n)
					}
					return tt.bad(ctx, n)
				}}
				c := newCached(t, a, small(t)...)
				_, failed, err := live(t, c, time.Minute)
				if failed == 0 || !errors.Is(err, ErrLease) {
					t.Errorf("%d failed, the last: %v", failed, err)
				}
				mended.Store(true)
				time.Sleep(leasing.MaxRetryPause)
				if _, failed, err := live(t, c, 10*time.Second); failed != 0 || c.Stats().Rollovers == 0 {
					t.Errorf("%d failed, %v", failed, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &made{id: n, release: func(context.Context) error { panic("boom") }}, nil
		}}, small(t)...)
		live(t, c, time.Second) // some are given back in the background
		if err := c.Close(); !errors.Is(err, ErrLease) {
			t.Errorf("Close() = %v", err)
		}
	})
}

func panicking(context.Context, time.Time) (time.Time, error) { panic("boom") }

// uncountable is a lease that panics when it is asked how many are left.
type uncountable struct{ made }

func (*uncountable) Remaining(int64) (remaining, all int64) { panic("boom") }

// A lease that cannot say how many worker IDs are left does not panic into a constructor, nor into
// what puts runs.
func TestLeaseThatCannotCount(t *testing.T) {
	for _, mode := range modes {
		refused(t, mode.name, mode.make, &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &uncountable{made{id: n}}, nil
		}}, ErrLease, "panicked: boom")
	}
}

// A call of the store that hangs, as on a dead connection, is given up after a while.
func TestStoreThatHangs(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			var hangs atomic.Bool
			g, err := mode.make(context.Background(), hanging(&hangs), small(t, WithRollover(false))...)
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
			a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
				exit()
				return &made{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
					exit()
					if n == 1 && ended.Load() >= 3 {
						return time.Time{}, errEnded
					}
					return until, nil
				}}, nil
			}}
			g, err := mode.make(context.Background(), a, small(t, WithReserveAhead(time.Second))...)
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
type counter struct {
	numbers
	remaining func()
}

func (a *counter) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	l, err := a.numbers.Assign(ctx, r)
	return countedLease{l, a.remaining}, err
}

type countedLease struct {
	workerassign.Lease
	remaining func()
}

func (l countedLease) Remaining(int64) (n, all int64) {
	l.remaining()
	return 1000, 1000
}

// Remaining of a lease is called where it may take UIDs, and where its panic is an error.
func TestRemainingIsTheUsersCode(t *testing.T) {
	for _, mode := range modes {
		g, err := mode.make(context.Background(), &counter{remaining: func() { panic("boom") }})
		if !errors.Is(err, ErrLease) || g != nil {
			t.Errorf("%s: a lease whose Remaining panics: %v, want ErrLease", mode.name, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var g atomic.Pointer[Cached]
		var taken atomic.Int64
		c := newCached(t, &counter{remaining: func() {
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

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

// Faults of an assigner are errors. They do not end the process.
func TestAssignerFaults(t *testing.T) {
	assignNothing := func(context.Context, int64) (workerassign.Lease, error) { return nil, nil }
	for _, mode := range modes {
		for _, a := range []workerassign.Assigner{
			&fakeAssigner{assign: assignNothing}, workerassign.Divide(&fakeAssigner{assign: assignNothing}, 2), workerassign.Prefix(&fakeAssigner{assign: assignNothing}, 1, 2),
		} {
			expectConstructorError(t, mode.name, mode.make, a, ErrLease, "neither a lease nor an error")
		}
		expectConstructorError(t, mode.name, mode.make, &fakeAssigner{assign: func(context.Context, int64) (workerassign.Lease, error) { panic("boom") }},
			ErrLease, "panicked: boom")
	}
	working := func(_ context.Context, n int64) (workerassign.Lease, error) { return &fakeLease{id: n}, nil }
	for name, tt := range map[string]struct {
		assign func(context.Context, int64) (workerassign.Lease, error)
		want   string
	}{
		"no lease":      {assignNothing, "neither a lease nor an error"},
		"Assign panics": {func(context.Context, int64) (workerassign.Lease, error) { panic("boom") }, "panicked: boom"},
		"Reserve panics": {func(context.Context, int64) (workerassign.Lease, error) {
			return &fakeLease{reserve: panicInReserve}, nil
		}, "panicked: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var works atomic.Bool
				a := &fakeAssigner{assign: func(ctx context.Context, n int64) (workerassign.Lease, error) {
					if n == 1 || works.Load() {
						return working(ctx, n)
					}
					return tt.assign(ctx, n)
				}}
				c := newCached(t, a, smallOptions(t)...)
				_, failed, err := takeFor(t, c, time.Minute)
				if failed == 0 || !errors.Is(err, ErrLease) {
					t.Errorf("%d calls failed, the last one with %v", failed, err)
				}
				works.Store(true)
				time.Sleep(leasing.MaxRetryPause)
				if _, failed, err := takeFor(t, c, 10*time.Second); failed != 0 || c.Stats().Rollovers == 0 {
					t.Errorf("%d calls failed, %v", failed, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &fakeLease{id: n, release: func(context.Context) error { panic("boom") }}, nil
		}}, smallOptions(t)...)
		takeFor(t, c, time.Second) // some leases are released in the background
		if err := c.Close(); !errors.Is(err, ErrLease) {
			t.Errorf("Close() = %v", err)
		}
	})
}

func panicInReserve(context.Context, time.Time) (time.Time, error) { panic("boom") }

// A panic of Remaining reaches neither a constructor's caller nor a goroutine that puts runs.
func TestRemainingPanics(t *testing.T) {
	for _, mode := range modes {
		expectConstructorError(t, mode.name, mode.make, &countingAssigner{remaining: func() { panic("boom") }}, ErrLease, "panicked: boom")
	}
}

// A call of the store that hangs, for example on a dead connection, is cancelled after TryTimeout.
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

// When an assigner calls runtime.Goexit, as a mock that fails its test does, that try has failed:
// another try follows, and Close does not hang.
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
			ends.Store(6) // in Reserve, and then also in Assign
			for deadline := time.Now().Add(time.Minute); g.Parse(first.ID).WorkerID == first.WorkerID; time.Sleep(time.Second) {
				id, err := g.Next()
				if err == nil && g.Parse(id).WorkerID != first.WorkerID {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s: after %d calls of Goexit Next() = %v", mode.name, ended.Load(), err)
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

// countingAssigner assigns leases whose Remaining calls a function.
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

// Remaining is user code, so it may take UIDs.
func TestRemainingTakesUIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var published atomic.Pointer[Cached]
		var taken atomic.Int64
		c := newCached(t, &countingAssigner{remaining: func() {
			if c := published.Load(); c != nil {
				for range 100 { // more than the ring holds
					if _, err := c.Next(); err == nil {
						taken.Add(1)
					}
				}
			}
		}}, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 3)), WithMaxBorrow(time.Minute))
		published.Store(c)
		for range 2000 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			if _, err := c.NextContext(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
		time.Sleep(time.Hour) // the loop above may have taken each UID before Remaining could
		if taken.Load() == 0 {
			t.Error("Remaining took no UIDs")
		}
	})
}

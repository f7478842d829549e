package uid

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// laggingStore is an assigner whose store's clock can lag behind the host's clock. It grants at most
// maxAhead from the store's clock.
type laggingStore struct {
	fakeAssigner
	lag, maxAhead atomic.Int64
	reserveCalls  atomic.Int64
}

func newLaggingStore(lag, maxAhead time.Duration) *laggingStore {
	a := new(laggingStore)
	a.lag.Store(int64(lag))
	a.maxAhead.Store(int64(maxAhead))
	a.assign = func(_ context.Context, n int64) (workerassign.Lease, error) {
		return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
			a.reserveCalls.Add(1)
			time.Sleep(2 * time.Millisecond)
			if latest := time.Now().Add(time.Duration(a.maxAhead.Load() - a.lag.Load())); until.After(latest) {
				return latest, nil
			}
			return until, nil
		}}, nil
	}
	return a
}

// The constructors fail if a store grants nothing, also if it returns no error.
func TestDeniedAtTheStart(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			a := newLaggingStore(40*time.Second, 30*time.Second)
			g, err := mode.make(context.Background(), a, WithEpoch(bubbleEpoch.Add(-time.Hour)))
			if !errors.Is(err, ErrLease) {
				t.Errorf("%s: %v, %v; want ErrLease", mode.name, g, err)
			}
		})
	}
}

// A store that stops granting gets requests with growing pauses, to extend the lease and to take
// others, because each of these may use up a worker ID. This holds for an idle generator and for a busy
// one. When the store grants again, the generator recovers.
func TestDeniedLeasesUseFewWorkerIDs(t *testing.T) {
	minutes := testkit.Amount[int64](10, 60, 60)
	for _, mode := range modes {
		for _, busy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/busy=%v", mode.name, busy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := newLaggingStore(0, 30*time.Second)
					g, err := mode.make(context.Background(), a, smallOptions(t)...)
					if err != nil {
						t.Fatal(err)
					}
					defer g.Close()
					next(t, g)
					a.lag.Store(int64(40 * time.Second))
					time.Sleep(time.Minute)
					a.calls.Store(0)
					a.reserveCalls.Store(0)
					var lastErr error
					for begin := time.Now(); time.Since(begin) < time.Duration(minutes)*time.Minute; {
						if !busy {
							time.Sleep(time.Second)
							continue
						}
						ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
						_, lastErr = g.NextContext(ctx)
						cancel()
						time.Sleep(100 * time.Millisecond)
					}
					// A pause is 5 to 10 s once it has reached its maximum.
					most := minutes * 800 / 60
					if n := a.calls.Load(); n > most {
						t.Errorf("%d leases were requested in %d minutes", n, minutes)
					}
					if n := a.reserveCalls.Load(); n > 2*most {
						t.Errorf("Reserve was called %d times in %d minutes", n, minutes)
					}
					if busy && !errors.Is(lastErr, ErrLease) && !errors.Is(lastErr, context.DeadlineExceeded) {
						t.Errorf("Next() = %v", lastErr)
					}
					a.lag.Store(0)
					time.Sleep(time.Minute)
					next(t, g)
				})
			})
		}
	}
}

// Takers that wait for the same lease share each try to extend it.
func TestWaitersShareATry(t *testing.T) {
	takers := testkit.Amount(20, 50, 200)
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			a := newLaggingStore(0, 5*time.Second)
			g, err := mode.make(context.Background(), a, smallOptions(t)...)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			next(t, g)
			a.lag.Store(int64(time.Hour))
			time.Sleep(20 * time.Second)
			a.reserveCalls.Store(0)
			var all sync.WaitGroup
			for n := range takers {
				all.Go(func() {
					time.Sleep(time.Duration(n) * 137 * time.Microsecond)
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
					defer cancel()
					for ctx.Err() == nil {
						g.NextContext(ctx)
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
			all.Wait()
			if n := a.reserveCalls.Load(); n > 40 {
				t.Errorf("%s: %d takers caused %d calls of Reserve in 10 s", mode.name, takers, n)
			}
		})
	}
}

// However long a generator has run: if one lease after the other is lost soon after it was taken into use, the pauses between them grow.
func TestShortLeasesUseFewWorkerIDs(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			var lose atomic.Bool
			a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
				isNew := true
				return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
					if lose.Load() && !isNew {
						return time.Time{}, errLeaseEnded
					}
					isNew = false
					return until, nil
				}}, nil
			}}
			g, err := mode.make(context.Background(), a, smallOptions(t, WithReserveAhead(time.Second), WithRollover(false))...)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			for begin := time.Now(); time.Since(begin) < 10*time.Minute; time.Sleep(500 * time.Millisecond) {
				next(t, g)
			}
			lose.Store(true)
			before := a.calls.Load()
			for begin := time.Now(); time.Since(begin) < 10*time.Minute; time.Sleep(500 * time.Millisecond) {
				timedNext(t, g, 500*time.Millisecond)
			}
			// A lease lasts for three seconds, and the pauses are 5 to 10 s soon.
			if n := a.calls.Load() - before; n < 20 || n > 100 {
				t.Errorf("%s: %d leases were taken in ten minutes", mode.name, n)
			}
		})
	}
}

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

	"github.com/ringuid/ringuid/workerassign"
)

// behind is an assigner whose store's clock can be set behind the host's: it grants no more than
// a lead beyond its own time.
type laggingStore struct {
	fakeAssigner
	lag, maxAhead atomic.Int64
	reserveCalls  atomic.Int64
}

func newLaggingStore(by, lead time.Duration) *laggingStore {
	a := new(laggingStore)
	a.lag.Store(int64(by))
	a.maxAhead.Store(int64(lead))
	a.assign = func(_ context.Context, n int64) (workerassign.Lease, error) {
		return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
			a.reserveCalls.Add(1)
			time.Sleep(2 * time.Millisecond)
			if most := time.Now().Add(time.Duration(a.maxAhead.Load() - a.lag.Load())); until.After(most) {
				return most, nil
			}
			return until, nil
		}}, nil
	}
	return a
}

// A store that grants nothing, without an error, is a store that fails: the constructors say so.
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

// A store that stops to grant is not asked without pauses, neither for more of the lease nor for
// other leases, of which each may spend a worker ID, by an idle generator or by a busy one; and
// when it grants again, the generator recovers by itself.
func TestDeniedLeasesUseFewWorkerIDs(t *testing.T) {
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
					var failed error
					for begin := time.Now(); time.Since(begin) < time.Hour; {
						if !busy {
							time.Sleep(time.Second)
							continue
						}
						ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
						_, failed = g.(interface {
							NextContext(context.Context) (ID, error)
						}).NextContext(ctx)
						cancel()
						time.Sleep(100 * time.Millisecond)
					}
					// A pause is 5 to 10 s once it has grown.
					if n := a.calls.Load(); n > 800 {
						t.Errorf("%d leases were asked for in an hour", n)
					}
					if n := a.reserveCalls.Load(); n > 2*800 {
						t.Errorf("the store was asked to extend a lease %d times in an hour", n)
					}
					if busy && !errors.Is(failed, ErrLease) && !errors.Is(failed, context.DeadlineExceeded) {
						t.Errorf("Next() = %v", failed)
					}
					a.lag.Store(0)
					time.Sleep(time.Minute)
					next(t, g)
				})
			})
		}
	}
}

// Those who wait for a lease to be extended share each try.
func TestWaitersShareATry(t *testing.T) {
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
			for n := range 200 {
				all.Go(func() {
					time.Sleep(time.Duration(n) * 137 * time.Microsecond)
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
					defer cancel()
					for ctx.Err() == nil {
						g.(interface {
							NextContext(context.Context) (ID, error)
						}).NextContext(ctx)
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
			all.Wait()
			if n := a.reserveCalls.Load(); n > 40 {
				t.Errorf("%s: 200 takers: the store was asked %d times in 10 s", mode.name, n)
			}
		})
	}
}

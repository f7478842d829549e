package uid

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/workerassign"
)

// An assigner that returns nothing has failed; a panic of it is one of the constructor that calls it.
func TestAssignerFaults(t *testing.T) {
	assignNothing := func(context.Context, int64) (workerassign.Lease, error) { return nil, nil }
	for _, mode := range modes {
		for _, a := range []workerassign.Assigner{
			&fakeAssigner{assign: assignNothing}, workerassign.Divide(&fakeAssigner{assign: assignNothing}, 2), workerassign.Prefix(&fakeAssigner{assign: assignNothing}, 1, 2),
		} {
			expectConstructorError(t, mode.name, mode.make, a, ErrLease, "neither a lease nor an error")
		}
		if !panics(func() {
			mode.make(context.Background(), &fakeAssigner{assign: func(context.Context, int64) (workerassign.Lease, error) { panic("boom") }})
		}) {
			t.Errorf("%s: a panic of Assign is not one of the constructor", mode.name)
		}
	}
	working := func(_ context.Context, n int64) (workerassign.Lease, error) { return &fakeLease{id: n}, nil }
	synctest.Test(t, func(t *testing.T) {
		var works atomic.Bool
		a := &fakeAssigner{assign: func(ctx context.Context, n int64) (workerassign.Lease, error) {
			if n == 1 || works.Load() {
				return working(ctx, n)
			}
			return assignNothing(ctx, n)
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

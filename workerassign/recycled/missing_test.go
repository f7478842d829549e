package recycled_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A reply that a deleted slot is missing is an error, and not a new start.
func TestMissingSlot(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 3
		for range 4 {
			f.reserve(f.assign(f.assigner()), time.Minute)
		}
		f.Delete(2)
		for _, opts := range [][]recycled.Option{nil, {recycled.WithWorkerID(2)}, {recycled.WithName("x")}} {
			ctx, cancel := withTimeout(f, time.Second)
			_, err := f.assigner(opts...).Assign(ctx, f.request())
			cancel()
			if !errors.Is(err, recycled.ErrPool) || !strings.Contains(err.Error(), "worker ID 2 ") {
				f.Errorf("Assign with %d options from a full pool whose slot 2 was deleted returned %v; want ErrPool that names it", len(opts), err)
			}
		}
	})
}

// RaiseFloor reports a missing slot, after it has raised the floor and ended the leases on all others.
func TestRule7RaiseFloorWithMissingSlot(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for range 4 {
			f.reserve(f.assign(f.assigner()), time.Minute)
		}
		f.Delete(2)
		floor := time.Now().Add(time.Hour)
		leasetest.WantError(t, "RaiseFloor", f.assigner().RaiseFloor(f.Context(), floor), recycled.ErrPool, "worker ID 2 is missing")
		s := f.Dump()
		f.wantTime("the floor", s.Pool.Floor, floor)
		for _, slot := range s.Slots {
			if slot.Token != "" || slot.Until.Before(floor) {
				f.Errorf("a slot is %+v after RaiseFloor", slot)
			}
		}
	})
}

// A pool whose record was deleted, but not its slots, is an error, and not a pool that is new.
func TestMissingPool(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for range 4 {
			f.reserve(f.assign(f.assigner()), time.Minute)
		}
		f.DeletePool()
		ctx, cancel := withTimeout(f, 5*time.Second)
		defer cancel()
		began := time.Now()
		for _, opts := range [][]recycled.Option{nil, {recycled.WithWorkerID(2)}, {recycled.WithName("x")}} {
			if l, err := f.assigner(opts...).Assign(ctx, f.request()); !errors.Is(err, recycled.ErrPool) {
				f.Errorf("Assign from slots whose pool was deleted returned %v, %v after %v; want ErrPool", l, err, time.Since(began))
			}
		}
	}, assigntest.WithNoLoss())
}

// The pool's record is missing, and some of the first slots too: the others show that the pool was deleted.
func TestMissingPoolAndSlots(t *testing.T) {
	for name, deleted := range map[string][]int64{"first": {0}, "first two": {0, 1}, "all but the last": {0, 1, 2, 3}, "in between": {1, 3}} {
		t.Run(name, func(t *testing.T) {
			for _, opts := range [][]recycled.Option{nil, {recycled.WithWorkerID(4)}, {recycled.WithName("x")}} {
				inFleet(t, func(f *fleet) {
					for range 5 {
						f.reserve(f.assign(f.assigner()), time.Minute)
					}
					f.DeletePool()
					for _, workerID := range deleted {
						f.Delete(workerID)
					}
					ctx, cancel := withTimeout(f, 10*time.Second)
					defer cancel()
					var err error
					for range 5 { // without a worker ID, each of those that were deleted can be leased
						if _, err = f.assigner(opts...).Assign(ctx, f.request()); err != nil {
							break
						}
					}
					leasetest.WantError(t, name, err, recycled.ErrPool, "exists, although the pool has", "somebody deleted the pool's record; see doc/fleet.md")
				}, assigntest.WithNoLoss())
			}
		})
	}
}

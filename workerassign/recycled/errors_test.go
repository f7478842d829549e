package recycled_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The whole texts of the errors of Recycled: each names the values that differ, and what to do.
func TestRecycledErrorTexts(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 3
		assign := func(opts ...recycled.Option) error {
			ctx, cancel := withTimeout(f, time.Second)
			defer cancel()
			_, err := f.assigner(opts...).Assign(ctx, f.request())
			return err
		}
		leasetest.WantError(t, "no pool", f.assignerOn(f.Memory).RaiseFloor(f.Context(), time.Now()), recycled.ErrPool,
			"recycled: the pool is damaged: there is no pool in memory store whose floor could be raised")
		l := f.assign(f.assigner(recycled.WithWorkerID(1), recycled.WithName("orders-1")))
		until := f.reserve(l, time.Minute)
		h := f.slot(1).Holder
		holder := fmt.Sprintf(`"orders-1" (host %q, process %q)`, h.Host, h.Process)
		leasetest.WantError(t, "first worker ID", assign(recycled.WithFirstWorkerID(2)), recycled.ErrPoolFormat,
			"recycled: the pool has another format: the pool's first worker ID is 0, and this assigner's is 2; must be equal (WithFirstWorkerID)")
		leasetest.WantError(t, "clock bound", assign(recycled.WithClockBound(80*time.Second), recycled.WithHorizon(81*time.Second)), workerassign.ErrOption,
			"the clock bound is 1m20s; must be less than the horizon of the pool, 1m15s")
		leasetest.WantError(t, "beyond the layout", assign(recycled.WithWorkerID(4)), workerassign.ErrWidth,
			"workerassign: worker ID too wide: the worker ID is 4; must be at most 3, the greatest of the layout")
		leasetest.WantError(t, "held", assign(recycled.WithWorkerID(1)), recycled.ErrSlotHeld, fmt.Sprintf(
			"recycled: the worker ID is held by another: worker ID 1 is held by %s since %s, and is granted until %s; it becomes free at %s: end that process, or wait",
			holder, h.Since.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339Nano), until.Add(poolGrace).UTC().Format(time.RFC3339Nano)))
		f.Delete(0)
		leasetest.WantError(t, "missing slot", assign(recycled.WithWorkerID(0)), recycled.ErrPool,
			"recycled: the pool is damaged: the slot of worker ID 0 is missing, although slots 0 to 1 were added; slots must never be deleted: see doc/fleet.md")
	}, assigntest.WithNoLoss())
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner())
		f.DeletePool()
		_, err := f.assigner(recycled.WithWorkerID(0)).Assign(f.Context(), f.request())
		leasetest.WantError(t, "missing pool", err, recycled.ErrPool,
			"recycled: the pool is damaged: the slot of worker ID 0 exists, although the pool has 0 slots: somebody deleted the pool's record; see doc/fleet.md")
	}, assigntest.WithNoLoss())
}

// A worker ID that nobody holds, but that cannot be used yet, is not said to be held.
func TestSlotNotHeldText(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner(recycled.WithWorkerID(3))
		l := f.assign(a)
		until := f.reserve(l, time.Minute)
		if err := l.Release(f.Context(), until); err != nil {
			f.Fatal(err)
		}
		ctx, cancel := withTimeout(f, time.Second)
		defer cancel()
		_, err := a.Assign(ctx, f.request())
		want := fmt.Sprintf("recycled: worker ID 3 is not held, but cannot be used before %s, the end of an earlier grant: "+
			"wait until the store's clock and this host's clock show that time", until.UTC().Format(time.RFC3339Nano))
		if !errors.Is(err, recycled.ErrSlotHeld) || err.Error() != want {
			f.Errorf("the error is\n%v\nwant one that matches ErrSlotHeld:\n%s", err, want)
		}
	})
}

// A lease that is lost says why: who has its slot, or which two histories there are.
func TestLostLeaseTexts(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		f.reserve(l, time.Second)
		time.Sleep(time.Minute)
		f.assign(f.assigner(recycled.WithWorkerID(0), recycled.WithName("orders-3")))
		h := f.slot(0).Holder
		_, err := l.Reserve(f.Context(), time.Now())
		leasetest.WantError(t, "taken", err, workerassign.ErrLeaseLost, fmt.Sprintf("workerassign: the lease is lost: worker ID 0 was taken by %q (host %q, process %q) at %s",
			"orders-3", h.Host, h.Process, h.Since.UTC().Format(time.RFC3339Nano)))
		l = f.assign(f.assigner())
		before := f.slot(l.WorkerID()).History
		f.Failover(0)
		_, err = l.Reserve(f.Context(), time.Now())
		leasetest.WantError(t, "history", err, workerassign.ErrLeaseLost, fmt.Sprintf(
			"workerassign: the lease is lost: worker ID %d was leased under the history %q of the store, which has now %q: another may have held it in between",
			l.WorkerID(), before, f.Dump().History))
		f.Flush()
		_, err = l.Reserve(f.Context(), time.Now())
		leasetest.WantError(t, "flush", err, workerassign.ErrLeaseLost, fmt.Sprintf("the slot of worker ID %d is missing, and the pool has 0 slots", l.WorkerID()))
		leasetest.WantError(t, "flush", err, recycled.ErrPool)
	})
}

// A store that is down: the error says which one, how often Assign tried, and what to check.
func TestStoreDownTexts(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		f.Kill()
		ctx, cancel := withTimeout(f, 10*time.Second)
		defer cancel()
		_, err := f.assigner().Assign(ctx, f.request())
		leasetest.WantError(t, "Assign", err, workerassign.ErrGaveUp, "workerassign: gave up: take a slot of the pool in memory store: ", " attempts in 10s: "+context.DeadlineExceeded.Error(),
			"; the last attempt: "+assigntest.ErrDown.Error()+"; check whether the store is up and accepts writes")
		_, err = l.Reserve(f.Context(), time.Now().Add(time.Second))
		leasetest.WantError(t, "Reserve", err, assigntest.ErrDown, "recycled: cannot extend the slot of worker ID 0 in memory store: ")
		leasetest.WantError(t, "Release", l.Release(f.Context(), time.Now()), assigntest.ErrDown, "recycled: cannot release the slot of worker ID 0 in memory store: ")
	})
}

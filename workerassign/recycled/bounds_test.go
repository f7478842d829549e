package recycled_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// RaiseFloor logs that the pool has taken another history, and nothing otherwise. If the reply to that write was lost, nobody knows that:
// the caller has the error.
func TestRaiseFloorLog(t *testing.T) {
	for name, c := range map[string]struct {
		failover bool
		fault    assigntest.Fault
		want     int
	}{
		"the same history":             {false, assigntest.NoFault, 0},
		"the same history, reply lost": {false, assigntest.LoseReply, 0},
		"another history":              {true, assigntest.NoFault, 1},
		"another history, reply lost":  {true, assigntest.LoseReply, 0},
	} {
		inFleet(t, func(f *fleet) {
			f.assign(f.assigner())
			if c.failover {
				f.Failover(0)
			}
			var log bytes.Buffer
			a := f.assigner(logTo(&log))
			f.faultWrites(poolWrite, c.fault)
			if err := a.RaiseFloor(f.Context(), time.Now().Add(time.Hour)); (err != nil) != (c.fault != assigntest.NoFault) {
				f.Errorf("%s: RaiseFloor: %v", name, err)
			}
			for range 2 {
				if err := a.RaiseFloor(f.Context(), time.Now().Add(time.Hour)); err != nil {
					f.Errorf("%s: RaiseFloor again: %v", name, err)
				}
			}
			synctest.Wait()
			if n := strings.Count(log.String(), "the store may have lost writes"); n != c.want {
				f.Errorf("%s: %d records, want %d: %s", name, n, c.want, log.String())
			}
		})
	}
}

// The greatest worker ID of the layout can be leased, and no slot is added beyond it, however many are added at once.
func TestSlotsEndWithLayout(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 5
		if l := f.assign(f.assigner(recycled.WithWorkerID(5))); l.WorkerID() != 5 {
			f.Errorf("the worker ID is %d, want 5", l.WorkerID())
		}
		if _, err := f.assigner(recycled.WithWorkerID(6)).Assign(f.Context(), f.request()); !errors.Is(err, workerassign.ErrWidth) {
			f.Errorf("Assign of worker ID 6 = %v, want ErrWidth", err)
		}
	})
	inFleet(t, func(f *fleet) {
		f.max = 5
		first := recycled.WithFirstWorkerID(2)
		f.reserve(f.assign(f.assigner(first)), time.Minute)
		slow := slowStore{f.Memory, time.Second}
		f.beforeWrite(poolWrite, func() { f.reserve(f.assign(f.assigner(first)), time.Minute) }) // another is faster
		l := f.assign(f.assignerOn(slow, first))
		if s := f.Dump(); s.Pool.Slots != 4 || len(s.Slots) != 4 || l.WorkerID() != 4 {
			f.Errorf("worker ID %d is leased, of %d slots, and the pool has %d; want 4, and all slots of the layout", l.WorkerID(), len(s.Slots), s.Pool.Slots)
		}
	})
}

// The error of a full pool says how many worker IDs are held that the claimant's layout has.
func TestPoolFullOfNarrowLayout(t *testing.T) {
	inFleet(t, func(f *fleet) {
		first := recycled.WithFirstWorkerID(10)
		f.max = 15
		for range 6 {
			f.reserve(f.assign(f.assigner(first)), 70*time.Second)
		}
		f.max = 12
		ctx, cancel := withTimeout(f, time.Second)
		defer cancel()
		_, err := f.assigner(first).Assign(ctx, f.request())
		var full *recycled.PoolFullError
		if !errors.As(err, &full) || full.Held != 3 || full.MaxWorkerID != 12 {
			f.Errorf("Assign = %v; want that 3 are held", err)
		}
	})
}

// Assign waits for a slot that becomes free exactly at its deadline: the holder may release it earlier.
func TestSlotFreeAtDeadline(t *testing.T) {
	for _, late := range []time.Duration{0, time.Millisecond} {
		inFleet(t, func(f *fleet) {
			l := f.assign(f.assigner(recycled.WithWorkerID(0)))
			f.reserve(l, 20*time.Second)
			var held *recycled.SlotHeldError
			ctx, cancel := withTimeout(f, time.Second)
			defer cancel()
			if _, err := f.assigner(recycled.WithWorkerID(0)).Assign(ctx, f.request()); !errors.As(err, &held) {
				f.Fatalf("Assign = %v, want a SlotHeldError", err)
			}
			ctx, cancel = context.WithDeadline(f.Context(), held.Slot.FreeAt.Add(-late))
			defer cancel()
			time.AfterFunc(2*time.Second, func() { l.Release(f.Context(), time.Now()) })
			_, err := f.assigner(recycled.WithWorkerID(0)).Assign(ctx, f.request())
			if (err == nil) != (late == 0) || err != nil && !errors.Is(err, recycled.ErrSlotHeld) {
				f.Errorf("Assign with a deadline %v before the slot becomes free: %v", late, err)
			}
		})
	}
}

// A server that is read-only and has the pool's history is not taken for a replica: it may accept writes again.
func TestReadOnlyServerOfPool(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.createPool()
		r := &replica{Store: f.Memory}
		a := f.assignerOn(r, recycled.WithTimeout(10*time.Second))
		f.assign(a)
		r.readOnly = true
		if _, err := a.Assign(f.Context(), f.request()); err == nil || strings.Contains(err.Error(), "replica") || r.writes == 0 {
			f.Errorf("Assign = %v after %d writes; want the error of a write", err, r.writes)
		}
	})
}

// A pool whose first worker ID is not 0 uses its free slots again.
func TestFreeSlotsFromFirstWorkerID(t *testing.T) {
	inFleet(t, func(f *fleet) {
		first := recycled.WithFirstWorkerID(20)
		for range 3 {
			l := f.assign(f.assigner(first))
			if l.WorkerID() != 20 {
				f.Errorf("worker ID %d, want 20 again", l.WorkerID())
			}
			f.release(l)
			time.Sleep(time.Second)
		}
	})
}

// H, F and M of a pool may be a year, and not more.
func TestPoolDurationBounds(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for d, want := range map[time.Duration]bool{0: true, year: true, year + time.Millisecond: false, -time.Millisecond: false} {
		inFleet(t, func(f *fleet) {
			f.assign(f.assigner())
			a := f.assignerOn(changedPool{f.Memory, func(p *recycled.Pool) { p.Fencing, p.Skew = d, d }}, recycled.WithFencing(year), recycled.WithSkew(year))
			if _, err := a.Assign(f.Context(), f.request()); (err == nil) != want || err != nil && !errors.Is(err, recycled.ErrPool) {
				f.Errorf("Assign from a pool whose fencing time and skew are %v: %v", d, err)
			}
		})
	}
}

// The error for a slot that is missing says whether the pool knows it.
func TestMissingSlotTexts(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner())
		l := f.assign(f.assigner()) // one write, which adds the slot of worker ID 1
		f.LoseWrites(1)
		_, err := l.Reserve(f.Context(), time.Now().Add(time.Second))
		if !errors.Is(err, workerassign.ErrLeaseLost) || !strings.Contains(err.Error(), "worker ID 1 is missing, and the pool has 1 slots: the store has lost writes") {
			f.Errorf("Reserve of a slot that was lost with its addition: %v", err)
		}
	})
}

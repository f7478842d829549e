package recycled_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The defaults of a pool: H, F, M, B and the grace.
const (
	poolH     = workerassign.DefaultHorizon
	poolF     = workerassign.DefaultFencing
	poolM     = workerassign.DefaultSkew
	poolB     = workerassign.DefaultClockBound
	poolGrace = poolB + poolM
	poolFloor = poolF + poolH + poolM
)

// fleet is a store in memory and the assigners of a fleet on it. Its tests run in a synctest bubble, whose
// clock is the store's and that of the hosts.
type fleet struct {
	*testing.T
	*assigntest.Memory
	log testkit.Buffer // all assigners write to it, and at the same time
	max int64          // the greatest worker ID

	reserveAhead time.Duration // of the generators
}

// inFleet runs a test with a store.
func inFleet(t *testing.T, test func(f *fleet), opts ...assigntest.MemoryOption) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(12345*time.Hour + 678901*time.Nanosecond) // not a whole millisecond
		test(&fleet{T: t, Memory: assigntest.NewMemory(opts...), max: 63, reserveAhead: 30 * time.Second})
	})
}

// logged returns the log, when all records are written.
func (f *fleet) logged() string {
	synctest.Wait()
	return f.log.String()
}

// assigner returns the assigner of another process, on a pool that was created, unless the options or the store forbid that.
func (f *fleet) assigner(opts ...recycled.Option) *recycled.Assigner {
	if f.Dump().Pool.Revision == 0 {
		recycled.CreatePool(f.Context(), f.Memory, opts...)
	}
	return f.assignerOn(f.Memory, opts...)
}

// createPool creates the pool, unless there is one.
func (f *fleet) createPool(opts ...recycled.Option) {
	f.Helper()
	if f.Dump().Pool.Revision > 0 {
		return
	}
	if err := recycled.CreatePool(f.Context(), f.Memory, opts...); err != nil {
		f.Fatal(err)
	}
}

func (f *fleet) assignerOn(s recycled.Store, opts ...recycled.Option) *recycled.Assigner {
	return recycled.New(s, opts...)
}

func (f *fleet) request() workerassign.Request {
	return workerassign.Request{MaxWorkerID: f.max, Format: "1-28-22-13", ReserveAhead: f.reserveAhead, Logger: slog.New(slog.NewTextHandler(&f.log, nil))}
}

// assign takes a lease, which must be granted.
func (f *fleet) assign(a *recycled.Assigner) workerassign.Lease {
	f.Helper()
	l, err := a.Assign(f.Context(), f.request())
	if err != nil {
		f.Fatalf("Assign: %v", err)
	}
	return l
}

// reserve reserves time beyond the present, which must not fail, and returns what is granted.
func (f *fleet) reserve(l workerassign.Lease, ahead time.Duration) time.Time {
	f.Helper()
	until, err := l.Reserve(f.Context(), time.Now().Add(ahead))
	if err != nil {
		f.Fatalf("Reserve: %v", err)
	}
	return until.Until
}

// release releases a lease that used all time until now.
func (f *fleet) release(l workerassign.Lease) {
	f.Helper()
	if err := l.Release(f.Context(), time.Now()); err != nil {
		f.Fatalf("Release: %v", err)
	}
}

// slot returns a slot of the store.
func (f *fleet) slot(workerID int64) recycled.Slot {
	f.Helper()
	for _, slot := range f.Dump().Slots {
		if slot.WorkerID == workerID {
			return slot
		}
	}
	f.Fatalf("the store has no slot of worker ID %d", workerID)
	return recycled.Slot{}
}

// wantTime fails the test if two times differ by more than a millisecond, to which times are rounded up.
func (f *fleet) wantTime(what string, got, want time.Time) {
	f.Helper()
	if d := got.Sub(want); d < 0 || d > time.Millisecond {
		f.Errorf("%s is %v, want %v (rounded up to a millisecond)", what, got.UTC(), want.UTC())
	}
}

// beforeWrite calls do just before the next write that matches.
func (f *fleet) beforeWrite(match func(w *recycled.Write) bool, do func()) {
	done := false
	f.SetFaults(func(op assigntest.Op) assigntest.Fault {
		if !done && op.Write != nil && match(op.Write) {
			done = true
			do()
		}
		return assigntest.NoFault
	})
}

// faultWrites injects faults into the next writes that match, one into each.
func (f *fleet) faultWrites(match func(w *recycled.Write) bool, faults ...assigntest.Fault) {
	f.SetFaults(func(op assigntest.Op) assigntest.Fault {
		if len(faults) == 0 || op.Write == nil || !match(op.Write) {
			return assigntest.NoFault
		}
		fault := faults[0]
		faults = faults[1:]
		return fault
	})
}

func anyWrite(*recycled.Write) bool    { return true }
func slotWrite(w *recycled.Write) bool { return len(w.Slots) > 0 }
func poolWrite(w *recycled.Write) bool { return w.Pool != nil }
func onlySlots(w *recycled.Write) bool { return w.Pool == nil }
func claimOf(w *recycled.Write) bool   { return w.Pool == nil && w.Slots[0].Token != "" }
func withTimeout(f *fleet, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(f.Context(), d)
}

// A lease is granted, extended, released, and its worker ID is used again.
func TestRecycledLease(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		first := f.assign(a)
		f.wantTime("NotBefore", first.NotBefore(), time.Now())
		until := f.reserve(first, 45*time.Second)
		f.wantTime("the grant", until, time.Now().Add(45*time.Second))
		time.Sleep(10 * time.Second)
		second := f.assign(f.assigner())
		if second.WorkerID() == first.WorkerID() {
			f.Fatalf("two leases have the worker ID %d", first.WorkerID())
		}
		f.release(first)
		time.Sleep(2 * time.Millisecond)
		again := f.assign(f.assigner())
		if again.WorkerID() != first.WorkerID() {
			f.Errorf("the worker ID after a release is %d, want %d again", again.WorkerID(), first.WorkerID())
		}
		if n := f.Dump().Pool.Slots; n != 2 {
			f.Errorf("the pool has %d slots, want 2", n)
		}
		h := f.slot(again.WorkerID()).Holder
		if h.Host == "" || h.Process == "" {
			f.Errorf("the slot's holder is %+v; must have a host and a process", h)
		}
		if _, err := first.Reserve(f.Context(), time.Now()); err == nil {
			f.Error("Reserve after Release returned no error")
		}
	})
}

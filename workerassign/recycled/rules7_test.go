package recycled_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// R7: after a change of history the pool has a floor of the store's clock + F + H + m. No lease begins
// before it.
func TestRule7Floor(t *testing.T) {
	inFleet(t, func(f *fleet) {
		released := f.assign(f.assigner())
		f.release(released)
		time.Sleep(time.Second)
		f.Failover(0)
		f.StepClock(2 * time.Second)
		floor := f.Dump().Now.Add(poolFloor)
		l := f.assign(f.assigner())
		if l.WorkerID() != released.WorkerID() {
			f.Fatalf("worker ID %d was taken, want %d, which was released", l.WorkerID(), released.WorkerID())
		}
		f.wantTime("NotBefore of a slot that was released before the failover", l.NotBefore(), floor)
		time.Sleep(time.Second)
		f.wantTime("NotBefore of a new slot", f.assign(f.assigner()).NotBefore(), floor)
		s := f.Dump()
		if s.Pool.History != s.History {
			f.Errorf("the pool's history is %q, and the store's %q", s.Pool.History, s.History)
		}
		if log := f.log.String(); !strings.Contains(log, "floor=") || !strings.Contains(log, `history="memory 2"`) || !strings.Contains(log, `previous="memory 1"`) {
			f.Errorf("the floor was not logged with both histories: %s", log)
		}
		// A second change does not lower it.
		f.StepClock(-4 * time.Second)
		f.Failover(0)
		f.assign(f.assigner())
		if again := f.Dump().Pool.Floor; again.Before(s.Pool.Floor) {
			f.Errorf("a second failover set the floor from %v to %v", s.Pool.Floor, again)
		}
	})
}

// R7: Reserve never extends a slot that was granted under another history, even if it is exactly what the
// holder wrote.
func TestRule7Reserve(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		granted := f.reserve(l, 10*time.Second)
		before := f.slot(l.WorkerID())
		f.Failover(0)
		for range 2 { // the second time, the pool has noted the history
			until, err := l.Reserve(f.Context(), time.Now().Add(30*time.Second))
			if !errors.Is(err, workerassign.ErrLeaseLost) || until.Until.After(granted) || f.slot(l.WorkerID()) != before {
				f.Fatalf("Reserve after a failover returned %v, %v; want ErrLeaseLost, and no write: %+v", until.Until, err, f.slot(l.WorkerID()))
			}
		}
		s := f.Dump()
		f.wantTime("the floor that Reserve noted", s.Pool.Floor, time.Now().Add(poolFloor))
		if s.Pool.History != s.History {
			f.Errorf("Reserve has not noted the history %q", s.History)
		}
	})
}

// R7: leases are disjoint although a failover loses a claim, an extension and a release.
func TestRule7LostWrites(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		extended, released := f.assign(a), f.assign(a)
		f.reserve(released, 10*time.Second)
		writes := f.Writes()
		granted := f.reserve(extended, poolH)
		claimed := f.assign(a)
		lost := f.reserve(claimed, poolH)
		f.release(released)
		f.Failover(f.Writes() - writes)
		for n := range 3 {
			if l := f.assign(a); l.NotBefore().Before(granted) || l.NotBefore().Before(lost) {
				f.Errorf("lease %d after the failover begins at %v; must not be before %v, which was granted", n, l.NotBefore(), lost)
			}
		}
		for _, l := range []workerassign.Lease{extended, claimed} {
			if until, err := l.Reserve(f.Context(), time.Now().Add(poolH)); !errors.Is(err, workerassign.ErrLeaseLost) {
				f.Errorf("Reserve after the failover returned %v, %v, want ErrLeaseLost", until.Until, err)
			}
		}
	})
}

// R7: a slot that was added and lost with the failover is a lost lease too.
func TestRule7LostSlot(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		f.assign(a)
		writes := f.Writes()
		l := f.assign(a)
		f.Failover(f.Writes() - writes)
		if until, err := l.Reserve(f.Context(), time.Now().Add(time.Second)); !errors.Is(err, workerassign.ErrLeaseLost) {
			f.Errorf("Reserve of a lease whose slot was lost returned %v, %v; want an error that wraps ErrLeaseLost", until.Until, err)
		}
		f.Flush()
		if until, err := l.Reserve(f.Context(), time.Now().Add(time.Second)); !errors.Is(err, workerassign.ErrLeaseLost) {
			f.Errorf("Reserve after a flush returned %v, %v; want an error that wraps ErrLeaseLost", until.Until, err)
		}
	})
}

// R7: the failover happens between the read and the write.
func TestRule7FailoverBeforeWrite(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		l := f.assign(a)
		f.release(f.assign(a))
		time.Sleep(2 * time.Millisecond)
		f.beforeWrite(onlySlots, func() { f.Failover(0) })
		next := f.assign(a)
		f.wantTime("NotBefore of a lease that was taken during a failover", next.NotBefore(), time.Now().Add(poolFloor))
		time.Sleep(poolFloor)
		f.reserve(next, time.Second)
		f.beforeWrite(onlySlots, func() { f.Failover(0) })
		if until, err := next.Reserve(f.Context(), time.Now().Add(time.Hour)); !errors.Is(err, workerassign.ErrLeaseLost) {
			f.Errorf("Reserve during a failover returned %v, %v; want ErrLeaseLost", until.Until, err)
		}
		f.beforeWrite(poolWrite, func() { f.Failover(0) })
		last := f.assign(a)
		f.wantTime("NotBefore of a slot that was added during a failover", last.NotBefore(), time.Now().Add(poolFloor))
		if err := l.Release(f.Context(), time.Now()); err != nil {
			f.Errorf("Release after a failover: %v", err)
		}
	})
}

// R7: a pool that is missing on a store that can lose writes begins with a floor, unless an operator declares
// it new.
func TestRule7MissingPool(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assignerOn(f.Memory) // without CreatePool
		f.wantTime("NotBefore of a pool that may have been lost", f.assign(a).NotBefore(), time.Now().Add(poolFloor))
		f.Flush()
		f.wantTime("NotBefore after a flush", f.assign(a).NotBefore(), time.Now().Add(poolFloor))
		f.Flush()
		f.wantTime("NotBefore of a pool that is declared new", f.assign(f.assigner()).NotBefore(), time.Now())
	})
	inFleet(t, func(f *fleet) {
		a := f.assignerOn(f.Memory)
		f.wantTime("NotBefore of a pool on a store that loses no writes", f.assign(a).NotBefore(), time.Now())
		f.Kill()
		f.Start()
		f.wantTime("NotBefore after a restart of a store that loses no writes", f.assign(a).NotBefore(), time.Now())
	}, assigntest.WithNoLoss())
}

// R7: an operator raises the floor after a restored backup, which ends all leases.
func TestRule7RaiseFloor(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		var leases []workerassign.Lease
		for range 40 {
			l := f.assign(a)
			f.reserve(l, 10*time.Second)
			leases = append(leases, l)
		}
		f.release(leases[0])
		// Writes of slots fail now and then, and one holder extends its lease meanwhile.
		n := 0
		f.SetFaults(func(op assigntest.Op) assigntest.Fault {
			if op.Write != nil {
				if n++; n == 7 {
					f.SetFaults(nil)
					f.reserve(leases[20], poolH)
				}
			}
			return assigntest.NoFault
		})
		floor := time.Now().Add(time.Hour)
		if err := a.RaiseFloor(f.Context(), floor); err != nil {
			f.Fatal(err)
		}
		for _, l := range leases[1:] {
			if until, err := l.Reserve(f.Context(), time.Now().Add(time.Minute)); !errors.Is(err, workerassign.ErrLeaseLost) {
				f.Errorf("Reserve of worker ID %d after RaiseFloor returned %v, %v; want ErrLeaseLost", l.WorkerID(), until.Until, err)
			}
		}
		for _, slot := range f.Dump().Slots {
			if slot.Until.Before(floor) || slot.Token != "" {
				f.Errorf("RaiseFloor left the slot %+v; must have no token, and Until at least %v", slot, floor)
			}
		}
		f.wantTime("NotBefore of a new slot", f.assign(a).NotBefore(), floor)
		time.Sleep(time.Hour + 2*time.Millisecond)
		l := f.assign(a)
		if l.WorkerID() >= 40 {
			f.Errorf("after the floor worker ID %d was taken; the first 40 are free", l.WorkerID())
		}
		f.reserve(l, time.Minute)
		// A floor that is in the past ends leases too.
		if err := a.RaiseFloor(f.Context(), time.Now().Add(-time.Hour)); err != nil {
			f.Fatal(err)
		}
		if _, err := l.Reserve(f.Context(), time.Now().Add(time.Minute)); !errors.Is(err, workerassign.ErrLeaseLost) {
			f.Errorf("Reserve after RaiseFloor returned %v, want ErrLeaseLost", err)
		}
	})
}

// RaiseFloor reports errors of the store, and can be called again.
func TestRaiseFloorErrors(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assignerOn(f.Memory, discardLog())
		floor := time.Now().Add(time.Hour)
		if err := a.RaiseFloor(f.Context(), floor); !errors.Is(err, recycled.ErrPool) {
			f.Errorf("RaiseFloor without a pool returned %v, want ErrPool", err)
		}
		f.assign(a)
		f.assign(a)
		for _, skip := range []int{0, 1, 2} {
			n := 0
			f.SetFaults(func(op assigntest.Op) assigntest.Fault {
				if op.Write != nil {
					if n++; n == skip+1 {
						return assigntest.LoseRequest
					}
				}
				return assigntest.NoFault
			})
			if err := a.RaiseFloor(f.Context(), floor); !errors.Is(err, assigntest.ErrFault) || !strings.Contains(err.Error(), "memory store") {
				f.Errorf("RaiseFloor whose write %d failed returned %v, want the error of the store, with its name", skip, err)
			}
		}
		f.SetFaults(nil)
		if err := a.RaiseFloor(f.Context(), floor); err != nil {
			f.Error(err)
		}
		f.Failover(0)
		if err := a.RaiseFloor(f.Context(), floor); err != nil {
			f.Error(err)
		}
		if s := f.Dump(); s.Pool.History != s.History {
			f.Error("RaiseFloor has not noted the history")
		}
	})
}

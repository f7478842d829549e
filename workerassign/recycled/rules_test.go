package recycled_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
)

// R1: until never falls, except by the release of the holder, to max(used, from).
func TestRule1UntilNeverFalls(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		granted := f.reserve(l, 40*time.Second)
		for _, ahead := range []time.Duration{30 * time.Second, 0, -time.Hour} {
			if again := f.reserve(l, ahead); again.Before(granted) {
				f.Errorf("Reserve of %v grants %v, but %v was granted before", ahead, again, granted)
			}
		}
		// A slot that is written only because its last write is old.
		time.Sleep(40*time.Second + poolGrace*3/4)
		before := f.slot(l.WorkerID())
		f.reserve(l, -50*time.Second)
		if after := f.slot(l.WorkerID()); after.Revision == before.Revision || after.Until.Before(before.Until) {
			f.Errorf("a Reserve that only refreshes the slot changed it from %+v to %+v; must write it and keep Until", before, after)
		}
	})
}

// R1: a release sets until to max(used, from), and never above what was granted.
func TestRule1ReleaseClamps(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for _, tt := range []struct {
			name string
			used func(from, until time.Time) time.Time
			want func(from, until time.Time) time.Time
		}{
			{"nothing used", func(from, until time.Time) time.Time { return time.Time{} }, func(from, until time.Time) time.Time { return from }},
			{"used before the lease", func(from, until time.Time) time.Time { return from.Add(-time.Hour) }, func(from, until time.Time) time.Time { return from }},
			{"a part", func(from, until time.Time) time.Time { return from.Add(1500 * time.Microsecond) }, func(from, until time.Time) time.Time { return from.Add(2 * time.Millisecond) }},
			{"all", func(from, until time.Time) time.Time { return until }, func(from, until time.Time) time.Time { return until }},
			{"more than was granted", func(from, until time.Time) time.Time { return until.Add(time.Hour) }, func(from, until time.Time) time.Time { return until }},
			{"permanently", func(from, until time.Time) time.Time { return workerassign.Unbounded() }, func(from, until time.Time) time.Time { return until }},
		} {
			l := f.assign(f.assigner())
			until := f.reserve(l, 10*time.Second)
			if err := l.Release(f.Context(), tt.used(l.NotBefore(), until)); err != nil {
				f.Fatalf("%s: Release: %v", tt.name, err)
			}
			slot := f.slot(l.WorkerID())
			if want := tt.want(l.NotBefore(), until); !slot.Until.Equal(want) || slot.Token != "" || !slot.FreeAt.Equal(want) {
				f.Errorf("%s: the slot is %+v, want no token, and Until and FreeAt %v", tt.name, slot, want)
			}
			if err := l.Release(f.Context(), time.Time{}); err != nil || f.slot(l.WorkerID()) != slot {
				f.Errorf("%s: a second Release returned %v and changed the slot to %+v; must do nothing", tt.name, err, f.slot(l.WorkerID()))
			}
		}
	})
}

// R1: the release of a lease whose slot another has taken changes nothing.
func TestRule1ReleaseOfLostLease(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 1
		l, other := f.assign(f.assigner()), f.assign(f.assigner())
		f.reserve(l, 10*time.Second)
		f.reserve(other, 30*time.Second)
		time.Sleep(10*time.Second + poolGrace + 2*time.Millisecond)
		thief := f.assign(f.assigner())
		f.reserve(thief, 30*time.Second)
		before := f.slot(l.WorkerID())
		if err := l.Release(f.Context(), l.NotBefore()); err != nil || f.slot(l.WorkerID()) != before {
			f.Errorf("Release of a lost lease returned %v and changed the slot from %+v to %+v", err, before, f.slot(l.WorkerID()))
		}
	})
}

// R2: of two processes that take one slot, the second one finds that it has changed.
func TestRule2Assign(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.release(f.assign(f.assigner())) // one slot is free
		time.Sleep(2 * time.Millisecond)
		var other workerassign.Lease
		f.beforeWrite(claimOf, func() { other = f.assign(f.assigner()) })
		l := f.assign(f.assigner())
		if other == nil || l.WorkerID() == other.WorkerID() {
			f.Fatalf("two processes that read the same free slot have the leases %v and %v; must be of different worker IDs", l, other)
		}
		f.reserve(l, time.Second)
		f.reserve(other, time.Second)
	})
}

// R2: the same for slots that are added, and for a slot that is added while the floor is raised.
func TestRule2Add(t *testing.T) {
	inFleet(t, func(f *fleet) {
		first := f.assign(f.assigner())
		var other workerassign.Lease
		f.beforeWrite(poolWrite, func() { other = f.assign(f.assigner()) })
		l := f.assign(f.assigner())
		if l.WorkerID() == other.WorkerID() || l.WorkerID() == first.WorkerID() {
			f.Fatalf("the leases have the worker IDs %d, %d and %d; must be different", first.WorkerID(), l.WorkerID(), other.WorkerID())
		}
		floor := time.Now().Add(time.Hour)
		f.beforeWrite(poolWrite, func() {
			if err := f.assigner().RaiseFloor(f.Context(), floor); err != nil {
				f.Fatalf("RaiseFloor: %v", err)
			}
		})
		if l := f.assign(f.assigner()); l.NotBefore().Before(floor) {
			f.Errorf("a slot that was added while the floor was raised begins at %v; must not be before the floor %v", l.NotBefore(), floor)
		}
	})
}

// R2: Reserve and Release compare and swap too.
func TestRule2ReserveAndRelease(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		l := f.assign(a)
		f.beforeWrite(onlySlots, func() { f.reserve(l, 20*time.Second) }) // as a delayed write of this lease
		if until := f.reserve(l, 10*time.Second); until.Before(time.Now().Add(19 * time.Second)) {
			f.Errorf("Reserve grants %v, although the slot is granted for 20 s", until)
		}
		raise := func() {
			if err := a.RaiseFloor(f.Context(), time.Now().Add(time.Hour)); err != nil {
				f.Fatalf("RaiseFloor: %v", err)
			}
		}
		f.beforeWrite(onlySlots, raise)
		if until, err := l.Reserve(f.Context(), time.Now().Add(30*time.Second)); !errors.Is(err, workerassign.ErrLeaseLost) {
			f.Errorf("Reserve while an operator ends all leases returned %v, %v; want an error that wraps ErrLeaseLost", until.Until, err)
		}
		// A write of this lease that was delayed is made just before the release: the release tries again.
		time.Sleep(2 * time.Hour)
		l = f.assign(a)
		f.faultWrites(onlySlots, assigntest.Delay, assigntest.Delay)
		if until, err := l.Reserve(f.Context(), time.Now().Add(30*time.Second)); err == nil {
			f.Fatalf("Reserve whose write was delayed granted %v", until.Until)
		}
		f.beforeWrite(onlySlots, func() {
			if f.Deliver() != 1 {
				f.Error("the delayed write was not made")
			}
		})
		if err := l.Release(f.Context(), time.Time{}); err != nil || f.slot(l.WorkerID()).Token != "" {
			f.Errorf("Release returned %v and left the slot %+v; must have released it", err, f.slot(l.WorkerID()))
		}
		l = f.assign(a)
		f.beforeWrite(onlySlots, raise)
		before := l.NotBefore()
		if err := l.Release(f.Context(), time.Time{}); err != nil {
			f.Errorf("Release while an operator ends all leases: %v", err)
		}
		if slot := f.slot(l.WorkerID()); !slot.Until.After(before.Add(-time.Millisecond)) {
			f.Errorf("a release took back the floor: %+v", slot)
		}
	})
}

// R3: a lease begins where the last grant of its slot ended, whatever the clocks show.
func TestRule3BeginsAtTheLastGrant(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 1
		l, other := f.assign(f.assigner()), f.assign(f.assigner())
		granted := f.reserve(l, 20*time.Second)
		f.reserve(other, 70*time.Second)
		time.Sleep(30*time.Second + 2*time.Millisecond) // the grant and the grace
		next := f.assign(f.assigner())
		if next.WorkerID() != l.WorkerID() || !next.NotBefore().Equal(granted) {
			f.Errorf("the next lease of worker ID %d is of %d and begins at %v, want %v, where the last grant ended", l.WorkerID(), next.WorkerID(), next.NotBefore(), granted)
		}
		// The former holder was paused. It can stamp what it was granted, and cannot extend it.
		if until, err := l.Reserve(f.Context(), time.Now().Add(time.Second)); !errors.Is(err, workerassign.ErrLeaseLost) || until.Until.After(granted) {
			f.Errorf("Reserve of the former holder returned %v, %v; want an error that wraps ErrLeaseLost", until.Until, err)
		}
		if until := f.reserve(next, time.Minute); !until.After(granted) {
			f.Errorf("the next lease is granted the time before %v; must reach beyond its start %v", until, granted)
		}
	})
}

// R3: a part of a grant that was released is used by the next lease.
func TestRule3BeginsAtTheRelease(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		f.reserve(l, time.Minute)
		time.Sleep(5 * time.Second)
		used := time.Now().Add(-3 * time.Second)
		if err := l.Release(f.Context(), used); err != nil {
			f.Fatal(err)
		}
		next := f.assign(f.assigner())
		if next.WorkerID() != l.WorkerID() {
			f.Fatalf("the next lease has the worker ID %d, want %d", next.WorkerID(), l.WorkerID())
		}
		f.wantTime("NotBefore", next.NotBefore(), used)
	})
}

// R3: a new slot begins at the store's clock, and not before the floor; until is never less than from.
func TestRule3NewSlot(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.StepClock(3 * time.Second)
		a := f.assigner()
		l := f.assign(a)
		f.wantTime("NotBefore of a new slot", l.NotBefore(), time.Now().Add(3*time.Second))
		floor := time.Now().Add(time.Hour)
		if err := a.RaiseFloor(f.Context(), floor); err != nil {
			f.Fatal(err)
		}
		l = f.assign(a)
		f.wantTime("NotBefore of a new slot", l.NotBefore(), floor)
		if until := f.reserve(l, 10*time.Second); until.Before(l.NotBefore()) {
			f.Errorf("Reserve grants %v, before the lease's start %v", until, l.NotBefore())
		}
		if slot := f.slot(l.WorkerID()); slot.Until.Before(slot.From) {
			f.Errorf("the slot's until is before its from: %+v", slot)
		}
	})
}

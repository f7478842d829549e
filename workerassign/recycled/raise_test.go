package recycled_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// R7, R2: RaiseFloor tries again if a holder extends its lease, or a slot is added, between its read and its write.
func TestRule7RaiseFloorTriesAgain(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		l := f.assign(a)
		f.beforeWrite(onlySlots, func() { f.reserve(l, 20*time.Second) })
		floor := time.Now().Add(time.Hour)
		if err := a.RaiseFloor(f.Context(), floor); err != nil {
			f.Fatal(err)
		}
		if slot := f.slot(l.WorkerID()); slot.Token != "" || slot.Until.Before(floor) || !slot.FreeAt.Equal(slot.Written) {
			f.Errorf("a slot that was extended meanwhile is %+v; must be released, with an end at the floor %v, and free at once", slot, floor)
		}
		var added workerassign.Lease
		f.beforeWrite(poolWrite, func() { added = f.assign(f.assigner()) })
		floor = floor.Add(time.Hour)
		if err := a.RaiseFloor(f.Context(), floor); err != nil {
			f.Fatal(err)
		}
		if until, err := added.Reserve(f.Context(), floor); !errors.Is(err, workerassign.ErrLeaseLost) {
			f.Errorf("Reserve of a slot that was added meanwhile = %v, %v, want ErrLeaseLost", until.Until, err)
		}
		// A lower floor is no floor.
		if err := a.RaiseFloor(f.Context(), time.Now()); err != nil || f.Dump().Pool.Floor.Before(floor) {
			f.Errorf("RaiseFloor(now) = %v, and the floor is %v; must not be before %v", err, f.Dump().Pool.Floor, floor)
		}
	})
}

// R7: RaiseFloor takes longer than M, and a lease is extended before its slot is written. It does not get beyond the floor: so it was
// ended by an operator, and not by a copy, and the next lease begins at the floor. One that begins there is extended as always.
func TestRule7ExtendedDuringRaiseFloor(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		f.reserve(l, time.Hour)
		floor := time.Now().Add(workerassign.DefaultHorizon + workerassign.DefaultSkew)
		f.beforeWrite(onlySlots, func() {
			time.Sleep(time.Minute)
			f.wantTime("the grant during RaiseFloor", f.reserve(l, time.Hour), floor)
		})
		if err := f.assigner().RaiseFloor(f.Context(), floor); err != nil {
			f.Fatal(err)
		}
		f.wantLost("after RaiseFloor", l, "an operator raised the floor")
		next := f.assign(f.assigner(recycled.WithWorkerID(0)))
		f.wantTime("NotBefore of the next lease", next.NotBefore(), floor)
		if granted := f.reserve(next, time.Hour); !granted.After(floor) {
			f.Errorf("the next lease is granted until %v, and begins at the floor, %v", granted, floor)
		}
	})
}

// A lease that RaiseFloor has ended says so. It does not say that the slot was taken by its own holder.
func TestRaiseFloorText(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner(recycled.WithName("orders-3"))
		l := f.assign(a)
		f.reserve(l, 20*time.Second)
		if err := a.RaiseFloor(f.Context(), time.Now().Add(time.Minute)); err != nil {
			f.Fatal(err)
		}
		_, err := l.Reserve(f.Context(), time.Now().Add(30*time.Second))
		leasetest.WantError(t, "after RaiseFloor", err, workerassign.ErrLeaseLost, fmt.Sprintf("workerassign: the lease is lost: the lease of worker ID %d was ended in the store at %s: an operator raised the floor",
			l.WorkerID(), f.slot(l.WorkerID()).Written.UTC().Format(time.RFC3339Nano)))
	})
}

// R7: each process whose lease begins at a floor logs that once, not only the process that has set the floor: operators
// read the log of the service that does not generate UIDs.
func TestFloorLog(t *testing.T) {
	const want = "recycled: the lease begins later, at the floor of the pool"
	inFleet(t, func(f *fleet) {
		f.assign(f.assignerOn(f.Memory))
		if log := f.log.String(); strings.Contains(log, want) || strings.Count(log, "floor=") != 1 {
			t.Errorf("the log of the process that has set the floor is %q; must have one record with the floor", log)
		}
		before := len(f.log.String())
		l := f.assign(f.assignerOn(f.Memory))
		log := f.log.String()[before:]
		if strings.Count(log, want) != 1 || !strings.Contains(log, fmt.Sprintf("worker_id=%d", l.WorkerID())) || !strings.Contains(log, "floor="+l.NotBefore().Format("2006-01-02T15:04:05.000Z")) {
			t.Errorf("the log of the next process is %q; want %q with the worker ID and the floor", log, want)
		}
		time.Sleep(3 * time.Minute)
		before = len(f.log.String())
		f.assign(f.assignerOn(f.Memory))
		if log := f.log.String()[before:]; log != "" {
			t.Errorf("after the floor the log is %q, want none", log)
		}
	})
}

// R5: a claimant of the same name waits until its own clock, too, has reached the end of the grant.
func TestRule5SameNameByHostClock(t *testing.T) {
	inFleet(t, func(f *fleet) {
		named := recycled.WithName("orders-3")
		l := f.assign(f.assigner(named))
		f.reserve(l, 20*time.Second)
		time.Sleep(18 * time.Second)
		f.StepClock(3 * time.Second)
		if next := f.assign(f.assigner(named)); next.WorkerID() == l.WorkerID() {
			f.Error("a slot was taken by its name 2 s before the end of its grant, by the claimant's clock")
		}
	})
}

// R7: if RaiseFloor reaches a slot late, because there are thousands, a lease that was taken meanwhile from the floor on goes on.
func TestR7RaiseFloorKeepsLaterLeases(t *testing.T) {
	inFleet(t, func(f *fleet) {
		if err := f.assign(f.assigner()).Release(f.Context(), time.Now()); err != nil { // the slot is free
			f.Fatal(err)
		}
		p := f.Dump().Pool
		var l workerassign.Lease
		f.beforeWrite(onlySlots, func() {
			l = f.assign(f.assigner(recycled.WithWorkerID(0)))
			time.Sleep(p.Fencing + p.Skew + 5*time.Second)
			f.reserve(l, time.Hour) // beyond the floor
		})
		if err := f.assigner().RaiseFloor(f.Context(), time.Now().Add(p.Fencing+p.Horizon+p.Skew)); err != nil {
			f.Fatal(err)
		}
		if _, err := l.Reserve(f.Context(), time.Now().Add(time.Hour)); err != nil {
			f.Errorf("Reserve() of a lease that begins at the floor: %v", err)
		}
	})
}

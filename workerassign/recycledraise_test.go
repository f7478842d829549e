package workerassign_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
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
		if slot := f.slot(l.WorkerID()); slot.Token != "" || slot.Until.Before(floor) || !slot.FreeAt.Equal(slot.Until) {
			f.Errorf("a slot that was extended meanwhile is %+v; must be released, and free from the floor %v on", slot, floor)
		}
		var added workerassign.Lease
		f.beforeWrite(poolWrite, func() { added = f.assign(f.assigner()) })
		floor = floor.Add(time.Hour)
		if err := a.RaiseFloor(f.Context(), floor); err != nil {
			f.Fatal(err)
		}
		if until, err := added.Reserve(f.Context(), floor); !errors.Is(err, workerassign.ErrLeaseLost) {
			f.Errorf("Reserve of a slot that was added meanwhile = %v, %v, want ErrLeaseLost", until, err)
		}
		// A lower floor is no floor.
		if err := a.RaiseFloor(f.Context(), time.Now()); err != nil || f.Dump().Pool.Floor.Before(floor) {
			f.Errorf("RaiseFloor(now) = %v, and the floor is %v; must not be before %v", err, f.Dump().Pool.Floor, floor)
		}
	})
}

// R5: a claimant of the same name waits until its own clock, too, has reached the end of the grant.
func TestRule5SameNameByHostClock(t *testing.T) {
	inFleet(t, func(f *fleet) {
		named := workerassign.WithName("orders-3")
		l := f.assign(f.assigner(named))
		f.reserve(l, 20*time.Second)
		time.Sleep(18 * time.Second)
		f.StepClock(3 * time.Second)
		if next := f.assign(f.assigner(named)); next.WorkerID() == l.WorkerID() {
			f.Error("a slot was taken by its name 2 s before the end of its grant, by the claimant's clock")
		}
	})
}

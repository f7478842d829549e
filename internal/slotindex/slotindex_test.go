package slotindex

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slot returns a slot that is free 10 ms before or after now.
func slot(workerID int64, isFree bool, now time.Time) recycled.Slot {
	s := recycled.Slot{WorkerID: workerID, Revision: 2, Token: "t", FreeAt: now.Add(10 * time.Millisecond)}
	if isFree {
		s.FreeAt = now.Add(-10 * time.Millisecond)
	}
	return s
}

// A slot is added once, whichever index shows it; one of the index of names only if it has the name, and one of the index of released
// slots only if it is free, while more are wanted.
func TestAnswer(t *testing.T) {
	now := time.UnixMilli(1_795_000_000_000)
	a := Answer{Query: recycled.Query{Name: "n", Free: 2}, State: recycled.State{Now: now}}
	named := slot(3, false, now)
	named.Holder.Name = "n"
	atNow := slot(9, true, now)
	atNow.FreeAt = now
	for i, step := range []struct {
		add      func(recycled.Slot) bool
		slot     recycled.Slot
		isAdded  bool
		hasFree2 bool // with Free: 2
	}{
		{a.Add, slot(1, false, now), true, false},
		{a.Add, slot(1, false, now), false, false},
		{a.AddNamed, slot(2, true, now), false, false},
		{a.AddNamed, named, true, false},
		{a.AddNamed, named, false, false},
		{a.AddFree, named, false, false},
		{a.AddFree, atNow, false, false},
		{a.AddFree, slot(4, true, now), true, true},
		{a.AddFree, slot(4, true, now), false, true},
		{a.AddFree, slot(5, true, now), true, true},
		{a.AddFree, slot(6, true, now), false, true},
		{a.Add, slot(6, true, now), true, true},
	} {
		if added := step.add(step.slot); added != step.isAdded || a.HasFree() != step.hasFree2 {
			t.Errorf("step %d: added %v, HasFree %v; want %v, %v", i, added, a.HasFree(), step.isAdded, step.hasFree2)
		}
	}
	if len(a.State.Slots) != 5 {
		t.Errorf("%d slots; want 5", len(a.State.Slots))
	}
	if a.Query.Free = fewFree + 1; a.HasFree() {
		t.Error("two free slots are enough for a query that has lost a race")
	}
}

func TestChangesOf(t *testing.T) {
	of := func(revision int64, token, name string) recycled.Slot {
		return recycled.Slot{Revision: revision, Token: token, Holder: recycled.Holder{Name: name}}
	}
	for i, tt := range []struct {
		old, slot recycled.Slot
		want      Changes
	}{
		{recycled.Slot{}, of(1, "", ""), Changes{Released: true}},
		{recycled.Slot{}, of(1, "a", "n"), Changes{Name: "n"}},
		{of(1, "", ""), of(2, "a", "n"), Changes{Leased: true, Name: "n"}},
		{of(1, "", "n"), of(2, "", "n"), Changes{}},
		{of(1, "a", "n"), of(2, "b", "n"), Changes{}},
		{of(1, "a", "n"), of(2, "", "n"), Changes{Released: true}},
		{of(1, "a", "n"), of(2, "b", "m"), Changes{Name: "m", FormerName: "n"}},
		{of(1, "a", "n"), of(2, "b", ""), Changes{FormerName: "n"}},
	} {
		if got := ChangesOf(tt.old, tt.slot); got != tt.want {
			t.Errorf("row %d: %+v; want %+v", i, got, tt.want)
		}
	}
}

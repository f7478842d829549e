package assigntest

import (
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// Write compares the token and until of the slots that it replaces, not only their revisions (R2): a server that was
// replaced and returns may have another record of the same revision.
func testReplacedCompared(t *storeTest) {
	s := t.create(2, heldSlot)
	write := func(what string, change func(replaced *workerassign.Slot), want bool) {
		t.Helper()
		held, other := t.readSlot(t.store, 0), t.readSlot(t.store, 1)
		replaced := held
		change(&replaced)
		w := workerassign.SlotWrite{History: s.History, Slots: []workerassign.Slot{next(other, "other "+what), next(held, "token "+what)},
			Replaced: []workerassign.Slot{other, replaced}}
		if got := t.write(t.open(), w); got != want {
			t.Fatalf("a write whose replaced slot has %s returned %v, want %v", what, got, want)
		}
		for i, before := range []workerassign.Slot{other, held} {
			if want {
				before = w.Slots[i]
			}
			if d := diffSlot(t.readSlot(t.open(), before.WorkerID), before); d != "" {
				t.Fatalf("after a write whose replaced slot has %s, which returned %v:%s", what, want, d)
			}
		}
	}
	same := func(*workerassign.Slot) {}
	write("another token", func(r *workerassign.Slot) { r.Token += "x" }, false)
	write("no token", func(r *workerassign.Slot) { r.Token = "" }, false)
	write("a later until", func(r *workerassign.Slot) { r.Until = r.Until.Add(time.Millisecond) }, false)
	write("an earlier until", func(r *workerassign.Slot) { r.Until = r.Until.Add(-time.Millisecond) }, false)
	write("the same record", same, true)
	write("the same record again", same, true)

	released := next(t.readSlot(t.store, 0), "")
	t.mustWrite(workerassign.SlotWrite{History: s.History, Slots: []workerassign.Slot{released}, Replaced: []workerassign.Slot{t.readSlot(t.store, 0)}})
	write("a token, and the slot is released", func(r *workerassign.Slot) { r.Token = "x" }, false)
	write("no token, as the slot", same, true)

	// A slot that is added replaces the zero Slot.
	added := newSlot(s, 2)
	pool := s.Pool
	pool.Revision++
	pool.Slots++
	w := workerassign.SlotWrite{History: s.History, Pool: &pool, Slots: []workerassign.Slot{added, next(t.readSlot(t.store, 1), "beside")},
		Replaced: []workerassign.Slot{{}, t.readSlot(t.store, 1)}}
	for i, want := range []bool{true, false} {
		if got := t.write(t.open(), w); got != want {
			t.Fatalf("write %d of an added slot returned %v, want %v", i+1, got, want)
		}
	}
}

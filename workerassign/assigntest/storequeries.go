package assigntest

import (
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A query by worker IDs finds the slots that exist, and each once, whatever else selects it.
func testQueryWorkerIDs(t *storeTest) {
	t.create(5, func(s recycled.State, id int64) recycled.Slot {
		slot := newSlot(s, id)
		slot.Holder.Name = "name"
		return slot
	})
	for _, tt := range []struct {
		query recycled.Query
		want  int
	}{
		{recycled.Query{}, 0},
		{recycled.Query{WorkerIDs: []int64{3}}, 1},
		{recycled.Query{WorkerIDs: []int64{99}}, 0},
		{recycled.Query{WorkerIDs: []int64{4, 99, 0, 2}}, 3},
		{recycled.Query{WorkerIDs: []int64{1, 1, 1}}, 1},
		{recycled.Query{WorkerIDs: []int64{1}, Name: "name", Free: 16}, 5},
		{recycled.Query{WorkerIDs: []int64{1, 99}, Name: "name", Free: 16, All: true}, 5},
		{recycled.Query{WorkerIDs: []int64{1}, Name: "no such name"}, 1},
	} {
		s := t.read(t.store, tt.query)
		if n := t.distinct(s); n != tt.want {
			t.Errorf("Read(%+v) returned %d slots, want %d", tt.query, n, tt.want)
		}
	}
}

// distinct fails the test if s has a slot twice. It returns the number of slots.
func (t *storeTest) distinct(s recycled.State) int {
	t.Helper()
	seen := map[int64]bool{}
	for _, slot := range s.Slots {
		if seen[slot.WorkerID] {
			t.Fatalf("Read returned the slot of worker ID %d twice", slot.WorkerID)
		}
		if slot.Revision < 1 {
			t.Fatalf("Read returned the slot of worker ID %d with the revision %d; must be at least 1", slot.WorkerID, slot.Revision)
		}
		seen[slot.WorkerID] = true
	}
	return len(seen)
}

// All finds all slots, however many there are.
func testQueryAll(t *storeTest) {
	const n = 1000
	s := t.create(n, func(s recycled.State, id int64) recycled.Slot {
		if id%2 == 0 {
			return newSlot(s, id)
		}
		return heldSlot(s, id)
	})
	if got := t.distinct(s); got != n || s.Pool.Slots != n {
		t.Fatalf("a query of all slots returned %d, and the pool has %d, want %d", got, s.Pool.Slots, n)
	}
	ids := make([]int64, 0, 100)
	for id := int64(5); id < n; id += 10 {
		ids = append(ids, id)
	}
	if got := t.distinct(t.read(t.store, recycled.Query{WorkerIDs: ids})); got != len(ids) {
		t.Fatalf("a query of %d worker IDs returned %d slots", len(ids), got)
	}
	free := t.read(t.store, recycled.Query{Free: 1024})
	if got := t.distinct(free); got > n/2 || got == 0 {
		t.Fatalf("a query of 1024 free slots returned %d, although %d of %d are free", got, n/2, n)
	}
}

// Free finds slots that are free by the store's clock, and no other ones.
func testQueryFree(t *storeTest) {
	isFree := map[int64]bool{}
	t.create(60, func(s recycled.State, id int64) recycled.Slot {
		slot := newSlot(s, id)
		switch id % 6 {
		case 0: // released
			isFree[id] = true
		case 1: // expired
			slot = heldSlot(s, id)
			slot.FreeAt = floorMS(s.Now.Add(-time.Second))
			isFree[id] = true
		case 2: // held
			slot = heldSlot(s, id)
		case 3: // held; its grant has ended, but not its grace
			slot = heldSlot(s, id)
			slot.Until = slot.From
		case 4: // released with a part of its grant in the future
			slot.FreeAt = floorMS(s.Now.Add(time.Hour))
			slot.Until = slot.FreeAt
		case 5: // held for long
			slot = heldSlot(s, id)
			slot.FreeAt = workerassign.Unbounded()
		}
		return slot
	})
	for _, n := range []int{1, 2, 16, 59, 1024} {
		found := t.read(t.store, recycled.Query{Free: n})
		if got := t.distinct(found); got > n || got == 0 {
			t.Fatalf("a query of %d free slots returned %d; must be at least 1, because %d of 60 are free, and at most %d", n, got, len(isFree), n)
		}
		for _, slot := range found.Slots {
			if !isFree[slot.WorkerID] || !slot.FreeAt.Before(found.Now) {
				t.Fatalf("a query of %d free slots returned the slot of worker ID %d, which becomes free at %v, and now is %v: it is held",
					n, slot.WorkerID, slot.FreeAt, found.Now)
			}
		}
	}
	// A slot becomes free when the clock reaches its FreeAt.
	const soon = 300 * time.Millisecond
	s := t.read(t.store, recycled.Query{})
	slot := heldSlot(s, s.Pool.Slots)
	slot.Until, slot.FreeAt = floorMS(s.Now), floorMS(s.Now.Add(soon))
	p := s.Pool
	p.Revision++
	p.Slots++
	t.mustWrite(slottest.Swap(s, &p, slot))
	deadline := time.Now().Add(soon + t.h.ClockBound + t.h.patience)
	for found := false; !found; time.Sleep(20 * time.Millisecond) {
		state := t.read(t.store, recycled.Query{Free: 1024})
		for _, f := range state.Slots {
			found = found || f.WorkerID == slot.WorkerID
		}
		if found && !slot.FreeAt.Before(state.Now) {
			t.Fatalf("a query of free slots returned one that becomes free at %v, and now is %v: it is held", slot.FreeAt, state.Now)
		}
		if !found && time.Now().After(deadline) {
			t.Fatalf("a query of free slots does not return one that became free at %v, and now is %v", slot.FreeAt, state.Now)
		}
	}
}

// Free finds a slot that was released, although all others are held, and no longer when it was taken
// again.
func testQueryReleased(t *storeTest) {
	s := t.create(300, heldSlot)
	find := func(slot recycled.Slot) bool {
		// A store may leave out slots, but not always the same one.
		for range 20 {
			found := t.read(t.store, recycled.Query{Free: 16}).Slots
			for _, f := range found {
				if f.WorkerID != slot.WorkerID {
					t.Fatalf("a query of free slots returned the slot of worker ID %d, which is held", f.WorkerID)
				}
			}
			if len(found) > 0 {
				return true
			}
		}
		return false
	}
	for _, held := range []recycled.Slot{s.Slots[0], s.Slots[len(s.Slots)/2], s.Slots[len(s.Slots)-1]} {
		if find(recycled.Slot{WorkerID: -1}) {
			t.Fatal("a query of free slots returned one, although all are held")
		}
		released := next(held, "")
		released.Until = released.From
		released.FreeAt = released.Until
		t.mustWrite(slottest.Swap(s, nil, released))
		if !find(released) {
			t.Fatalf("20 queries of free slots have not returned the slot of worker ID %d, which was released; all others are held", held.WorkerID)
		}
		taken := heldSlot(s, held.WorkerID)
		taken.Revision = released.Revision + 1
		t.mustWrite(recycled.Write{History: s.History, Slots: []recycled.Slot{taken}, Replaced: []recycled.Slot{released}})
	}
}

// A store that leaves out free slots says so: see recycled.State.MoreFree.
func testQueryMoreFree(t *storeTest) {
	const released = 20
	t.create(300, func(s recycled.State, id int64) recycled.Slot {
		if id%(300/released) == 0 {
			return newSlot(s, id)
		}
		return heldSlot(s, id)
	})
	for range 5 {
		s := t.read(t.store, recycled.Query{Free: 64})
		if found := t.distinct(s); found < released && !s.MoreFree {
			t.Fatalf("a query of 64 free slots returned %d, and MoreFree is false; must return %d, or set MoreFree", found, released)
		}
	}
}

// The store's clock is that of this host, within the clock bound, for each of its clients, and does not
// go back by more than that bound.
func testClock(t *storeTest) {
	clients := []recycled.Store{t.store, t.open(), t.open()}
	var last time.Time
	for n := range 30 {
		sent := time.Now()
		s := t.read(clients[n%len(clients)], recycled.Query{})
		received := time.Now()
		if s.Now.Before(sent.Add(-t.h.ClockBound)) || s.Now.After(received.Add(t.h.ClockBound)) {
			t.Fatalf("the store's clock shows %v between %v and %v of this host's clock; must not differ by more than %v (Faults.ClockBound)",
				s.Now.UTC(), sent.UTC(), received.UTC(), t.h.ClockBound)
		}
		if s.Now.Before(last.Add(-t.h.ClockBound)) {
			t.Fatalf("the store's clock went back from %v to %v", last.UTC(), s.Now.UTC())
		}
		last = s.Now
	}
	before := t.read(t.store, recycled.Query{}).Now
	time.Sleep(50 * time.Millisecond)
	if passed := t.read(t.store, recycled.Query{}).Now.Sub(before); passed <= 0 {
		t.Fatalf("the store's clock advanced by %v within 50 ms; must advance", passed)
	}
}

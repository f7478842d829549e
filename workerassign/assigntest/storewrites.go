package assigntest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A store that is empty has no pool and no slots, but a history and a description.
func testEmpty(t *storeTest) {
	other := t.open()
	var history string
	for n, q := range []recycled.Query{{}, {WorkerIDs: []int64{0, 1}}, {Name: "a"}, {Free: 16}, {All: true},
		{WorkerIDs: []int64{7}, Name: "a", Free: 1024, All: true}} {
		for _, store := range []recycled.Store{t.store, other} {
			s := t.read(store, q)
			if d := diffPool(s.Pool, recycled.Pool{}); s.Pool.Revision != 0 || len(s.Slots) != 0 {
				t.Fatalf("Read(%+v) of an empty store returned %d slots and a pool:%s", q, len(s.Slots), d)
			}
			if s.History == "" {
				t.Fatal("the history is empty; must identify the server")
			}
			if n > 0 && s.History != history {
				t.Fatalf("the history changed from %q to %q although the server was not restarted", history, s.History)
			}
			history = s.History
		}
	}
	if t.store.String() == "" {
		t.Error("String returned an empty text; must describe the store")
	}
}

// A pool can be created that has no format yet. Slots are found although there is no pool: they are what is left of one that was lost.
func testCreatePool(t *storeTest) {
	ctx, cancel := context.WithTimeout(context.Background(), t.h.patience)
	defer cancel()
	if err := recycled.CreatePool(ctx, t.store, recycled.WithHorizon(time.Hour), recycled.WithFirstWorkerID(3)); err != nil {
		t.Fatalf("CreatePool returned %v", err)
	}
	s := t.read(t.open(), recycled.Query{All: true})
	want := recycled.Pool{Revision: 1, First: 3, History: s.History, Since: s.Pool.Since, Horizon: time.Hour, Fencing: workerassign.DefaultFencing, Skew: workerassign.DefaultSkew}
	if d := diffPool(s.Pool, want); d != "" || len(s.Slots) != 0 {
		t.Fatalf("after CreatePool there are %d slots, and the pool differs:%s", len(s.Slots), d)
	}
	if err := recycled.CreatePool(ctx, t.store); !errors.Is(err, recycled.ErrPoolExists) {
		t.Fatalf("CreatePool in a store that has a pool returned %v, want ErrPoolExists", err)
	}
	lost := t.h.New(t.TB, newPoolName())
	s = t.read(lost, recycled.Query{})
	if !t.write(lost, slottest.Swap(s, nil, newSlot(s, 3))) {
		t.Fatal("the write of a slot without a pool returned false, want true")
	}
	if err := recycled.CreatePool(ctx, lost); !errors.Is(err, recycled.ErrPool) {
		t.Fatalf("CreatePool in a store that has a slot and no pool returned %v, want ErrPool", err)
	}
}

// Write compares the revision of the pool.
func testPoolRevisions(t *storeTest) {
	s := t.read(t.store, recycled.Query{})
	p := newPool(s, 0)
	write := func(revision int64, want bool) {
		t.Helper()
		state := t.read(t.store, recycled.Query{})
		before := state.Pool
		w := p
		w.Revision, w.Floor = revision, floorMS(s.Now)
		if got := t.write(t.store, slottest.Swap(state, &w)); got != want {
			t.Fatalf("the write of the pool with revision %d over revision %d returned %v, want %v", revision, before.Revision, got, want)
		}
		if want {
			before = w
		}
		if d := diffPool(t.read(t.open(), recycled.Query{}).Pool, before); d != "" {
			t.Fatalf("after a write of the pool with revision %d that returned %v:%s", revision, want, d)
		}
	}
	write(2, false) // there is no revision 1
	write(1, true)
	write(1, false) // there is a pool already
	write(3, false)
	write(2, true)
	write(2, false)
	write(1, false)
	write(3, true)
	write(1000, false)
}

// Write compares the revisions of slots.
func testSlotRevisions(t *storeTest) {
	s := t.create(2, newSlot)
	write := func(workerID, revision int64, want bool) {
		t.Helper()
		before := t.readSlot(t.store, workerID)
		w := heldSlot(s, workerID)
		w.Revision, w.Token = revision, fmt.Sprintf("token %d-%d-%v", workerID, revision, want)
		if got := t.write(t.store, slottest.Swap(recycled.State{History: s.History, Slots: []recycled.Slot{before}}, nil, w)); got != want {
			t.Fatalf("the write of a slot with revision %d over revision %d returned %v, want %v", revision, before.Revision, got, want)
		}
		if want {
			before = w
		}
		if d := diffSlot(t.readSlot(t.open(), workerID), before); d != "" {
			t.Fatalf("after a write of a slot with revision %d that returned %v:%s", revision, want, d)
		}
	}
	write(0, 1, false) // the slot exists
	write(0, 3, false)
	write(0, 2, true)
	write(0, 2, false)
	write(0, 1, false)
	write(0, 3, true)
	write(7, 2, false) // there is no such slot
	write(7, 1, true)
	write(7, 1, false)
	if d := diffSlot(t.readSlot(t.store, 1), newSlot(s, 1)); t.readSlot(t.store, 1).Revision != 1 {
		t.Fatalf("writes of other slots have changed a slot:%s", d)
	}
}

// A write of several records is made as a whole or not at all.
func testAllOrNothing(t *storeTest) {
	s := t.create(3, newSlot)
	old := map[int64]recycled.Slot{}
	for _, slot := range s.Slots {
		old[slot.WorkerID] = slot
	}
	stalePool, pool := s.Pool, s.Pool
	pool.Revision++
	pool.Slots += 2
	stale := func(slot recycled.Slot) recycled.Slot {
		slot.Token = "stale"
		return slot
	}
	ahead := func(slot recycled.Slot) recycled.Slot { return next(next(slot, ""), "ahead") }
	for _, tt := range []struct {
		what  string
		pool  *recycled.Pool
		slots []recycled.Slot
	}{
		{"a stale pool and a new slot", &stalePool, []recycled.Slot{newSlot(s, 3)}},
		{"a stale pool and a slot that matches", &stalePool, []recycled.Slot{next(old[0], "x")}},
		{"a pool that matches and a slot that exists already", &pool, []recycled.Slot{newSlot(s, 3), newSlot(s, 2)}},
		{"a pool that matches and a stale slot", &pool, []recycled.Slot{next(old[0], "x"), stale(old[1])}},
		{"a stale first slot", nil, []recycled.Slot{stale(old[0]), next(old[1], "x"), next(old[2], "x")}},
		{"a stale last slot", nil, []recycled.Slot{next(old[0], "x"), next(old[1], "x"), stale(old[2])}},
		{"a last slot that is ahead", nil, []recycled.Slot{next(old[0], "x"), ahead(old[1])}},
		{"a last slot that does not exist", nil, []recycled.Slot{next(old[0], "x"), next(newSlot(s, 9), "x")}},
		{"new slots and one that exists", nil, []recycled.Slot{newSlot(s, 8), newSlot(s, 9), newSlot(s, 0)}},
	} {
		if t.write(t.store, slottest.Swap(s, tt.pool, tt.slots...)) {
			t.Fatalf("a write with %s returned true, want false", tt.what)
		}
		t.checkUnchanged(s, "a write with "+tt.what+" that returned false")
	}
	// As a whole: the pool, new slots, and slots that exist.
	w := slottest.Swap(s, &pool, next(old[1], "y"), newSlot(s, 3), heldSlot(s, 4))
	t.mustWrite(w)
	after := t.read(t.open(), recycled.Query{All: true})
	if d := diffPool(after.Pool, pool); d != "" || len(after.Slots) != 5 {
		t.Fatalf("after a write of the pool and three slots there are %d slots, want 5;%s", len(after.Slots), d)
	}
	for _, slot := range w.Slots {
		if d := diffSlot(t.readSlot(t.store, slot.WorkerID), slot); d != "" {
			t.Fatalf("after a write of the pool and three slots, worker ID %d:%s", slot.WorkerID, d)
		}
	}
}

// checkUnchanged fails the test if the pool and its slots are not those of s.
func (t *storeTest) checkUnchanged(s recycled.State, after string) {
	t.Helper()
	now := t.read(t.open(), recycled.Query{All: true})
	if d := diffPool(now.Pool, s.Pool); d != "" {
		t.Fatalf("the pool has changed after %s:%s", after, d)
	}
	if len(now.Slots) != len(s.Slots) {
		t.Fatalf("there are %d slots after %s, want %d", len(now.Slots), after, len(s.Slots))
	}
	for _, slot := range s.Slots {
		if d := diffSlot(t.readSlot(t.store, slot.WorkerID), slot); d != "" {
			t.Fatalf("the slot of worker ID %d has changed after %s:%s", slot.WorkerID, after, d)
		}
	}
}

// Write compares the history, whatever it writes.
func testHistoryCompared(t *storeTest) {
	empty := t.read(t.store, recycled.Query{})
	p := newPool(empty, 0)
	if t.write(t.store, recycled.Write{History: empty.History + "x", Pool: &p}) {
		t.Fatal("a write that creates the pool returned true although its history is not the store's, want false")
	}
	t.checkUnchanged(empty, "a write that creates the pool, with another history")
	s := t.create(1, newSlot)
	pool, slot := s.Pool, next(s.Slots[0], "x")
	pool.Revision++
	for _, history := range []string{"", s.History + "x", s.History[:len(s.History)-1]} {
		for what, w := range map[string]recycled.Write{
			"the pool":              slottest.Swap(s, &pool),
			"a slot":                slottest.Swap(s, nil, slot),
			"a new slot":            slottest.Swap(s, nil, newSlot(s, 5)),
			"the pool and new slot": slottest.Swap(s, &pool, newSlot(s, 5)),
		} {
			w.History = history
			if t.write(t.store, w) {
				t.Fatalf("a write of %s returned true although its history is %q and the store's is %q, want false", what, history, s.History)
			}
			t.checkUnchanged(s, "a write of "+what+" with another history")
		}
	}
	// The history of a slot is a record's field, which may be another one than the store's.
	slot.History = "an older history"
	t.mustWrite(slottest.Swap(s, nil, slot))
	if d := diffSlot(t.readSlot(t.store, 0), slot); d != "" {
		t.Fatalf("a slot with an older history:%s", d)
	}
}

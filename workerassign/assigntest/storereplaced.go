package assigntest

import (
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Write compares the token and until of the slots that it replaces, not only their revisions (R2): a server that was
// replaced and returns may have another record of the same revision.
func testReplacedCompared(t *storeTest) {
	s := t.create(2, heldSlot)
	write := func(what string, change func(replaced *recycled.Slot), want bool) {
		t.Helper()
		held, other := t.readSlot(t.store, 0), t.readSlot(t.store, 1)
		replaced := held
		change(&replaced)
		w := recycled.Write{History: s.History, Slots: []recycled.Slot{next(other, "other "+what), next(held, "token "+what)},
			Replaced: []recycled.Slot{other, replaced}}
		if got := t.write(t.open(), w); got != want {
			t.Fatalf("a write whose replaced slot has %s returned %v, want %v", what, got, want)
		}
		for i, before := range []recycled.Slot{other, held} {
			if want {
				before = w.Slots[i]
			}
			if d := diffSlot(t.readSlot(t.open(), before.WorkerID), before); d != "" {
				t.Fatalf("after a write whose replaced slot has %s, which returned %v:%s", what, want, d)
			}
		}
	}
	same := func(*recycled.Slot) {}
	write("another token", func(r *recycled.Slot) { r.Token += "x" }, false)
	write("no token", func(r *recycled.Slot) { r.Token = "" }, false)
	write("a later until", func(r *recycled.Slot) { r.Until = r.Until.Add(time.Millisecond) }, false)
	write("an earlier until", func(r *recycled.Slot) { r.Until = r.Until.Add(-time.Millisecond) }, false)
	write("the same record", same, true)
	write("the same record again", same, true)

	released := next(t.readSlot(t.store, 0), "")
	t.mustWrite(slottest.Swap(t.read(t.store, recycled.Query{WorkerIDs: []int64{0}}), nil, released))
	write("a token, and the slot is released", func(r *recycled.Slot) { r.Token = "x" }, false)
	write("no token, as the slot", same, true)

	// A slot that is added replaces the zero Slot.
	added := newSlot(s, 2)
	pool := s.Pool
	pool.Revision++
	pool.Slots++
	w := recycled.Write{History: s.History, Pool: &pool, ReplacedPool: &s.Pool,
		Slots: []recycled.Slot{added, next(t.readSlot(t.store, 1), "beside")}, Replaced: []recycled.Slot{{}, t.readSlot(t.store, 1)}}
	for i, want := range []bool{true, false} {
		if got := t.write(t.open(), w); got != want {
			t.Fatalf("write %d of an added slot returned %v, want %v", i+1, got, want)
		}
	}
}

// Write compares the history, since, floor and number of slots of the pool that it replaces, not only its revision: a server
// that was replaced and returns may have another record of the same revision, with a floor that must not be lost.
func testReplacedPoolCompared(t *storeTest) {
	s := t.create(1, heldSlot)
	write := func(what string, change func(replaced *recycled.Pool), want bool) {
		t.Helper()
		before := t.read(t.store, recycled.Query{}).Pool
		replaced, pool := before, before
		change(&replaced)
		pool.Revision++
		pool.Slots++
		w := recycled.Write{History: s.History, Pool: &pool, ReplacedPool: &replaced, Slots: []recycled.Slot{newSlot(s, before.Slots)},
			Replaced: []recycled.Slot{{}}}
		if got := t.write(t.open(), w); got != want {
			t.Fatalf("a write whose replaced pool has %s returned %v, want %v", what, got, want)
		}
		if !want {
			pool = before
		}
		if after := t.read(t.open(), recycled.Query{}).Pool; after.Revision != pool.Revision || after.Slots != pool.Slots {
			t.Fatalf("after a write whose replaced pool has %s, which returned %v, the pool is %+v", what, want, after)
		}
	}
	for _, floor := range []time.Time{{}, t.read(t.store, recycled.Query{}).Now.Truncate(time.Second).Add(time.Hour)} {
		pool := t.read(t.store, recycled.Query{}).Pool
		replaced := pool
		pool.Revision++
		pool.Floor = floor
		t.mustWrite(recycled.Write{History: s.History, Pool: &pool, ReplacedPool: &replaced})
		write("another history", func(r *recycled.Pool) { r.History += "x" }, false)
		write("a later since", func(r *recycled.Pool) { r.Since = r.Since.Add(time.Millisecond) }, false)
		write("an earlier since", func(r *recycled.Pool) { r.Since = r.Since.Add(-time.Millisecond) }, false)
		write("another floor", func(r *recycled.Pool) { r.Floor = floor.Add(time.Millisecond) }, false)
		write("more slots", func(r *recycled.Pool) { r.Slots++ }, false)
		write("fewer slots", func(r *recycled.Pool) { r.Slots-- }, false)
		write("the same record", func(*recycled.Pool) {}, true)
		if !floor.IsZero() {
			write("no floor", func(r *recycled.Pool) { r.Floor = time.Time{} }, false)
		}
	}
}

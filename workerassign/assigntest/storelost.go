package assigntest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// settle is how long a test waits for a write that may be made later.
const settle = 200 * time.Millisecond

// checkAmbiguous checks the result of a write that met a fault: true means that it was made, false that it
// was not made and never will be, and an error means either.
func (t *storeTest) checkAmbiguous(what string, a attempt) {
	t.Helper()
	time.Sleep(settle)
	s := t.recovered(t.store, recycled.Query{All: true})
	all, none := isMade(s, a.write)
	switch {
	case !all && !none:
		t.Fatalf("%s was made in part", what)
	case a.err == nil && a.written && !all:
		t.Fatalf("%s returned true, but it was not made; when it is not known, Write must return an error", what)
	case a.err == nil && !a.written && all:
		t.Fatalf("%s returned false, but it was made; when it is not known, Write must return an error", what)
	}
	t.Logf("%s returned %v, %v; it was made: %v", what, a.written, a.err, all)
	t.rewrite(s)
}

// If requests are lost, nothing is taken for written.
func testRequestsLost(t *storeTest) {
	t.lost("a write whose request was lost", t.h.LoseRequests)
}

// If replies are lost, a write is neither taken for made nor for refused, unless the store has found out.
func testRepliesLost(t *storeTest) {
	t.lost("a write whose reply was lost", t.h.LoseReplies)
}

func (t *storeTest) lost(what string, lose func(tb testing.TB, call func())) {
	s := t.create(2, newSlot)
	acknowledged, attempts := 0, 0
	check := func(a attempt) {
		if attempts++; a.err == nil && a.written {
			acknowledged++
		}
		t.checkAmbiguous(what, a)
	}
	for range 3 {
		var a attempt
		a.write = slottest.Swap(s, nil, next(s.Slots[0], "lost"), next(s.Slots[1], "lost"))
		lose(t.TB, func() {
			t.inTime(what, time.Second, func(ctx context.Context) { a.written, a.err = t.store.Write(ctx, a.write) })
		})
		check(a)
		s = t.recovered(t.store, recycled.Query{All: true})
		// The same for a write that adds slots.
		pool := s.Pool
		pool.Revision++
		pool.Slots += 2
		a.write = slottest.Swap(s, &pool, heldSlot(s, s.Pool.Slots), heldSlot(s, s.Pool.Slots+1))
		lose(t.TB, func() {
			t.inTime(what, time.Second, func(ctx context.Context) { a.written, a.err = t.store.Write(ctx, a.write) })
		})
		check(a)
		// A read whose reply is lost does not find an empty store.
		lose(t.TB, func() {
			t.inTime("a read", time.Second, func(ctx context.Context) {
				if s, err := t.store.Read(ctx, recycled.Query{All: true}); err == nil && (s.Pool.Revision == 0 || len(s.Slots) == 0) {
					t.Errorf("a read whose request or reply was lost returned no error, and a pool with revision %d and %d slots", s.Pool.Revision, len(s.Slots))
				}
			})
		})
		s = t.recovered(t.store, recycled.Query{All: true})
	}
	if acknowledged == attempts {
		t.Fatalf("%s: each of %d writes returned true: the fault has no effect", what, attempts)
	}
}

// A write that reaches the server late is compared with what is there then.
func testDelayedWrite(t *storeTest) {
	s := t.create(2, newSlot)
	other := t.open()
	for n := range 4 {
		late := slottest.Swap(s, nil, next(s.Slots[0], "late"), next(s.Slots[1], "late"))
		var a attempt
		a.write = late
		deliver := t.h.DelayWrites(t.TB, func() {
			t.inTime("a write that is delayed", time.Second, func(ctx context.Context) { a.written, a.err = t.store.Write(ctx, late) })
		})
		if n%2 == 1 { // nobody else writes meanwhile
			deliver()
			t.checkAmbiguous("a write that was delayed", a)
			s = t.recovered(t.store, recycled.Query{All: true})
			continue
		}
		early := next(s.Slots[n/2], s.Slots[n/2].Token) // only its revision is not what the late write replaces
		early.Holder.Process = fmt.Sprint("early ", n)  // not what the late write has, in whatever order the store returns slots
		if !t.write(other, slottest.Swap(s, nil, early)) {
			t.Fatal("a write returned false, although the other one of the same revision has not reached the server")
		}
		if a.err == nil && a.written {
			t.Fatal("Write returned true before the write reached the server")
		}
		deliver()
		time.Sleep(settle)
		s = t.recovered(t.store, recycled.Query{All: true})
		if d := diffSlot(t.readSlot(t.store, early.WorkerID), early); d != "" {
			t.Fatalf("a write that reached the server late was made although its revision no longer matched:%s", d)
		}
		if _, none := isMade(s, late); !none {
			t.Fatalf("a write that reached the server late was made in part: of worker IDs 0 and 1, the slot that only it wrote has changed: %+v", s.Slots)
		}
	}
}

// The clock that decides what is free is the store's.
func testClockStep(t *storeTest) {
	s := t.create(2, func(s recycled.State, id int64) recycled.Slot {
		slot := heldSlot(s, id)
		slot.FreeAt = floorMS(s.Now.Add(time.Duration(id)*48*time.Hour + time.Hour))
		return slot
	})
	check := func(when string, advance time.Duration, free int) {
		t.Helper()
		state := t.recovered(t.store, recycled.Query{Free: 16})
		if passed := state.Now.Sub(s.Now); passed < advance-t.h.ClockBound || passed > advance+t.h.Recovery {
			t.Fatalf("%s: the store's clock shows %v more than at the start, want %v", when, passed, advance)
		}
		if len(state.Slots) != free {
			t.Fatalf("%s: a query of free slots returned %d, want %d; the store must compare FreeAt with its own clock", when, len(state.Slots), free)
		}
	}
	check("before a step", 0, 0)
	t.h.StepClock(t.TB, 2*time.Hour)
	check("after a step of 2 h", 2*time.Hour, 1)
	t.h.StepClock(t.TB, -2*time.Hour)
	check("after the step back", 0, 0)
	t.h.StepClock(t.TB, -24*time.Hour)
	check("after a step of -24 h", -24*time.Hour, 0)
	t.h.StepClock(t.TB, 24*time.Hour)
}

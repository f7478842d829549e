package assigntest

import (
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Free finds the slots whose FreeAt is before the store's clock, to the millisecond: not those whose FreeAt is what the
// clock shows.
func testFreeAtNow(t *storeTest) {
	const n = 3
	var at time.Time // the FreeAt of slot 0; the others follow, a millisecond after each other
	t.create(n, func(s recycled.State, id int64) recycled.Slot {
		if at.IsZero() {
			at = floorMS(s.Now.Add(time.Hour))
		}
		slot := heldSlot(s, id)
		slot.FreeAt = at.Add(time.Duration(id) * time.Millisecond)
		return slot
	})
	defer t.h.StopClock(t.TB, time.Time{})
	for free := range int64(n + 1) { // slots 0 to free-1
		now := at.Add(time.Duration(free) * time.Millisecond)
		t.h.StopClock(t.TB, now)
		found := map[int64]bool{}
		for range 20 { // a store may leave out slots, but not always
			s := t.read(t.store, recycled.Query{Free: 16})
			if !s.Now.Equal(now) {
				t.Fatalf("the store's clock shows %v after StopClock(%v)", s.Now, now)
			}
			for _, slot := range s.Slots {
				if !slot.FreeAt.Before(now) {
					t.Fatalf("a query of free slots returned the slot of worker ID %d, whose FreeAt is %v, and now is %v; FreeAt must be before that",
						slot.WorkerID, slot.FreeAt, now)
				}
				found[slot.WorkerID] = true
			}
		}
		if int64(len(found)) != free {
			t.Fatalf("20 queries of free slots returned those of worker IDs %v, want 0 to %d: their FreeAt is before now, %v", found, free-1, now)
		}
	}
}

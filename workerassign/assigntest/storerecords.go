package assigntest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The pool's fields are read as they were written, also at the ends of their ranges.
func testPoolRoundTrip(t *storeTest) {
	s := t.read(t.store, recycled.Query{})
	year9999 := workerassign.Unbounded()
	odd := time.UnixMilli(1795257600001).UTC()
	for n, p := range []recycled.Pool{
		{Format: "1-28-22-13", History: s.History},
		{Format: "f", First: 5, Slots: 7, History: "another history", Since: odd, Floor: odd.Add(time.Millisecond),
			Horizon: 1001 * time.Millisecond, Fencing: time.Millisecond, Skew: 999 * time.Millisecond},
		{Format: strings.Repeat("ä", 256), First: 1 << 60, Slots: 1 << 60, History: strings.Repeat("h", 128), Since: year9999,
			Floor: year9999, Horizon: 8760 * time.Hour, Fencing: 8760 * time.Hour, Skew: 8760 * time.Hour},
		{Format: `'"\ %_` + "`;--\t{}", First: 1<<53 + 1, Slots: 1<<53 + 1, History: `'"\ %_` + "`;--\t{}",
			Since: time.UnixMilli(-1), Floor: time.UnixMilli(0)},
	} {
		p.Revision = int64(n) + 1
		t.mustWrite(slottest.Swap(s, &p))
		s.Pool = p
		if d := diffPool(t.read(t.open(), recycled.Query{}).Pool, p); d != "" {
			t.Errorf("the pool was not read as it was written:%s", d)
		}
	}
}

// The fields of slots are read as they were written, also at the ends of their ranges. Times are exact
// to the millisecond.
func testSlotRoundTrip(t *storeTest) {
	s := t.create(0, nil)
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	const now = 1795257600123 // in 2026; milliseconds have 13 digits, nanoseconds 19, and Lua prints 14
	slots := []recycled.Slot{
		{WorkerID: 0, Token: "", From: at(now), Until: at(now), History: "h", Written: at(now), FreeAt: at(now)},
		{WorkerID: 1, Token: "t", From: at(now + 1), Until: at(now + 2), History: "h2", Written: at(now + 3), FreeAt: at(now + 4),
			Holder: recycled.Holder{Name: "n", Host: "h", Process: "p", Since: at(now + 5)}},
		{WorkerID: 1<<53 + 1, Token: strings.Repeat("T", 64), From: at(0), Until: at(1), History: "h", Written: at(999), FreeAt: at(1000)},
		{WorkerID: 1<<61 - 1, Token: "t", From: time.Time{}, Until: workerassign.Unbounded(), History: strings.Repeat("h", 128),
			Written: at(now), FreeAt: workerassign.Unbounded(), Holder: recycled.Holder{Since: workerassign.Unbounded()}},
	}
	for revision := int64(1); revision <= 2; revision++ {
		for n := range slots {
			slots[n].Revision = revision
		}
		t.mustWrite(slottest.Swap(s, nil, slots...))
		s.Slots = slices.Clone(slots)
		for _, slot := range slots {
			if d := diffSlot(t.readSlot(t.open(), slot.WorkerID), slot); d != "" {
				t.Errorf("revision %d of the slot of worker ID %d was not read as it was written:%s", revision, slot.WorkerID, d)
			}
		}
		// Each millisecond, so that no rounding goes unnoticed.
		for n := range slots[:2] {
			slots[n].Until = slots[n].Until.Add(time.Millisecond)
			slots[n].FreeAt = slots[n].FreeAt.Add(997 * time.Millisecond)
		}
	}
	// A field that becomes empty again does not keep its old value.
	empty := recycled.Slot{WorkerID: 1, Revision: 3, From: at(now), Until: at(now), Written: at(now), FreeAt: at(now)}
	t.mustWrite(slottest.Swap(s, nil, empty))
	if d := diffSlot(t.readSlot(t.open(), 1), empty); d != "" {
		t.Errorf("a slot whose fields are empty was not read as it was written:%s", d)
	}
}

// texts are names that a store might change or confuse with one another.
var texts = []string{
	"a", "A", "a ", " a", "ab", "a%", "a_", "%", "_", "*", "a*", "[a]", "a?", "ä", "a\u0308", "Ä", "ß", "ss", "i", "İ", "ı",
	"名前", "👩\u200d👩\u200d👧", `a"b`, `a'b`, `a\b`, `\`, "a`b", "a;b", "a{b}", "${a}", "a\tb", "a\nb", "a/b", "a:b", "..", "0", "00", "nil", "NULL",
	"orders-80", "orders-8080", strings.Repeat("é", 64),
}

// Texts are read as they were written.
func testTexts(t *storeTest) {
	s := t.create(0, nil)
	for first := 0; first < len(texts); first += maxBatch {
		var slots []recycled.Slot
		for n, text := range texts[first:min(first+maxBatch, len(texts))] {
			slot := newSlot(s, int64(first+n))
			slot.Holder = recycled.Holder{Name: text, Host: text, Process: text, Since: slot.From}
			slots = append(slots, slot)
		}
		t.mustWrite(slottest.Swap(s, nil, slots...))
		for _, slot := range slots {
			if d := diffSlot(t.readSlot(t.open(), slot.WorkerID), slot); d != "" {
				t.Errorf("a slot was not read as it was written:%s", d)
			}
		}
	}
	long := newSlot(s, int64(len(texts)))
	long.Holder = recycled.Holder{Name: strings.Repeat("n", 128), Host: strings.Repeat("h", 255), Process: strings.Repeat("p", 255)}
	t.mustWrite(slottest.Swap(s, nil, long))
	if d := diffSlot(t.readSlot(t.open(), long.WorkerID), long); d != "" {
		t.Errorf("a slot with long texts was not read as it was written:%s", d)
	}
}

// A query by name finds the slots of exactly that name.
func testQueryNames(t *storeTest) {
	names := map[int64]string{}
	for n, text := range texts {
		names[int64(n)] = text
	}
	twin := int64(len(texts))
	names[twin] = "a" // two slots of one name
	s := t.create(twin+2, func(s recycled.State, id int64) recycled.Slot {
		slot := heldSlot(s, id)
		slot.Holder.Name = names[id]
		return slot
	})
	t.checkNames(names)
	// A slot that gets another name is no longer found by its former one.
	var renamed []recycled.Slot
	for _, slot := range s.Slots {
		if slot.WorkerID == 0 || slot.WorkerID == twin+1 {
			slot = next(slot, "renamed")
			slot.Holder.Name = fmt.Sprint("new name ", slot.WorkerID)
			names[slot.WorkerID] = slot.Holder.Name
			renamed = append(renamed, slot)
		}
	}
	t.mustWrite(slottest.Swap(s, nil, renamed...))
	t.checkNames(names)
}

// checkNames compares what queries by name return with the names of slots.
func (t *storeTest) checkNames(names map[int64]string) {
	t.Helper()
	byName := map[string]map[int64]bool{"no such name": {}, "orders": {}, "A ": {}}
	for id, name := range names {
		if byName[name] == nil {
			byName[name] = map[int64]bool{}
		}
		byName[name][id] = true
	}
	for name, want := range byName {
		found := t.read(t.store, recycled.Query{Name: name}).Slots
		for _, slot := range found {
			if !want[slot.WorkerID] {
				t.Fatalf("a query by the name %q returned the slot of worker ID %d, whose name is %q", name, slot.WorkerID, slot.Holder.Name)
			}
		}
		if len(found) != len(want) {
			t.Fatalf("a query by the name %q returned %d slots, want %d", name, len(found), len(want))
		}
	}
}

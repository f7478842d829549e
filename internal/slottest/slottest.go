// Package slottest makes the writes of tests of slot stores.
package slottest

import "github.com/ringuid/ringuid/workerassign/recycled"

// Swap returns the write of a pool, unless it is nil, and of slots that replaces the records of a state that was read.
func Swap(s recycled.State, pool *recycled.Pool, slots ...recycled.Slot) recycled.Write {
	w := recycled.Write{History: s.History, Pool: pool, ReplacedPool: &s.Pool, Slots: slots, Replaced: make([]recycled.Slot, len(slots))}
	for i, slot := range slots {
		for _, old := range s.Slots {
			if old.WorkerID == slot.WorkerID && slot.Revision > 1 {
				w.Replaced[i] = old
			}
		}
	}
	return w
}

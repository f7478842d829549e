package filestore

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// find returns the slots that q selects.
func (c *slotFileContent) find(q recycled.Query, now time.Time) []recycled.Slot {
	if q.All {
		return slices.Clone(c.slots)
	}
	var found []recycled.Slot
	free := q.Free
	first := 0
	if len(c.slots) > 0 {
		first = rand.IntN(len(c.slots)) // so that processes which start together find different slots
	}
	for n := range c.slots {
		slot := c.slots[(first+n)%len(c.slots)]
		isFree := free > 0 && slot.FreeAt.Before(now)
		if isFree {
			free--
		}
		if isFree || q.Name != "" && slot.Holder.Name == q.Name || slices.Contains(q.WorkerIDs, slot.WorkerID) {
			found = append(found, slot)
		}
	}
	return found
}

// apply returns the content that results from w. It returns false if a revision or the history does not
// match.
func (c *slotFileContent) apply(w recycled.Write) (*slotFileContent, bool) {
	if w.History != c.history || w.Pool != nil && !w.ReplacesPool(c.pool) {
		return nil, false
	}
	next := *c
	if w.Pool != nil {
		next.pool = *w.Pool
	}
	next.slots = slices.Clone(c.slots)
	for i, slot := range w.Slots {
		at, found := slices.BinarySearchFunc(next.slots, slot.WorkerID, compareWorkerID)
		switch {
		case found && w.Replaces(i, next.slots[at]):
			next.slots[at] = slot
		case !found && w.Replaces(i, recycled.Slot{}):
			next.slots = slices.Insert(next.slots, at, slot)
		default:
			return nil, false
		}
	}
	return &next, true
}

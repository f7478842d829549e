// Package slotindex has what stores share that keep each slot as a record of its own, an index of the released slots, and one of the
// names of holders: which slots answer a query, and what a write changes in the indexes. The indexes may
// name slots that have changed, and lack some.
package slotindex

import "github.com/ringuid/ringuid/workerassign/recycled"

const (
	MaxFree = 8  // how many released slots are read at once: they are a random choice of those that the index names
	fewFree = 16 // how many free slots recycled asks for, unless it has lost a race
)

// An Answer collects the answer to a query. Its methods return whether they have added the slot: none is added twice.
type Answer struct {
	Query recycled.Query
	State recycled.State

	added map[int64]bool
	free  int // how many slots AddFree has added
}

// Add adds a slot.
func (a *Answer) Add(s recycled.Slot) bool {
	if a.added[s.WorkerID] {
		return false
	}
	if a.added == nil {
		a.added = map[int64]bool{}
	}
	a.added[s.WorkerID] = true
	a.State.Slots = append(a.State.Slots, s)
	return true
}

// AddNamed adds a slot whose holder has the name that the query asks for.
func (a *Answer) AddNamed(s recycled.Slot) bool { return s.Holder.Name == a.Query.Name && a.Add(s) }

// AddFree adds a slot that is free by the store's clock, while more are wanted.
func (a *Answer) AddFree(s recycled.Slot) bool {
	if a.free == a.Query.Free || !s.FreeAt.Before(a.State.Now) || !a.Add(s) {
		return false
	}
	a.free++
	return true
}

// HasFree reports whether enough free slots were added: one, unless more than the usual number are wanted.
func (a *Answer) HasFree() bool { return a.free > 0 && a.Query.Free <= fewFree }

// Changes is what a write changes in the indexes.
type Changes struct {
	Released, Leased bool   // the slot becomes a released one; it is one no longer
	Name, FormerName string // the name that it gets, and the one that it had; "" for none, or if they are equal
}

// ChangesOf returns the changes by a write of a slot that replaces old. If the slot is new, old is the zero value.
func ChangesOf(old, s recycled.Slot) Changes {
	wasReleased := s.Revision > 1 && old.Token == ""
	isReleased := s.Token == ""
	c := Changes{Released: isReleased && !wasReleased, Leased: !isReleased && wasReleased}
	if s.Holder.Name != old.Holder.Name {
		c.Name, c.FormerName = s.Holder.Name, old.Holder.Name
	}
	return c
}

package recycled

import (
	"testing"
	"time"
)

// R1: an extension never lowers the slot's until, also if the store's clock was set back, or the span is shorter now.
func TestR1SavedUntilNeverFalls(t *testing.T) {
	for name, change := range map[string]func(s *savedTest) []SavedOption{
		"the clock was set back": func(s *savedTest) []SavedOption { s.now = s.now.Add(-time.Hour); return nil },
		"the span is shorter":    func(*savedTest) []SavedOption { return []SavedOption{WithSpan(time.Hour)} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSavedTest(t)
			first := s.mustAssign(s.newSaved())
			until := first.record.slot.Until
			first.crash()
			next := s.mustAssign(s.newSaved(change(s)...))
			state, err := s.store.Read(t.Context(), Query{WorkerIDs: []int64{first.WorkerID()}})
			if err != nil || next.WorkerID() != first.WorkerID() || len(state.Slots) != 1 || state.Slots[0].Until.Before(until) {
				t.Errorf("worker ID %d was granted until %v; the next process has %d, and the store %+v, %v; must not be granted less",
					first.WorkerID(), until, next.WorkerID(), state.Slots, err)
			}
		})
	}
}

package assigntest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// checkWrite returns an error if a store could not keep what w contains.
func checkWrite(w recycled.Write) error {
	var problems []error
	whole := func(what string, times ...time.Time) {
		for _, t := range times {
			if t.Nanosecond()%int(time.Millisecond) != 0 {
				problems = append(problems, fmt.Errorf("%s has the time %v; must be a whole millisecond", what, t))
			}
		}
	}
	if p := w.Pool; p != nil {
		whole("the pool", p.Since, p.Floor)
		for _, d := range []time.Duration{p.Horizon, p.Fencing, p.Skew} {
			if d < 0 || d%time.Millisecond != 0 {
				problems = append(problems, fmt.Errorf("the pool has the duration %v; must be a whole number of milliseconds, at least 0", d))
			}
		}
	}
	seen := map[int64]bool{}
	for _, slot := range w.Slots {
		what := fmt.Sprintf("the slot of worker ID %d", slot.WorkerID)
		whole(what, slot.From, slot.Until, slot.Written, slot.FreeAt, slot.Holder.Since)
		if slot.Until.Before(slot.From) {
			problems = append(problems, fmt.Errorf("%s ends at %v; must not be before %v", what, slot.Until, slot.From))
		}
		if slot.WorkerID < 0 || slot.Revision < 1 || seen[slot.WorkerID] {
			problems = append(problems, fmt.Errorf("%s has the revision %d, or is written twice", what, slot.Revision))
		}
		seen[slot.WorkerID] = true
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: assigntest: a write is invalid: %w", workerassign.ErrPermanent, errors.Join(problems...))
	}
	return nil
}

func cloneWrite(w recycled.Write) recycled.Write {
	if w.Pool != nil {
		p := *w.Pool
		w.Pool = &p
	}
	w.Slots, w.Replaced = slices.Clone(w.Slots), slices.Clone(w.Replaced)
	return w
}

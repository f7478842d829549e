package bitsalloc

import (
	"fmt"
	"math/bits"
	"time"
)

// MinUnit is the shortest time unit that there is.
const MinUnit = time.Millisecond

// WorkerStarts returns how many disposable worker IDs the layout has: from 1, where keys of
// a database begin, to MaxWorkerID. A key of 0 is refused as a missing one.
func (l Layout) WorkerStarts() int64 { return l.MaxWorkerID() }

// endOfTime is the last instant that RFC 3339 can write.
func endOfTime() time.Time {
	return time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
}

// End returns the first instant that the time bits cannot carry any more, for time units
// that are counted from epoch on; or the last instant of the year 9999, where that is
// earlier. Of the zero Layout, or a unit that is not positive, nothing can be counted: End
// returns the epoch.
func (l Layout) End(epoch time.Time, unit time.Duration) time.Time {
	epoch, last := epoch.UTC().Round(0), endOfTime()
	if l.IsZero() || unit <= 0 {
		return epoch
	}
	if epoch.After(last) {
		return last
	}
	// At most 2^61 units of less than 2^63 nanoseconds: more than 64 bits hold, and the hi
	// word may be more than Div64 can divide.
	hi, lo := bits.Mul64(uint64(l.MaxDelta())+1, uint64(unit))
	if hi >= uint64(time.Second) {
		return last
	}
	seconds, rest := bits.Div64(hi, lo, uint64(time.Second))
	if seconds > uint64(last.Unix())-uint64(epoch.Unix()) { // exact, however early the epoch
		return last
	}
	end := time.Unix(epoch.Unix()+int64(seconds), int64(epoch.Nanosecond())+int64(rest)).UTC()
	if end.After(last) {
		return last
	}
	return end
}

// Capacity is what a layout carries.
type Capacity struct {
	Begin, End   time.Time // the first instant, and the first one that is too late
	WorkerStarts int64     // how many disposable worker IDs there are
	PerUnit      int64     // UIDs a time unit and worker ID
	PerSecond    float64   // UIDs a second and worker ID, without borrowing
}

// Capacity returns what the layout carries for time units counted from epoch on. A unit of
// less than MinUnit is ErrUnit; of the zero Layout the error is ErrLayout.
func (l Layout) Capacity(epoch time.Time, unit time.Duration) (Capacity, error) {
	if l.IsZero() {
		return Capacity{}, ErrLayout
	}
	if unit < MinUnit {
		return Capacity{}, fmt.Errorf("%w: %v is less than %v", ErrUnit, unit, MinUnit)
	}
	perUnit := l.MaxSequence() + 1
	return Capacity{
		Begin:        epoch.UTC().Round(0),
		End:          l.End(epoch, unit),
		WorkerStarts: l.WorkerStarts(),
		PerUnit:      perUnit,
		PerSecond:    float64(perUnit) / unit.Seconds(),
	}, nil
}

// String returns the capacity in words.
func (c Capacity) String() string {
	return fmt.Sprintf("from %s to %s, %d worker starts, %.0f UIDs a second and worker",
		c.Begin.Format(time.RFC3339), c.End.Format(time.RFC3339), c.WorkerStarts, c.PerSecond)
}

package bitsalloc

import (
	"fmt"
	"math/bits"
	"time"
)

// WorkerStarts returns how many disposable worker IDs the layout has: from 1, where the keys of a
// database begin, to MaxWorkerID. A key of 0 is refused as a missing one.
func (l Layout) WorkerStarts() int64 { return l.MaxWorkerID() }

// endOfTime returns the last instant that RFC 3339 can express.
func endOfTime() time.Time {
	return time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
}

// End returns the first instant that the time bits cannot represent, or the last instant of the
// year 9999, if that is earlier. For the zero Layout it returns the epoch, and for the zero
// TimeBase the zero time.
func (l Layout) End(b TimeBase) time.Time {
	if l.IsZero() || b.IsZero() {
		return b.epoch
	}
	// At most 2^61 units of less than 2^30 nanoseconds do not fit in 64 bits.
	hi, lo := bits.Mul64(uint64(l.MaxDelta())+1, uint64(b.unit))
	seconds, rest := bits.Div64(hi, lo, uint64(time.Second))
	last := endOfTime()
	if seconds > uint64(last.Unix()-b.epoch.Unix()) {
		return last
	}
	return time.Unix(b.epoch.Unix()+int64(seconds), int64(rest)).UTC()
}

// Capacity is what a layout can represent.
type Capacity struct {
	Begin, End   time.Time // the first instant, and the first one that is too late
	WorkerStarts int64     // the number of disposable worker IDs
	PerUnit      int64     // UIDs per time unit and worker ID
	PerSecond    float64   // UIDs per second and worker ID, without borrowing
}

// Capacity returns what the layout can represent when time is counted as b says. The error wraps
// ErrLayout for the zero Layout, and ErrUnit for the zero TimeBase.
func (l Layout) Capacity(b TimeBase) (Capacity, error) {
	switch {
	case l.IsZero():
		return Capacity{}, ErrLayout
	case b.IsZero():
		return Capacity{}, fmt.Errorf("%w: the time base is the zero value; NewTimeBase returns a valid one", ErrUnit)
	}
	perUnit := l.MaxSequence() + 1
	return Capacity{
		Begin:        b.epoch,
		End:          l.End(b),
		WorkerStarts: l.WorkerStarts(),
		PerUnit:      perUnit,
		PerSecond:    float64(perUnit) * float64(b.UnitsPerSecond()),
	}, nil
}

// String returns the capacity in words.
func (c Capacity) String() string {
	return fmt.Sprintf("from %s to %s, %d worker starts, %.0f UIDs per second and worker",
		c.Begin.Format(time.RFC3339), c.End.Format(time.RFC3339), c.WorkerStarts, c.PerSecond)
}

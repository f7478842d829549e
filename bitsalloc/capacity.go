package bitsalloc

import (
	"fmt"
	"math"
	"time"
)

// endOfTime is the last instant that RFC 3339 can write.
func endOfTime() time.Time {
	return time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
}

// End returns the first instant that the time bits cannot carry any more, for time units
// that are counted from epoch on; or the end of the year 9999, where that is earlier. unit
// must be positive and a second must be a multiple of it, or it of a second; else End
// returns the epoch, from which nothing can be counted.
func (l Layout) End(epoch time.Time, unit time.Duration) time.Time {
	epoch = epoch.UTC().Round(0)
	units := l.MaxDelta() + 1 // at most 2^61
	var seconds, rest int64   // units as a time
	switch {
	case l.IsZero() || unit <= 0:
		return epoch
	case time.Second%unit == 0:
		perSecond := int64(time.Second / unit)
		seconds, rest = units/perSecond, units%perSecond*int64(unit)
	case unit%time.Second == 0:
		if n := int64(unit / time.Second); units > math.MaxInt64/n {
			seconds = math.MaxInt64
		} else {
			seconds = units * n
		}
	default:
		return epoch
	}
	last := endOfTime()
	if seconds > last.Unix()-epoch.Unix() {
		return last
	}
	return time.Unix(epoch.Unix()+seconds, int64(epoch.Nanosecond())+rest).UTC()
}

// Capacity is what a layout carries.
type Capacity struct {
	Begin, End   time.Time // the first instant, and the first one that is too late
	WorkerStarts int64     // how many disposable worker IDs there are: 1 to the greatest
	PerUnit      int64     // UIDs a time unit and worker ID
	PerSecond    float64   // UIDs a second and worker ID, without borrowing
}

// Capacity returns what the layout carries for time units counted from epoch on. Which
// units are possible is told at End.
func (l Layout) Capacity(epoch time.Time, unit time.Duration) Capacity {
	c := Capacity{
		Begin:        epoch.UTC().Round(0),
		End:          l.End(epoch, unit),
		WorkerStarts: l.MaxWorkerID(),
		PerUnit:      l.MaxSequence() + 1,
	}
	if unit > 0 {
		c.PerSecond = float64(c.PerUnit) / unit.Seconds()
	}
	return c
}

// String returns the capacity in words.
func (c Capacity) String() string {
	return fmt.Sprintf("from %s to %s, %d worker starts, %.0f UIDs a second and worker",
		c.Begin.Format(time.RFC3339), c.End.Format(time.RFC3339), c.WorkerStarts, c.PerSecond)
}

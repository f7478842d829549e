// Package unitclock is a generator's clock: it never goes back, and counts time in the units of a
// time base. It knows neither leases nor generators.
package unitclock

import (
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

// Clock counts the time of a monotonicClock in time units. It is safe for concurrent use. No method
// of its Source is called under a lock.
type Clock struct {
	*monotonicClock
	base       bitsalloc.TimeBase
	startDelta int64         // the unit that contains the start
	intoUnit   time.Duration // how far into that unit the start is
}

// New returns a clock that starts at the time that source shows.
func New(source Source, base bitsalloc.TimeBase) *Clock {
	m := newMonotonicClock(source)
	delta := base.Delta(m.start)
	return &Clock{monotonicClock: m, base: base, startDelta: delta, intoUnit: m.start.Sub(base.Time(delta))}
}

// TimeBase returns the epoch and the unit.
func (c *Clock) TimeBase() bitsalloc.TimeBase { return c.base }

// Unit returns the time unit that contains the current time. It never decreases.
func (c *Clock) Unit() int64 { return c.UnitAt(c.Elapsed()) }

// UnitAt returns the time unit at a time elapsed since the start, which may be negative.
func (c *Clock) UnitAt(elapsed time.Duration) int64 {
	unit := c.base.Unit()
	into := c.intoUnit + elapsed
	n := int64(into / unit)
	if into%unit < 0 {
		n-- // round down, not towards 0
	}
	return c.startDelta + n
}

// UntilUnitEnds returns the rest of the time unit at a time elapsed since the start, which must not be
// negative.
func (c *Clock) UntilUnitEnds(elapsed time.Duration) time.Duration {
	return c.base.Unit() - (c.intoUnit+elapsed)%c.base.Unit()
}

// Until returns the time from a time elapsed since the start to the start of a unit: negative if
// the unit started before that.
func (c *Clock) Until(unit int64, elapsed time.Duration) time.Duration {
	return c.base.Time(unit).Sub(c.start.Add(elapsed))
}

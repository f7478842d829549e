package unitclock

import (
	"math"
	"time"
)

// Source is a wall clock. It may also have a method Monotonic() time.Duration, which returns the time
// since some instant and never steps. Otherwise the monotonic reading in its times is used, if there
// is one.
type Source interface {
	Now() time.Time
}

// monotonicSource is a Source that also has a monotonic clock.
type monotonicSource interface {
	Monotonic() time.Duration
}

// System is the clock of the operating system.
type System struct{}

// Now implements Source.
func (System) Now() time.Time { return time.Now() }

// sample is one reading of the clocks. Its times are relative to the start.
type sample struct {
	monotonic time.Duration
	// The wall clock was ahead of the monotonic clock by minLead to maxLead.
	minLead, maxLead time.Duration
}

// sample reads the wall clock and then the monotonic clock, so that a goroutine that is paused
// between the two finds the wall clock behind, and never ahead. A strict sample also reads the
// monotonic clock before the wall clock, and so bounds it from both sides.
func (c *monotonicClock) sample(strict bool) (s sample) {
	var before time.Duration
	if strict {
		before = c.readMonotonic()
	}
	t := c.source.Now()
	switch {
	case c.separate != nil:
		s.monotonic = c.readMonotonic()
	case !c.wallOnly:
		s.monotonic = c.since(t)
	}
	wall := wallTimeBetween(c.start, t)
	s.minLead = wall - s.monotonic
	s.maxLead = s.minLead
	if strict {
		s.maxLead = max(wall-before, s.minLead)
	}
	return s
}

// readMonotonic returns the monotonic time since the start.
func (c *monotonicClock) readMonotonic() time.Duration {
	switch {
	case c.separate != nil:
		return c.separate.Monotonic() - c.firstMonotonic
	case !c.wallOnly:
		return c.since(c.source.Now())
	}
	return 0
}

// since returns the monotonic time from the start to a reading. A wall clock that is set to 2157 or later makes package time read the
// monotonic clock without keeping it, and Sub would compare the wall clocks.
func (c *monotonicClock) since(t time.Time) time.Duration {
	if t == t.Round(0) {
		return time.Since(c.start)
	}
	return t.Sub(c.start)
}

// wallTimeBetween returns the time from start to t by the wall clock, limited to 146 years, so that
// the sum of two results does not overflow.
func wallTimeBetween(start, t time.Time) time.Duration {
	const limit = math.MaxInt64 / 2 / int64(time.Second)
	seconds := min(max(t.Unix()-start.Unix(), -limit), limit)
	return time.Duration(seconds)*time.Second + time.Duration(t.Nanosecond()-start.Nanosecond())
}

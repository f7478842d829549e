package uid

import (
	"math"
	"sync/atomic"
	"time"
)

// A Clock tells the time; it is for tests, and must be safe for concurrent use.
//
// A generator never lets its time go back, whatever its Clock does. To ride out a step back
// it needs a clock that does not step: the monotonic reading that the times of time.Now
// carry, or what a method Monotonic() time.Duration of the Clock returns. Without either,
// its time stands still until the Clock has caught up.
type Clock interface {
	Now() time.Time
}

// monotonic is the method that a Clock may have beside Now: the time since some instant of
// its own, which never steps.
type monotonic interface {
	Monotonic() time.Duration
}

// systemClock is the clock of the machine.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// steadyClock is a generator's clock: it follows the wall clock forward, goes on at the
// monotonic clock's pace when the wall clock steps back, and never goes back itself, which
// is invariant 4's part of time.
type steadyClock struct {
	source Clock
	mono   monotonic // nil: the readings of source carry one, or there is none
	start  time.Time // the first reading
	first  time.Duration

	// ahead is the farthest that the wall clock has been ahead of the monotonic one since
	// the start, in nanoseconds; where there is no monotonic clock, the farthest that the
	// wall clock has come. It only grows.
	ahead atomic.Int64
	bare  bool // there is no monotonic clock
}

func newSteadyClock(source Clock) *steadyClock {
	c := &steadyClock{source: source, start: source.Now()}
	if m, ok := source.(monotonic); ok {
		c.mono, c.first = m, m.Monotonic()
		c.start = c.start.Round(0)
	} else {
		c.bare = c.start == c.start.Round(0) // which takes a monotonic reading away
	}
	return c
}

// now returns the generator's time: never before what it returned before.
func (c *steadyClock) now() time.Time { return c.start.Round(0).Add(c.elapsed()) }

// elapsed returns the generator's time since its start.
func (c *steadyClock) elapsed() time.Duration {
	elapsed, _ := c.read()
	return elapsed
}

// read returns the generator's time since its start, and how far the wall clock is behind it.
func (c *steadyClock) read() (elapsed, behind time.Duration) {
	t := c.source.Now()
	var passed time.Duration // by the monotonic clock
	switch {
	case c.mono != nil:
		passed = c.mono.Monotonic() - c.first
	case !c.bare:
		passed = t.Sub(c.start)
	}
	wall := time.Duration(t.Unix()-c.start.Unix())*time.Second + time.Duration(t.Nanosecond()-c.start.Nanosecond())
	ahead := c.stepped(wall - passed)
	return passed + ahead, ahead - (wall - passed)
}

// stepped returns the farthest that the wall clock has been ahead, now being one reading.
func (c *steadyClock) stepped(now time.Duration) time.Duration {
	for {
		most := c.ahead.Load()
		if int64(now) <= most {
			return time.Duration(most)
		}
		if c.ahead.CompareAndSwap(most, int64(now)) {
			return now
		}
	}
}

// timeline counts a steady clock's time in the units of a format.
type timeline struct {
	*steadyClock
	format Format
	base   int64         // the unit that the clock's start lies in
	into   time.Duration // how far into it
	warned atomic.Bool   // that the end of the time bits is near
}

func newTimeline(c *steadyClock, f Format) *timeline {
	base := f.delta(c.start)
	return &timeline{steadyClock: c, format: f, base: base, into: c.start.Sub(f.time(base))}
}

// unit returns the unit that the time now lies in: never a lesser one than before.
func (t *timeline) unit() int64 {
	return t.unitAt(t.elapsed())
}

// unitAt returns the unit that lies so far from the start, which may be before it.
func (t *timeline) unitAt(elapsed time.Duration) int64 {
	into := t.into + elapsed
	n := int64(into / t.format.unit)
	if into < 0 && into%t.format.unit != 0 {
		n-- // down, not towards 0
	}
	return t.base + n
}

// away returns how far a unit's beginning lies from a time after the start.
func (t *timeline) away(unit int64, elapsed time.Duration) time.Duration {
	return t.format.time(unit).Sub(t.start.Add(elapsed))
}

// until returns how long it is until a unit begins; 0 when it has begun.
func (t *timeline) until(unit int64) time.Duration {
	return min(max(t.format.time(unit).Sub(t.now()), 0), math.MaxInt64-1)
}

package uid

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A Clock tells the time; it is for tests, and must be safe for concurrent use.
//
// A generator never lets its time go back, whatever its Clock does. To ride out a step back
// it needs a clock that does not step: the monotonic reading that the times of time.Now
// carry, or what a method Monotonic() time.Duration of the Clock returns. Without either,
// its time stands still until the Clock has caught up.
//
// A step forward of more than an hour against the monotonic clock is followed only when it is
// still there about a second later, by the monotonic clock: a single wrong reading does not take a
// generator to the end of time. A Clock without a monotonic one is believed at once, and so is
// every Clock when the generator is constructed.
//
// No method of a Clock is called under a lock, so that it may call the generator. When one
// panics, constructors and Default.Next return an error that wraps ErrClock.
type Clock interface {
	Now() time.Time
}

// ErrClock is returned by the constructors and by Default.Next when the Clock panics.
var ErrClock = errors.New("uid: the clock panicked")

// monotonic is the method that a Clock may have beside Now: the time since some instant of
// its own, which never steps.
type monotonic interface {
	Monotonic() time.Duration
}

// systemClock is the clock of the machine.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

const (
	// forwardBound is the longest step forward of the wall clock that is followed at once. A
	// longer one must last for forwardConfirm, by the monotonic clock: not quite a second, so that a
	// generator that looks each second confirms it at the next look.
	forwardBound   = time.Hour
	forwardConfirm = 900 * time.Millisecond

	// slewPart is the part of the time that passes by which a lead over the wall clock is
	// worked off: 1/2000 is 500 ppm, which is what adjtime does too. Oscillators are off by 100
	// ppm at most.
	slewPart = 2000

	// rideBound is the greatest step back of the wall clock that is worked off too. One that is
	// greater is ridden out: the lead stays as it is.
	rideBound = 10 * time.Second

	// doubtful is how much less a wall clock shows than was expected for it to be looked at a
	// second time: the goroutine may have been paused between two readings.
	doubtful = 500 * time.Microsecond
)

// steadyClock is a generator's clock: it follows the wall clock forward, goes on at the
// monotonic clock's pace when the wall clock steps back, and never goes back itself, which
// is invariant 4's part of time.
type steadyClock struct {
	source Clock
	system bool      // source is the system's clock
	mono   monotonic // nil: the readings of source carry one, or there is none
	bare   bool      // there is no monotonic clock
	start  time.Time // the first reading
	first  time.Duration

	// mu is held for arithmetic only, never while source is called.
	mu sync.Mutex
	// passed is the latest reading of the monotonic clock, since the start. The generator's
	// time is passed + offset; offset is never less than wall.
	passed, offset time.Duration
	// wall is how far the wall clock was ahead of the monotonic one when it was last believed,
	// since the start, and wallAt is when that was, by the monotonic clock.
	wall, wallAt time.Duration
	// kept is the part of the lead over the wall clock, offset - wall, that is ridden out.
	kept time.Duration
	// slewing is how much time has passed for which no lead was worked off yet.
	slewing time.Duration
	// jump is where the wall clock was when it stepped forward by more than forwardBound, and
	// jumpAt when that was first seen.
	jumped       bool
	jump, jumpAt time.Duration
}

// sample is one look at the clocks, since the start. The wall clock was ahead of the monotonic
// one by least at least, and by most at most.
type sample struct{ passed, least, most time.Duration }

// reading is what a steady clock returned.
type reading struct {
	passed  time.Duration // by the monotonic clock
	elapsed time.Duration // by the generator's clock
	wall    time.Duration // by the wall clock
	behind  time.Duration // how far the wall clock is behind the generator's, where it is believed
}

// newSteadyClock returns a clock that starts at what source shows.
func newSteadyClock(source Clock) (c *steadyClock, err error) {
	defer recoverClock(&err)
	c = &steadyClock{source: source, start: source.Now()}
	_, c.system = source.(systemClock)
	if m, ok := source.(monotonic); ok {
		c.mono, c.first = m, m.Monotonic()
		c.start = c.start.Round(0)
	} else {
		c.bare = c.start == c.start.Round(0) // which takes a monotonic reading away
	}
	return c, nil
}

// recoverClock, deferred, makes a panic of the user's clock an error.
func recoverClock(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%w: %v", ErrClock, v)
	}
}

// now returns the generator's time: never before what it returned before.
func (c *steadyClock) now() time.Time { return c.start.Round(0).Add(c.elapsed()) }

// elapsed returns the generator's time since its start. Where the clock panics it stands still.
func (c *steadyClock) elapsed() time.Duration {
	r, err := c.read()
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.passed + c.offset
	}
	return r.elapsed
}

// read looks at the clocks.
func (c *steadyClock) read() (reading, error) {
	s, err := c.look(false)
	if err != nil {
		return reading{}, err
	}
	c.mu.Lock()
	if c.isDoubtful(s) {
		c.mu.Unlock()
		if s, err = c.look(true); err != nil {
			return reading{}, err
		}
		c.mu.Lock()
	}
	r := c.update(s)
	c.mu.Unlock()
	return r, nil
}

// look reads the wall clock and then the monotonic one, so that a goroutine that is paused
// between the two finds the wall clock behind, and never ahead. A strict look reads the
// monotonic clock before the wall clock too, and so bounds it from both sides.
func (c *steadyClock) look(strict bool) (s sample, err error) {
	if !c.system {
		defer recoverClock(&err)
	}
	var before time.Duration
	if strict {
		before = c.monotonic()
	}
	t := c.source.Now()
	switch {
	case c.mono != nil:
		s.passed = c.monotonic()
	case !c.bare:
		s.passed = t.Sub(c.start)
	}
	wall := since(c.start, t)
	s.least = wall - s.passed
	s.most = s.least
	if strict {
		s.most = max(wall-before, s.least)
	}
	return s, nil
}

// monotonic reads the monotonic clock.
func (c *steadyClock) monotonic() time.Duration {
	switch {
	case c.mono != nil:
		return c.mono.Monotonic() - c.first
	case !c.bare:
		return c.source.Now().Sub(c.start)
	}
	return 0
}

// since returns the time from start to t by the wall clock, within 146 years, so that a sum of two
// does not overflow.
func since(start, t time.Time) time.Duration {
	const most = math.MaxInt64 / 2 / int64(time.Second)
	seconds := min(max(t.Unix()-start.Unix(), -most), most)
	return time.Duration(seconds)*time.Second + time.Duration(t.Nanosecond()-start.Nanosecond())
}

// drift is the most that two clocks drift apart in a time.
func drift(d time.Duration) time.Duration { return max(d, 0) / slewPart }

// isDoubtful reports whether a sample shows the wall clock further back than it was. The lock is
// held.
func (c *steadyClock) isDoubtful(s sample) bool {
	return s.least < c.wall-doubtful-drift(s.passed-c.wallAt)
}

// update takes a sample into account. The lock is held.
func (c *steadyClock) update(s sample) reading {
	if s.passed >= c.passed {
		c.advance(s)
	} // else a later look has come first, and has learned what this one could tell
	return reading{
		passed:  c.passed,
		elapsed: c.passed + c.offset,
		wall:    s.passed + s.least,
		behind:  c.offset - c.wall,
	}
}

// advance takes a sample into account that is not older than the last one. The lock is held.
func (c *steadyClock) advance(s sample) {
	before := c.passed
	c.passed = s.passed
	if !c.believes(s) {
		return
	}
	// Where it was, if the sample allows that: one that was interrupted says little.
	wall := max(s.least, min(c.wall, s.most))
	if back := c.wall - wall; back > rideBound+drift(s.passed-c.wallAt) {
		c.kept += back
	}
	c.wall, c.wallAt = wall, s.passed
	c.offset = max(c.offset, wall) // forward at once
	lead := c.offset - wall
	if c.kept = min(c.kept, lead); lead == c.kept {
		c.slewing = 0
		return
	}
	// Less than what has passed, so that the time does not go back; and by whole parts, so that
	// frequent looks round nothing away.
	c.slewing += s.passed - before
	work := min(c.slewing/slewPart, lead-c.kept)
	c.slewing -= work * slewPart
	if c.offset -= work; work == lead-c.kept {
		c.slewing = 0
	}
}

// believes reports whether a sample's wall clock is believed. The lock is held.
func (c *steadyClock) believes(s sample) bool {
	if c.bare || s.least-c.wall <= forwardBound {
		c.jumped = false
		return true
	}
	if !c.jumped || s.least-c.jump > forwardBound || c.jump-s.least > forwardBound {
		c.jumped, c.jump, c.jumpAt = true, s.least, s.passed
	}
	if s.passed-c.jumpAt < forwardConfirm {
		return false
	}
	c.jumped = false
	return true
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

// left returns how much is left of the unit that lies so far after the start.
func (t *timeline) left(elapsed time.Duration) time.Duration {
	return t.format.unit - (t.into+elapsed)%t.format.unit
}

// away returns how far a unit's beginning lies from a time after the start.
func (t *timeline) away(unit int64, elapsed time.Duration) time.Duration {
	return t.format.time(unit).Sub(t.start.Add(elapsed))
}

package unitclock

import (
	"sync"
	"time"
)

const (
	// maxJump is the longest step forward of the wall clock that is followed at once. A longer one
	// must last for jumpConfirmation, by the monotonic clock: slightly less than a second, so that a
	// generator that reads the clock each second confirms it at the next reading.
	maxJump          = time.Hour
	jumpConfirmation = 900 * time.Millisecond

	// slewDivisor is the fraction of the elapsed time by which a lead over the wall clock is reduced:
	// 1/2000 is 500 ppm, as adjtime does. Oscillators deviate by 100 ppm at most.
	slewDivisor = 2000

	// maxSlewed is the greatest step back of the wall clock that is slewed. After a greater one the
	// lead stays as it is.
	maxSlewed = 10 * time.Second

	// doubtThreshold is how much less than expected a wall clock may show before it is read a
	// second time: the goroutine may have been paused between two readings.
	doubtThreshold = 500 * time.Microsecond
)

// monotonicClock follows the wall clock forward, continues at the pace of the monotonic clock when
// the wall clock steps back, and never goes back. This is the part of invariant 4 that concerns
// time.
type monotonicClock struct {
	source         Source
	isSystem       bool            // source is System
	separate       monotonicSource // nil: the times of source contain a monotonic reading, or there is none
	wallOnly       bool            // there is no monotonic clock
	start          time.Time       // the first reading
	firstMonotonic time.Duration

	// mu is held only for arithmetic, never while source is called.
	mu sync.Mutex
	// monotonic is the latest reading of the monotonic clock, since the start. The generator's
	// time is monotonic + offset; offset is never less than wallLead.
	monotonic, offset time.Duration
	// wallLead is how far the wall clock was ahead of the monotonic clock when it was last
	// accepted, since the start, and acceptedAt is when that was, by the monotonic clock.
	wallLead, acceptedAt time.Duration
	// kept is the part of the lead over the wall clock, offset - wallLead, that is not slewed.
	kept time.Duration
	// slewing is the time that has elapsed and for which no lead was reduced yet.
	slewing time.Duration
	// jumpLead is the wall clock's lead when it stepped forward by more than maxJump, and jumpSeenAt is
	// when that was first seen.
	isJumping            bool
	jumpLead, jumpSeenAt time.Duration
}

// Reading is one reading of a clock. All times are since the clock's start.
type Reading struct {
	Monotonic time.Duration // by the monotonic clock
	Elapsed   time.Duration // by the generator's clock
	Wall      time.Duration // by the wall clock
	Behind    time.Duration // how far the accepted wall clock is behind the generator's clock
}

func newMonotonicClock(source Source) *monotonicClock {
	c := &monotonicClock{source: source, start: source.Now()}
	_, c.isSystem = source.(System)
	if m, ok := source.(monotonicSource); ok {
		c.separate, c.firstMonotonic = m, m.Monotonic()
		c.start = c.start.Round(0)
	} else {
		c.wallOnly = c.start == c.start.Round(0) // Round removes a monotonic reading
	}
	return c
}

// Start returns the first reading of the source, with its monotonic reading if it has one.
func (c *monotonicClock) Start() time.Time { return c.start }

// IsSystem reports whether the source is System.
func (c *monotonicClock) IsSystem() bool { return c.isSystem }

// Now returns the generator's time, which never decreases.
func (c *monotonicClock) Now() time.Time { return c.TimeAt(c.Elapsed()) }

// TimeAt returns the generator's time at a time elapsed since the start.
func (c *monotonicClock) TimeAt(elapsed time.Duration) time.Time {
	return c.start.Round(0).Add(elapsed)
}

// Elapsed returns the generator's time since the start, which never decreases.
func (c *monotonicClock) Elapsed() time.Duration { return c.Read().Elapsed }

// Read reads the clocks.
func (c *monotonicClock) Read() Reading {
	s := c.sample(false)
	c.mu.Lock()
	if c.isDoubtful(s) {
		c.mu.Unlock()
		s = c.sample(true)
		c.mu.Lock()
	}
	r := c.update(s)
	c.mu.Unlock()
	return r
}

// maxDrift returns the most that two clocks drift apart in a time.
func maxDrift(d time.Duration) time.Duration { return max(d, 0) / slewDivisor }

// isDoubtful reports whether a sample shows the wall clock further back than expected. The caller
// holds mu.
func (c *monotonicClock) isDoubtful(s sample) bool {
	return s.minLead < c.wallLead-doubtThreshold-maxDrift(s.monotonic-c.acceptedAt)
}

// update applies a sample and returns the reading. The caller holds mu.
func (c *monotonicClock) update(s sample) Reading {
	if s.monotonic >= c.monotonic {
		c.advance(s)
	} // else a later sample was applied first, and this one has nothing new
	return Reading{
		Monotonic: c.monotonic,
		Elapsed:   c.monotonic + c.offset,
		Wall:      s.monotonic + s.minLead,
		Behind:    c.offset - c.wallLead,
	}
}

// advance applies a sample that is not older than the last one. The caller holds mu.
func (c *monotonicClock) advance(s sample) {
	before := c.monotonic
	c.monotonic = s.monotonic
	if !c.accepts(s) {
		return
	}
	// If the sample allows the last lead, keep it: a sample that was interrupted has wide bounds.
	wall := max(s.minLead, min(c.wallLead, s.maxLead))
	if back := c.wallLead - wall; back > maxSlewed+maxDrift(s.monotonic-c.acceptedAt) {
		c.kept += back
	}
	c.wallLead, c.acceptedAt = wall, s.monotonic
	c.offset = max(c.offset, wall) // a step forward is followed at once
	lead := c.offset - wall
	if c.kept = min(c.kept, lead); lead == c.kept {
		c.slewing = 0
		return
	}
	// The reduction is less than the elapsed time, so the generator's time does not go back. It is
	// counted in whole steps, so that frequent readings lose nothing by rounding.
	c.slewing += s.monotonic - before
	reduction := min(c.slewing/slewDivisor, lead-c.kept)
	c.slewing -= reduction * slewDivisor
	if c.offset -= reduction; reduction == lead-c.kept {
		c.slewing = 0
	}
}

// accepts reports whether the wall clock of a sample is accepted. The caller holds mu.
func (c *monotonicClock) accepts(s sample) bool {
	if c.wallOnly || s.minLead-c.wallLead <= maxJump {
		c.isJumping = false
		return true
	}
	if !c.isJumping || s.minLead-c.jumpLead > maxJump || c.jumpLead-s.minLead > maxJump {
		c.isJumping, c.jumpLead, c.jumpSeenAt = true, s.minLead, s.monotonic
	}
	if s.monotonic-c.jumpSeenAt < jumpConfirmation {
		return false
	}
	c.isJumping = false
	return true
}

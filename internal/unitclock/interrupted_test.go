package unitclock

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
)

// interruptedClock is a clock whose reader is interrupted after it has read the wall clock, once or always.
type interruptedClock struct {
	*fakeclock.Clock
	pause    time.Duration
	always   bool
	readings int
}

func (c *interruptedClock) Now() time.Time {
	now := c.Clock.Now()
	c.readings++
	c.Advance(c.pause)
	if !c.always {
		c.pause = 0
	}
	return now
}

// If the reader was interrupted between the two clocks, the wall clock seems to be behind. If that is by more than half a
// millisecond and the drift, the clocks are read again, and it is not taken for a step back.
func TestInterruptedReading(t *testing.T) {
	const us = time.Microsecond
	for _, tt := range []struct {
		lead     time.Duration // of the wall clock, at the reading before
		at       time.Duration // the reading before, since the start
		since    time.Duration // the time since then
		pause    time.Duration
		readings int
	}{
		{0, 0, 0, 0, 1},
		{0, 0, 0, 400 * us, 1},
		{0, 0, 0, 500_250, 1}, // a half millisecond, and the drift in that time
		{0, 0, 0, 500_251, 2},
		{0, 100 * time.Second, 20 * time.Second, 10_500 * us, 1},
		{0, 100 * time.Second, 20 * time.Second, 10_600 * us, 2},
		{30 * time.Minute, 100 * time.Second, 20 * time.Second, 10_500 * us, 1},
		{30 * time.Minute, 100 * time.Second, 20 * time.Second, 10_600 * us, 2},
		{30 * time.Minute, 100 * time.Second, 20 * time.Second, time.Hour, 2},
	} {
		source := &interruptedClock{Clock: fakeclock.New(noon)}
		c := newClock(t, source)
		source.Advance(tt.at)
		source.Step(tt.lead)
		c.Elapsed()
		source.Advance(tt.since)
		source.pause, source.readings = tt.pause, 0
		r := c.Read()
		if source.readings != tt.readings {
			t.Errorf("%+v: the wall clock was read %d times", tt, source.readings)
		}
		want := tt.at + tt.since + tt.pause + tt.lead
		if tt.readings == 2 && (r.Elapsed != want || r.Behind != 0) || r.Elapsed > want || r.Elapsed < want-tt.pause {
			t.Errorf("%+v: the time is %v after the start, want %v; behind by %v", tt, r.Elapsed, want, r.Behind)
		}
	}
}

// If the reader is interrupted at the second reading too, that is not taken for a step back either, because the wall clock may have
// been read before the interruption.
func TestReadingThatIsInterruptedTwice(t *testing.T) {
	source := &interruptedClock{Clock: fakeclock.New(noon)}
	c := newClock(t, source)
	source.Advance(time.Minute)
	source.pause, source.always, source.readings = time.Second, true, 0
	r := c.Read()
	if want := time.Minute + 2*time.Second; source.readings != 2 || r.Elapsed != want || r.Behind != 0 {
		t.Errorf("Read() = %+v after %d readings; want %v, behind by 0, after 2", r, source.readings, want)
	}
}

// overtakenClock is a clock that calls a function, once, when the monotonic clock has been read.
type overtakenClock struct {
	*fakeclock.Clock
	then func()
}

func (c *overtakenClock) Monotonic() time.Duration {
	now := c.Clock.Monotonic()
	if f := c.then; f != nil {
		c.then = nil
		f()
	}
	return now
}

// Invariant 4: a reading that is overtaken by another one, which ends first, does not set the clock back.
func TestInvariant4OvertakenReading(t *testing.T) {
	source := &overtakenClock{Clock: fakeclock.New(noon)}
	c := newClock(t, source)
	source.Advance(time.Second)
	var later time.Duration
	source.then = func() {
		source.Advance(time.Second)
		later = c.Elapsed()
	}
	if got := c.Elapsed(); later != 2*time.Second || got < later {
		t.Errorf("the time went from %v to %v, want 2s for both", later, got)
	}
}

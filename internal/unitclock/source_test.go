package unitclock

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
)

// panickingClock is a clock that may panic.
type panickingClock struct {
	*fakeclock.Clock
	panics bool
}

func (c *panickingClock) Now() time.Time {
	if c.panics {
		panic("boom")
	}
	return c.Clock.Now()
}

// A panic of the source is one of the call that reads it, and changes nothing.
func TestSourcePanics(t *testing.T) {
	source := &panickingClock{Clock: fakeclock.New(noon)}
	c := newClock(t, source)
	source.Advance(time.Minute)
	source.Step(10 * time.Minute)
	before := c.Elapsed()
	source.panics = true
	source.Advance(time.Minute)
	for range 2 {
		func() {
			defer func() {
				if v := recover(); v != "boom" {
					t.Errorf("Elapsed panics with %v, want the panic of the source", v)
				}
			}()
			c.Elapsed()
		}()
	}
	source.panics = false
	if got := c.Elapsed(); before != 11*time.Minute || got != 12*time.Minute {
		t.Errorf("the time is %v after the start, and %v after the panics; want eleven and twelve minutes", before, got)
	}
}

// steppedSystem is the clock of the operating system, while it shows another year.
type steppedSystem struct{ year int }

func (c *steppedSystem) Now() time.Time {
	now := time.Now()
	if c.year == 0 {
		return now
	}
	return time.Date(c.year, 1, 1, 0, 0, 0, 0, time.UTC) // without a monotonic reading, as package time returns it from 2157 on
}

// A single reading from 2157 or later is a jump, which must last, although it has no monotonic reading.
func TestReadingWithoutMonotonicClock(t *testing.T) {
	source := new(steppedSystem)
	c := newClock(t, source)
	for _, year := range []int{0, 2158, 0, 2400, 0} {
		source.year = year
		if r := c.Read(); r.Monotonic < 0 || r.Monotonic > time.Hour || r.Elapsed < 0 || r.Elapsed > time.Hour {
			t.Errorf("in the year %d: %+v", year, r)
		}
	}
}

// A reading has the times of all three clocks, since the start, whatever the monotonic clock shows at the start.
func TestReadingHasAllClocks(t *testing.T) {
	fake := fakeclock.New(noon)
	fake.Advance(time.Hour)
	c := newClock(t, fake)
	fake.Advance(time.Minute)
	fake.Step(-time.Hour)
	r := c.Read()
	if want := (Reading{Monotonic: time.Minute, Elapsed: time.Minute, Wall: time.Minute - time.Hour, Behind: time.Hour}); r != want {
		t.Errorf("Read() = %+v; want %+v", r, want)
	}
}

// Units and the times until they start and end, also of times before the start. The clock starts in the
// middle of a unit of a second.
func TestUnitsOfATime(t *testing.T) {
	c := newClock(t, fakeclock.New(noon))
	start := c.Unit()
	for _, tt := range []struct {
		elapsed   time.Duration
		unit      int64
		untilEnd  time.Duration
		untilUnit time.Duration // until the unit start + 2 begins
	}{
		{0, start, 500 * time.Millisecond, 1500 * time.Millisecond},
		{500*time.Millisecond - 1, start, 1, time.Second + 1},
		{500 * time.Millisecond, start + 1, time.Second, time.Second},
		{time.Minute, start + 60, 500 * time.Millisecond, 1500*time.Millisecond - time.Minute},
		{-500 * time.Millisecond, start, time.Second, 2 * time.Second},
		{-500*time.Millisecond - 1, start - 1, 0, 2*time.Second + 1},
		{-1500 * time.Millisecond, start - 1, 0, 3 * time.Second},
	} {
		if got := c.UnitAt(tt.elapsed); got != tt.unit {
			t.Errorf("UnitAt(%v) = %d, want %d", tt.elapsed, got-start, tt.unit-start)
		}
		if got := c.Until(start+2, tt.elapsed); got != tt.untilUnit {
			t.Errorf("Until(start + 2, %v) = %v, want %v", tt.elapsed, got, tt.untilUnit)
		}
		if got := c.UntilUnitEnds(tt.elapsed); tt.untilEnd > 0 && got != tt.untilEnd {
			t.Errorf("UntilUnitEnds(%v) = %v, want %v", tt.elapsed, got, tt.untilEnd)
		}
	}
}

package unitclock

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
)

func TestStepsBackAreTolerated(t *testing.T) {
	fake := fakeclock.New(noon)
	c := newClock(t, fake)
	expect := func(want time.Duration) {
		t.Helper()
		if got := c.Now().Sub(noon); got != want {
			t.Errorf("the time is %v after the start, want %v", got, want)
		}
	}
	expect(0)
	fake.Advance(time.Second)
	expect(time.Second)
	fake.Step(-time.Hour) // ridden out: the time goes on at the monotonic clock's pace
	expect(time.Second)
	fake.Advance(time.Second)
	expect(2 * time.Second)
	fake.Step(90 * time.Minute) // followed: half an hour on from where it was without the first step
	expect(2 * time.Second)     // when it lasts
	fake.Advance(time.Second)
	expect(30*time.Minute + 3*time.Second)
	fake.Step(-3 * time.Hour)
	fake.Advance(time.Second)
	expect(30*time.Minute + 4*time.Second)
}

// The same where the clock is looked at every 10 s, in both directions of the drift.
func TestDriftInSmallSteps(t *testing.T) {
	for _, ppm := range []time.Duration{50, -50} {
		fake := fakeclock.New(noon)
		c := newClock(t, fake)
		for range 30 * 24 * 360 {
			fake.Advance(10 * time.Second)
			fake.Step(-10 * time.Second * ppm / 1_000_000)
			c.Now()
		}
		if lead := c.Now().Sub(fake.Now()); lead < 0 || lead > time.Millisecond {
			t.Errorf("a monotonic clock that is %d ppm fast: after 30 days the time is %v ahead", ppm, lead)
		}
	}
}

// A small lead is worked off by 500 ppm, no faster and no slower, however often the clock is looked at.
func TestLeadIsReducedSlowly(t *testing.T) {
	for _, every := range []time.Duration{time.Second, 700 * time.Nanosecond, 1234567 * time.Nanosecond} {
		fake := fakeclock.New(noon)
		c := newClock(t, fake)
		back := 500 * every // a million looks work it off, at 500 ppm
		if back > maxSlewed {
			back = maxSlewed
		}
		fake.Step(-back)
		before := c.Elapsed()
		if before != 0 {
			t.Fatalf("the step is not ridden out: %v", before)
		}
		for n := int64(1); c.Now().After(fake.Now()); n++ {
			fake.Advance(every)
			now := c.Elapsed()
			passed := time.Duration(n) * every
			if want := passed - min(passed/slewDivisor, back); now != want || now < before {
				t.Fatalf("%v after a step back by %v the time is %v, before it %v, want %v", passed, back, now, before, want)
			}
			before = now
		}
		if got, want := before, back*slewDivisor; got < want-back || got > want {
			t.Errorf("looked at each %v: a step back by %v took %v", every, back, got)
		}
	}
}

// What an idle time could have worked off is not used for a lead that comes after it.
func TestInvariant4IdleTimeReducesNoLaterLead(t *testing.T) {
	fake := fakeclock.New(noon)
	c := newClock(t, fake)
	fake.Step(-time.Second)
	c.Elapsed()
	fake.Advance(10 * time.Hour) // more than enough
	before := c.Elapsed()
	fake.Step(-5 * time.Second)
	fake.Advance(time.Second)
	if now, want := c.Elapsed(), before+time.Second-time.Second/slewDivisor; now != want {
		t.Errorf("the time went from %v to %v, want %v", before, now, want)
	}
}

// A great step back is ridden out for as long as it lasts, and the drift on top of it is worked off.
func TestGreatStepsBackAreKept(t *testing.T) {
	for _, back := range []time.Duration{maxSlewed + time.Second, time.Hour, 72 * time.Hour} {
		for _, ppm := range []time.Duration{0, 50} {
			fake := fakeclock.New(noon)
			c := newClock(t, fake)
			fake.Step(-back)
			for range 24 * 60 {
				c.Now()
				fake.Advance(time.Minute)
				fake.Step(-time.Minute * ppm / 1_000_000)
			}
			lead := c.Now().Sub(fake.Now())
			if ppm == 0 && lead != back || lead < back || lead > back+10*time.Millisecond {
				t.Errorf("a day after a step back by %v the time is %v ahead, the drift being %d ppm", back, lead, ppm)
			}
			fake.Step(back) // which is over
			if lead := c.Now().Sub(fake.Now()); lead > 10*time.Millisecond {
				t.Errorf("the time is %v ahead when the step back by %v is over", lead, back)
			}
		}
	}
}

// A long step forward is followed when it has lasted for a second, a shorter one at once.
func TestLongStepsForwardMustLast(t *testing.T) {
	const year = 365 * 24 * time.Hour
	type step struct{ by, pass, want time.Duration }
	for name, steps := range map[string][]step{
		"short":           {{time.Hour, 0, time.Hour}},
		"gone":            {{year, 0, 0}, {0, 899 * time.Millisecond, 899 * time.Millisecond}, {-year, 5 * time.Second, 5899 * time.Millisecond}},
		"lasts":           {{year, 0, 0}, {0, jumpConfirmation, year + jumpConfirmation}},
		"comes again":     {{year, 0, 0}, {-year, time.Second, time.Second}, {year, time.Second, 2 * time.Second}},
		"another":         {{year, 0, 0}, {year, time.Second, time.Second}, {-2 * year, time.Second, 2 * time.Second}},
		"another lasts":   {{year, 0, 0}, {year, time.Second, time.Second}, {0, time.Second, 2*year + 2*time.Second}},
		"back from there": {{year, 0, 0}, {0, time.Second, year + time.Second}, {-year, time.Second, year + 2*time.Second}},
		"after a ride":    {{-2 * time.Hour, 0, 0}, {2 * time.Hour, 0, 0}, {0, time.Second, time.Second}},
		"beyond numbers":  {{years146, 0, 0}, {years146, 0, 0}, {-2 * years146, time.Second, time.Second}},
	} {
		fake := fakeclock.New(noon)
		c := newClock(t, fake)
		for n, s := range steps {
			fake.Step(s.by)
			fake.Advance(s.pass)
			if got := c.Elapsed(); got != s.want {
				t.Errorf("%s, step %d: the time is %v after the start, want %v", name, n, got, s.want)
			}
		}
	}
}

const years146 = 146 * 365 * 24 * time.Hour

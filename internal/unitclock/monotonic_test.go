package unitclock

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
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
	fake.Step(-time.Hour) // tolerated: the time continues at the pace of the monotonic clock
	expect(time.Second)
	fake.Advance(time.Second)
	expect(2 * time.Second)
	fake.Step(90 * time.Minute) // followed: half an hour after the time before the first step
	expect(2 * time.Second)     // but only if it lasts
	fake.Advance(time.Second)
	expect(30*time.Minute + 3*time.Second)
	fake.Step(-3 * time.Hour)
	fake.Advance(time.Second)
	expect(30*time.Minute + 4*time.Second)
}

// The drift of a monotonic clock, in both directions, is reduced when the clock is read every 10 s.
func TestDriftInSmallSteps(t *testing.T) {
	days := testkit.Amount(3, 30, 30)
	for _, ppm := range []time.Duration{50, -50} {
		fake := fakeclock.New(noon)
		c := newClock(t, fake)
		for range days * 24 * 360 {
			fake.Advance(10 * time.Second)
			fake.Step(-10 * time.Second * ppm / 1_000_000)
			c.Now()
		}
		if lead := c.Now().Sub(fake.Now()); lead < 0 || lead > time.Millisecond {
			t.Errorf("a monotonic clock that is %d ppm fast: after %d days the time is %v ahead", ppm, days, lead)
		}
	}
}

// A small lead is reduced by 500 ppm, neither faster nor slower, however often the clock is read.
func TestLeadIsReducedSlowly(t *testing.T) {
	readings := testkit.Amount[time.Duration](20_000, 1_000_000, 1_000_000)
	for _, every := range []time.Duration{time.Second, 700 * time.Nanosecond, 1234567 * time.Nanosecond} {
		fake := fakeclock.New(noon)
		c := newClock(t, fake)
		back := min(readings*every/slewDivisor, maxSlewed) // the readings reduce it, at 500 ppm
		fake.Step(-back)
		before := c.Elapsed()
		if before != 0 {
			t.Fatalf("the step back is not tolerated: %v", before)
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
			t.Errorf("read each %v: a step back by %v took %v", every, back, got)
		}
	}
}

// Time that passed before a lead began does not count for its reduction.
func TestInvariant4IdleTimeReducesNoLaterLead(t *testing.T) {
	fake := fakeclock.New(noon)
	c := newClock(t, fake)
	fake.Step(-time.Second)
	c.Elapsed()
	fake.Advance(10 * time.Hour) // more than is necessary to reduce it
	before := c.Elapsed()
	fake.Step(-5 * time.Second)
	fake.Advance(time.Second)
	if now, want := c.Elapsed(), before+time.Second-time.Second/slewDivisor; now != want {
		t.Errorf("the time went from %v to %v, want %v", before, now, want)
	}
}

// The same while a great step back is tolerated.
func TestInvariant4IdleTimeReducesNoLaterLeadAfterAGreatStepBack(t *testing.T) {
	fake := fakeclock.New(noon)
	c := newClock(t, fake)
	fake.Step(-time.Hour)
	c.Elapsed()
	fake.Step(-time.Second)
	c.Elapsed()
	fake.Advance(10 * time.Hour) // more than is necessary to reduce the second one
	before := c.Elapsed()
	fake.Step(-5 * time.Second)
	fake.Advance(time.Second)
	if now, want := c.Elapsed(), before+time.Second-time.Second/slewDivisor; now != want {
		t.Errorf("the time went from %v to %v, want %v", before, now, want)
	}
}

// A step back of up to ten seconds, and of what two clocks may have drifted apart since the last reading, is reduced.
func TestGreatestStepBackThatIsReduced(t *testing.T) {
	for _, tt := range []struct {
		since time.Duration // the last reading; the one before was 1000 s earlier
		back  time.Duration
		kept  time.Duration
	}{
		{time.Nanosecond, maxSlewed, 0},
		{time.Nanosecond, maxSlewed + 1, maxSlewed + 1},
		{1000 * time.Second, maxSlewed + 500*time.Millisecond, 0},
		{1000 * time.Second, maxSlewed + 501*time.Millisecond, maxSlewed + 501*time.Millisecond},
		{100 * time.Second, maxSlewed + 50*time.Millisecond, 0},
		{100 * time.Second, maxSlewed + 51*time.Millisecond, maxSlewed + 51*time.Millisecond},
	} {
		fake := fakeclock.New(noon)
		c := newClock(t, fake)
		fake.Advance(1000 * time.Second)
		c.Now()
		fake.Advance(tt.since)
		fake.Step(-tt.back)
		c.Now()
		fake.Advance(10 * time.Hour) // more than is necessary to reduce it
		if lead := c.Now().Sub(fake.Now()); lead != tt.kept {
			t.Errorf("%v after a reading, a step back by %v: ten hours later the time is %v ahead, want %v", tt.since, tt.back, lead, tt.kept)
		}
	}
}

// A great step back is tolerated for as long as it lasts. Drift that is added to it is reduced.
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
				t.Errorf("a day after a step back by %v the time is %v ahead, with a drift of %d ppm", back, lead, ppm)
			}
			fake.Step(back) // back to the true time
			if lead := c.Now().Sub(fake.Now()); lead > 10*time.Millisecond {
				t.Errorf("the time is %v ahead after the end of a step back by %v", lead, back)
			}
		}
	}
}

// A step forward of more than an hour is followed after it has lasted for about a second, a shorter one
// at once.
func TestLongStepsForwardMustLast(t *testing.T) {
	const year = 365 * 24 * time.Hour
	type step struct{ by, pass, want time.Duration }
	for name, steps := range map[string][]step{
		"short":                  {{time.Hour, 0, time.Hour}},
		"gone":                   {{year, 0, 0}, {0, 899 * time.Millisecond, 899 * time.Millisecond}, {-year, 5 * time.Second, 5899 * time.Millisecond}},
		"lasts":                  {{year, 0, 0}, {0, jumpConfirmation, year + jumpConfirmation}},
		"repeated":               {{year, 0, 0}, {-year, time.Second, time.Second}, {year, time.Second, 2 * time.Second}},
		"another":                {{year, 0, 0}, {year, time.Second, time.Second}, {-2 * year, time.Second, 2 * time.Second}},
		"another that lasts":     {{year, 0, 0}, {year, time.Second, time.Second}, {0, time.Second, 2*year + 2*time.Second}},
		"a step back later":      {{year, 0, 0}, {0, time.Second, year + time.Second}, {-year, time.Second, year + 2*time.Second}},
		"the end of a step back": {{-2 * time.Hour, 0, 0}, {2 * time.Hour, 0, 0}, {0, time.Second, time.Second}},
		"an hour more":           {{2 * time.Hour, 0, 0}, {time.Hour, time.Second, 3*time.Hour + time.Second}},
		"more than an hour more": {{2 * time.Hour, 0, 0}, {time.Hour + 1, time.Second, time.Second}, {0, time.Second, 3*time.Hour + 2*time.Second + 1}},
		"an hour less":           {{3 * time.Hour, 0, 0}, {-time.Hour, time.Second, 2*time.Hour + time.Second}},
		"more than an hour less": {{3 * time.Hour, 0, 0}, {-time.Hour - 1, time.Second, time.Second}, {0, time.Second, 2*time.Hour + 2*time.Second - 1}},
		"more than 146 years":    {{years146, 0, 0}, {years146, 0, 0}, {-2 * years146, time.Second, time.Second}},
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

package uid

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 500_000_000, time.UTC)

func TestSteadyClockRidesOutStepsBack(t *testing.T) {
	fake := fakeclock.New(noon)
	c := newSteadyClock(fake)
	expect := func(want time.Duration) {
		t.Helper()
		if got := c.now().Sub(noon); got != want {
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
	fake.Step(2 * time.Hour) // followed: an hour on from where it was without the first step
	expect(time.Hour + 2*time.Second)
	fake.Step(-3 * time.Hour)
	fake.Advance(time.Second)
	expect(time.Hour + 3*time.Second)
}

// bareClock has no monotonic clock.
type bareClock struct{ *fakeclock.Clock }

func (c bareClock) Monotonic() {} // not the method that a steady clock looks for

func TestSteadyClockWithoutAMonotonicOne(t *testing.T) {
	fake := fakeclock.New(noon)
	c := newSteadyClock(bareClock{fake})
	fake.Advance(time.Minute)
	if got := c.now().Sub(noon); got != time.Minute {
		t.Errorf("the time is %v after the start, want a minute", got)
	}
	fake.Step(-time.Hour)
	if got := c.now().Sub(noon); got != time.Minute {
		t.Errorf("after a step back it is %v, want it to stand still", got)
	}
	fake.Step(2 * time.Hour)
	if got := c.now().Sub(noon); got != time.Hour+time.Minute {
		t.Errorf("after a step on it is %v", got)
	}
}

// Invariant 4's part of the clock: under random steps, of the real monotonic clock's
// readings as well as of a fake's, neither the time nor the unit ever goes back.
func TestInvariant4ClockNeverGoesBack(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		fake := fakeclock.New(noon)
		var source Clock = fake
		if seed%2 == 1 {
			source = bareClock{fake}
		}
		line := newTimeline(newSteadyClock(source), Format{epoch: DefaultEpoch(), unit: time.Second})
		at, unit := line.now(), line.unit()
		if want := line.format.delta(at); unit != want {
			t.Fatalf("seed %d: the unit is %d, want %d", seed, unit, want)
		}
		for range 1000 {
			fake.Advance(time.Duration(rnd.Int64N(int64(2 * time.Second))))
			if rnd.IntN(3) == 0 {
				fake.Step(time.Duration(rnd.Int64N(int64(48*time.Hour))) - 24*time.Hour)
			}
			now, u := line.now(), line.unit()
			if now.Before(at) || u < unit || u != line.format.delta(now) {
				t.Fatalf("seed %d: time went from %v (unit %d) to %v (unit %d)", seed, at, unit, now, u)
			}
			at, unit = now, u
		}
	}
}

func TestSystemClockAgreesWithTheWallClock(t *testing.T) {
	c := newSteadyClock(systemClock{})
	for range 100 {
		before, now, after := time.Now(), c.now(), time.Now()
		if now.Before(before.Add(-time.Second)) || now.After(after.Add(time.Second)) {
			t.Fatalf("the time is %v, between %v and %v by the wall clock", now, before, after)
		}
	}
}

package uid

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// A monotonic clock that is 50 ppm faster than the wall clock, as on systems that do not slew it,
// does not take UIDs away from the wall clock, nor is it a step back; and a static worker ID makes no
// UID again after a restart.
func TestDriftIsReduced(t *testing.T) {
	fake := fakeclock.New(noon)
	d := newDefault(t, workerassign.Static(1), WithClock(fake), WithTakePolicy(Fail))
	fake.Advance(time.Second)
	var last ID
	for range 30 * 24 {
		fake.Advance(time.Hour)
		fake.Step(-time.Hour * 50 / 1_000_000)
		last = next(t, d)
	}
	if ahead := d.Parse(last).Time.Sub(fake.Now()); ahead > time.Second {
		t.Errorf("after 30 days UIDs are %v ahead of the wall clock", ahead)
	}
	if n := d.Stats().Rollbacks; n != 0 {
		t.Errorf("%d steps back were counted", n)
	}
	seen := map[ID]bool{}
	for range 130 {
		seen[next(t, d)] = true
		fake.Advance(time.Second)
	}
	d.Close()
	e := newDefault(t, workerassign.Static(1), WithClock(fake))
	for range 130 {
		fake.Advance(time.Second)
		if id := next(t, e); seen[id] {
			t.Fatalf("%v came again after a restart", e.Parse(id))
		}
	}
}

// D2: a clock that shows a time beyond the end of the time bits for a moment exhausts no generator.
func TestD2OneWrongReadingExhaustsNothing(t *testing.T) {
	for _, mode := range modes {
		for _, policy := range []RollbackPolicy{RideOut(), WaitOut(time.Hour), Refuse()} {
			fake := fakeclock.New(noon)
			g, err := mode.make(context.Background(), new(disposableAssigner), WithClock(fake), WithLayout(layout(t, 28, 20, 6)),
				WithBoostPower(0), WithRollback(policy))
			if err != nil {
				t.Fatal(err)
			}
			take := func() {
				t.Helper()
				for range 50 {
					id, err := g.Next()
					if err != nil {
						t.Fatalf("%s, %v: Next() = %v", mode.name, policy, err)
					}
					if at := g.Parse(id).Time; at.After(noon.Add(time.Minute)) {
						t.Fatalf("%s, %v: %v at %v", mode.name, policy, g.Parse(id), noon)
					}
				}
			}
			take()
			fake.Step(100 * 365 * 24 * time.Hour)
			fake.Advance(500 * time.Millisecond)
			take()
			fake.Step(-100 * 365 * 24 * time.Hour)
			fake.Advance(time.Second)
			take()
			g.Close()
		}
	}
}

// pausedClock is a clock whose reader is paused, now and then, after it has read the wall clock.
type pausedClock struct {
	*fakeclock.Clock
	pause func() time.Duration
}

func (c *pausedClock) Now() time.Time {
	t := c.Clock.Now()
	c.Advance(c.pause())
	return t
}

// A goroutine that is paused between the readings of the two clocks finds no step back; one that
// is, is counted once.
func TestPauseBetweenReadingsIsNoStep(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	clock := &pausedClock{fakeclock.New(noon), func() time.Duration { return 0 }}
	d := newDefault(t, new(disposableAssigner), WithTwitterLayout(), WithClock(clock))
	clock.pause = func() time.Duration {
		if rnd.IntN(4) > 0 {
			return 0
		}
		return time.Duration(rnd.IntN(50)) * time.Millisecond // sometimes at the second look too
	}
	for range 10_000 {
		next(t, d)
		clock.Advance(time.Duration(rnd.IntN(2_000_000)))
	}
	if n := d.Stats().Rollbacks; n != 0 {
		t.Errorf("%d steps back were counted, and there was none", n)
	}
	clock.Step(-3 * time.Millisecond)
	clock.pause = func() time.Duration { return 0 }
	next(t, d)
	next(t, d)
	if n := d.Stats().Rollbacks; n != 1 {
		t.Errorf("%d steps back were counted, there was one", n)
	}
}

// wrongOnce is a clock that shows another time at one reading.
type wrongOnceClock struct {
	*fakeclock.Clock
	error atomic.Int64
}

func (c *wrongOnceClock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.error.Swap(0))) }

// One wrong reading is no step back, under any policy.
func TestOneWrongReadingIsNoStepBack(t *testing.T) {
	for _, policy := range []RollbackPolicy{RideOut(), WaitOut(time.Second), Refuse()} {
		clock := &wrongOnceClock{Clock: fakeclock.New(noon)}
		d := newDefault(t, new(disposableAssigner), WithClock(clock), WithRollback(policy))
		next(t, d)
		clock.Advance(time.Second)
		next(t, d)
		clock.error.Store(int64(-time.Hour))
		if _, err := d.Next(); err != nil {
			t.Errorf("%v: Next() = %v", policy, err)
		}
		if n := d.Stats().Rollbacks; n != 0 {
			t.Errorf("%v: %d steps back were counted", policy, n)
		}
	}
}

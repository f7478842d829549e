package uid

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// A monotonic clock that is 50 ppm faster than the wall clock, as on systems that do not slew it,
// neither moves UIDs away from the wall clock nor counts as a step back. A static worker ID generates
// no duplicate after a restart.
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
		t.Errorf("%d steps back were counted, want 0", n)
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
			t.Fatalf("%v was returned again after a restart", e.Parse(id))
		}
	}
}

// D2: one clock reading beyond the end of the time bits exhausts no generator.
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
			if mode.name == "Cached" {
				g.Health() // reads the clock: the padder may have read the wrong time, and not yet how much time has passed
			}
			fake.Advance(time.Second)
			take()
			g.Close()
		}
	}
}

// pausedClock is a clock whose reader may be paused after it has read the wall clock.
type pausedClock struct {
	*fakeclock.Clock
	pause func() time.Duration
}

func (c *pausedClock) Now() time.Time {
	t := c.Clock.Now()
	c.Advance(c.pause())
	return t
}

// A pause between the readings of the two clocks is not counted as a step back. A real step back is
// counted once.
func TestPauseBetweenReadingsIsNoStep(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	clock := &pausedClock{fakeclock.New(noon), func() time.Duration { return 0 }}
	d := newDefault(t, new(disposableAssigner), WithTwitterLayout(), WithClock(clock))
	clock.pause = func() time.Duration {
		if rnd.IntN(4) > 0 {
			return 0
		}
		return time.Duration(rnd.IntN(50)) * time.Millisecond // sometimes also at the second reading
	}
	for range 10_000 {
		next(t, d)
		clock.Advance(time.Duration(rnd.IntN(2_000_000)))
	}
	if n := d.Stats().Rollbacks; n != 0 {
		t.Errorf("%d steps back were counted, want 0", n)
	}
	clock.Step(-3 * time.Millisecond)
	clock.pause = func() time.Duration { return 0 }
	next(t, d)
	next(t, d)
	if n := d.Stats().Rollbacks; n != 1 {
		t.Errorf("%d steps back were counted, want 1", n)
	}
}

// wrongOnceClock is a clock with an error in one reading.
type wrongOnceClock struct {
	*fakeclock.Clock
	error atomic.Int64
}

func (c *wrongOnceClock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.error.Swap(0))) }

// One wrong reading is not a step back, under any policy.
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
			t.Errorf("%v: %d steps back were counted, want 0", policy, n)
		}
	}
}

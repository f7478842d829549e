package uid

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 500_000_000, time.UTC)

// steady makes a steady clock.
func steady(tb testing.TB, source Clock) *steadyClock {
	tb.Helper()
	c, err := newSteadyClock(source)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestSteadyClockRidesOutStepsBack(t *testing.T) {
	fake := fakeclock.New(noon)
	c := steady(t, fake)
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
	fake.Step(90 * time.Minute) // followed: half an hour on from where it was without the first step
	expect(2 * time.Second)     // when it lasts
	fake.Advance(time.Second)
	expect(30*time.Minute + 3*time.Second)
	fake.Step(-3 * time.Hour)
	fake.Advance(time.Second)
	expect(30*time.Minute + 4*time.Second)
}

// bareClock has no monotonic clock.
type bareClock struct{ *fakeclock.Clock }

func (c bareClock) Monotonic() {} // not the method that a steady clock looks for

func TestSteadyClockWithoutAMonotonicOne(t *testing.T) {
	fake := fakeclock.New(noon)
	c := steady(t, bareClock{fake})
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
		line := newTimeline(steady(t, source), Format{epoch: DefaultEpoch(), unit: time.Second})
		at, unit := line.now(), line.unit()
		if want := line.format.delta(at); unit != want {
			t.Fatalf("seed %d: the unit is %d, want %d", seed, unit, want)
		}
		for range 1000 {
			fake.Advance(time.Duration(rnd.Int64N(int64(2 * time.Second))))
			switch rnd.IntN(12) {
			case 0, 1, 2, 3:
				fake.Step(time.Duration(rnd.Int64N(int64(48*time.Hour))) - 24*time.Hour)
			case 4, 5: // small enough to be worked off
				fake.Step(-time.Duration(rnd.Int64N(int64(rideBound))))
			case 6: // long enough to work it off at once
				fake.Advance(time.Duration(rnd.Int64N(int64(24 * time.Hour))))
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
	c := steady(t, systemClock{})
	for range 100 {
		before, now, after := time.Now(), c.now(), time.Now()
		if now.Before(before.Add(-time.Second)) || now.After(after.Add(time.Second)) {
			t.Fatalf("the time is %v, between %v and %v by the wall clock", now, before, after)
		}
	}
}

// slowToReturn is a clock that lets others run when it has been read.
type slowToReturn struct{ *fakeclock.Clock }

func (c slowToReturn) Monotonic() time.Duration {
	defer runtime.Gosched()
	return c.Clock.Monotonic()
}

// The same for many goroutines: no reading that begins after another has ended is before it.
func TestInvariant4ClockOfManyGoroutines(t *testing.T) {
	fake := fakeclock.New(noon)
	c := steady(t, slowToReturn{fake})
	var latest atomic.Int64
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(n), 3))
			for range 5_000 {
				before := latest.Load()
				got := int64(c.elapsed())
				if got < before {
					t.Errorf("the time went from %v to %v", time.Duration(before), time.Duration(got))
					return
				}
				for got > before && !latest.CompareAndSwap(before, got) {
					before = latest.Load()
				}
				switch rnd.IntN(20) {
				case 0:
					fake.Step(time.Duration(rnd.Int64N(int64(4*time.Hour))) - 2*time.Hour)
				case 1:
					fake.Step(time.Duration(rnd.Int64N(int64(4*time.Second))) - 2*time.Second)
				default:
					fake.Advance(time.Duration(rnd.Int64N(int64(time.Second))))
				}
			}
		})
	}
	all.Wait()
}

// A monotonic clock that is 50 ppm faster than the wall clock, as on systems that do not slew it,
// does not take UIDs away from the wall clock, nor is it a step back; and a static worker ID makes no
// UID again after a restart.
func TestDriftIsWorkedOff(t *testing.T) {
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

// The same where the clock is looked at every 10 s, in both directions of the drift.
func TestDriftInSmallSteps(t *testing.T) {
	for _, ppm := range []time.Duration{50, -50} {
		fake := fakeclock.New(noon)
		c := steady(t, fake)
		for range 30 * 24 * 360 {
			fake.Advance(10 * time.Second)
			fake.Step(-10 * time.Second * ppm / 1_000_000)
			c.now()
		}
		if lead := c.now().Sub(fake.Now()); lead < 0 || lead > time.Millisecond {
			t.Errorf("a monotonic clock that is %d ppm fast: after 30 days the time is %v ahead", ppm, lead)
		}
	}
}

// A small lead is worked off by 500 ppm, no faster and no slower, however often the clock is looked at.
func TestLeadIsWorkedOffSlowly(t *testing.T) {
	for _, every := range []time.Duration{time.Second, 700 * time.Nanosecond, 1234567 * time.Nanosecond} {
		fake := fakeclock.New(noon)
		c := steady(t, fake)
		back := 500 * every // a million looks work it off, at 500 ppm
		if back > rideBound {
			back = rideBound
		}
		fake.Step(-back)
		before := c.elapsed()
		if before != 0 {
			t.Fatalf("the step is not ridden out: %v", before)
		}
		for n := int64(1); c.now().After(fake.Now()); n++ {
			fake.Advance(every)
			now := c.elapsed()
			passed := time.Duration(n) * every
			if want := passed - min(passed/slewPart, back); now != want || now < before {
				t.Fatalf("%v after a step back by %v the time is %v, before it %v, want %v", passed, back, now, before, want)
			}
			before = now
		}
		if got, want := before, back*slewPart; got < want-back || got > want {
			t.Errorf("looked at each %v: a step back by %v took %v", every, back, got)
		}
	}
}

// What an idle time could have worked off is not used for a lead that comes after it.
func TestInvariant4IdleTimeIsNoCredit(t *testing.T) {
	fake := fakeclock.New(noon)
	c := steady(t, fake)
	fake.Step(-time.Second)
	c.elapsed()
	fake.Advance(10 * time.Hour) // more than enough
	before := c.elapsed()
	fake.Step(-5 * time.Second)
	fake.Advance(time.Second)
	if now, want := c.elapsed(), before+time.Second-time.Second/slewPart; now != want {
		t.Errorf("the time went from %v to %v, want %v", before, now, want)
	}
}

// A great step back is ridden out for as long as it lasts, and the drift on top of it is worked off.
func TestGreatStepsBackAreKept(t *testing.T) {
	for _, back := range []time.Duration{rideBound + time.Second, time.Hour, 72 * time.Hour} {
		for _, ppm := range []time.Duration{0, 50} {
			fake := fakeclock.New(noon)
			c := steady(t, fake)
			fake.Step(-back)
			for range 24 * 60 {
				c.now()
				fake.Advance(time.Minute)
				fake.Step(-time.Minute * ppm / 1_000_000)
			}
			lead := c.now().Sub(fake.Now())
			if ppm == 0 && lead != back || lead < back || lead > back+10*time.Millisecond {
				t.Errorf("a day after a step back by %v the time is %v ahead, the drift being %d ppm", back, lead, ppm)
			}
			fake.Step(back) // which is over
			if lead := c.now().Sub(fake.Now()); lead > 10*time.Millisecond {
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
		"lasts":           {{year, 0, 0}, {0, forwardConfirm, year + forwardConfirm}},
		"comes again":     {{year, 0, 0}, {-year, time.Second, time.Second}, {year, time.Second, 2 * time.Second}},
		"another":         {{year, 0, 0}, {year, time.Second, time.Second}, {-2 * year, time.Second, 2 * time.Second}},
		"another lasts":   {{year, 0, 0}, {year, time.Second, time.Second}, {0, time.Second, 2*year + 2*time.Second}},
		"back from there": {{year, 0, 0}, {0, time.Second, year + time.Second}, {-year, time.Second, year + 2*time.Second}},
		"after a ride":    {{-2 * time.Hour, 0, 0}, {2 * time.Hour, 0, 0}, {0, time.Second, time.Second}},
		"beyond numbers":  {{math146, 0, 0}, {math146, 0, 0}, {-2 * math146, time.Second, time.Second}},
	} {
		fake := fakeclock.New(noon)
		c := steady(t, fake)
		for n, s := range steps {
			fake.Step(s.by)
			fake.Advance(s.pass)
			if got := c.elapsed(); got != s.want {
				t.Errorf("%s, step %d: the time is %v after the start, want %v", name, n, got, s.want)
			}
		}
	}
}

const math146 = 146 * 365 * 24 * time.Hour

// D2: a clock that shows a time beyond the end of the time bits for a moment exhausts no generator.
func TestD2OneWrongReading(t *testing.T) {
	for _, mode := range modes {
		for _, policy := range []RollbackPolicy{RideOut(), WaitOut(time.Hour), Refuse()} {
			fake := fakeclock.New(noon)
			g, err := mode.make(context.Background(), new(numbers), WithClock(fake), WithLayout(layout(t, 28, 20, 6)),
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
	d := newDefault(t, new(numbers), WithTwitterLayout(), WithClock(clock))
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
type wrongOnce struct {
	*fakeclock.Clock
	by atomic.Int64
}

func (c *wrongOnce) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.by.Swap(0))) }

// One wrong reading is no step back, under any policy.
func TestOneWrongReadingIsNoStepBack(t *testing.T) {
	for _, policy := range []RollbackPolicy{RideOut(), WaitOut(time.Second), Refuse()} {
		clock := &wrongOnce{Clock: fakeclock.New(noon)}
		d := newDefault(t, new(numbers), WithClock(clock), WithRollback(policy))
		next(t, d)
		clock.Advance(time.Second)
		next(t, d)
		clock.by.Store(int64(-time.Hour))
		if _, err := d.Next(); err != nil {
			t.Errorf("%v: Next() = %v", policy, err)
		}
		if n := d.Stats().Rollbacks; n != 0 {
			t.Errorf("%v: %d steps back were counted", policy, n)
		}
	}
}

// hookedClock calls a function at each reading.
type hookedClock struct {
	*fakeclock.Clock
	hook atomic.Pointer[func()]
}

func (c *hookedClock) Now() time.Time {
	if hook := c.hook.Load(); hook != nil {
		(*hook)()
	}
	return c.Clock.Now()
}

// A clock that panics is an error of the constructors and of Next, and nothing more.
func TestClockThatPanics(t *testing.T) {
	panics := func() { panic("no battery") }
	for _, mode := range modes {
		clock := &hookedClock{Clock: fakeclock.New(noon)}
		clock.hook.Store(&panics)
		a := new(numbers)
		if _, err := mode.make(context.Background(), a, WithClock(clock)); !errors.Is(err, ErrClock) || a.next.Load() != 0 {
			t.Errorf("%s: the constructor returned %v, and spent %d worker IDs", mode.name, err, a.next.Load())
		}
		clock.hook.Store(nil)
		g, err := mode.make(context.Background(), a, WithClock(clock))
		if err != nil {
			t.Fatal(err)
		}
		before := next(t, g)
		clock.hook.Store(&panics)
		id, err := g.Next()
		if mode.name == "Default" && (!errors.Is(err, ErrClock) || id != 0) {
			t.Errorf("%s: Next() = %d, %v; want ErrClock", mode.name, id, err)
		}
		stats(g)
		clock.hook.Store(nil)
		if id := next(t, g); id <= before {
			t.Errorf("%s: %d after %d", mode.name, id, before)
		}
		clock.hook.Store(&panics)
		g.Close()
		if _, err := g.Next(); err != ErrClosed {
			t.Errorf("%s: Next() = %v, want ErrClosed", mode.name, err)
		}
	}
}

// A clock may call the generator: it is read under no lock.
func TestClockThatCallsTheGenerator(t *testing.T) {
	for _, policy := range []RollbackPolicy{RideOut(), Refuse()} {
		clock := &hookedClock{Clock: fakeclock.New(noon)}
		d := newDefault(t, workerassign.Static(1), WithClock(clock), WithRollback(policy))
		var armed atomic.Bool
		var taken atomic.Int64
		hook := func() {
			if !armed.Swap(false) {
				return
			}
			if _, err := d.Next(); err == nil {
				taken.Add(1)
			}
			d.Stats()
		}
		clock.Advance(time.Second)
		clock.hook.Store(&hook)
		for range 10 {
			armed.Store(true)
			next(t, d)
			clock.Advance(time.Second)
		}
		if n := taken.Load(); n != 10 {
			t.Errorf("the clock took %d UIDs, want 10", n)
		}
		closing := func() { d.Close() }
		clock.hook.Store(&closing)
		if _, err := d.Next(); err != ErrClosed {
			t.Errorf("%v: Next() = %v, want ErrClosed", policy, err)
		}
	}
}

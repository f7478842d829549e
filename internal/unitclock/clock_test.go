package unitclock

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 500_000_000, time.UTC)

// newClock returns a clock that counts seconds since the start of 2026.
func newClock(tb testing.TB, source Source) *Clock {
	tb.Helper()
	base, err := bitsalloc.NewTimeBase(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Second)
	if err != nil {
		tb.Fatal(err)
	}
	return New(source, base)
}

// wallOnlyClock has no monotonic clock.
type wallOnlyClock struct{ *fakeclock.Clock }

func (c wallOnlyClock) Monotonic() {} // hides the method of the embedded clock

func TestClockWithoutMonotonicClock(t *testing.T) {
	fake := fakeclock.New(noon)
	c := newClock(t, wallOnlyClock{fake})
	fake.Advance(time.Minute)
	if got := c.Now().Sub(noon); got != time.Minute {
		t.Errorf("the time is %v after the start, want a minute", got)
	}
	fake.Step(-time.Hour)
	if got := c.Now().Sub(noon); got != time.Minute {
		t.Errorf("after a step back the time is %v after the start, want it to stand still", got)
	}
	r := c.Read()
	if want := (Reading{Elapsed: time.Minute, Wall: time.Minute - time.Hour, Behind: time.Hour}); r != want {
		t.Errorf("after a step back: Read() = %+v; want %+v", r, want)
	}
	fake.Step(2 * time.Hour)
	if got := c.Now().Sub(noon); got != time.Hour+time.Minute {
		t.Errorf("after a step forward the time is %v after the start", got)
	}
}

// The clock's part of invariant 4: neither the time nor the unit ever decreases, under random steps,
// with a monotonic clock and without one.
func TestInvariant4ClockNeverGoesBack(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		fake := fakeclock.New(noon)
		var source Source = fake
		if seed%2 == 1 {
			source = wallOnlyClock{fake}
		}
		c := newClock(t, source)
		at, unit := c.Now(), c.Unit()
		if want := c.base.Delta(at); unit != want {
			t.Fatalf("seed %d: the unit is %d, want %d", seed, unit, want)
		}
		for range 1000 {
			fake.Advance(time.Duration(rnd.Int64N(int64(2 * time.Second))))
			switch rnd.IntN(12) {
			case 0, 1, 2, 3:
				fake.Step(time.Duration(rnd.Int64N(int64(48*time.Hour))) - 24*time.Hour)
			case 4, 5: // small enough to be reduced
				fake.Step(-time.Duration(rnd.Int64N(int64(maxSlewed))))
			case 6: // long enough to reduce it completely
				fake.Advance(time.Duration(rnd.Int64N(int64(24 * time.Hour))))
			}
			now, u := c.Now(), c.Unit()
			if now.Before(at) || u < unit || u != c.base.Delta(now) {
				t.Fatalf("seed %d: time went from %v (unit %d) to %v (unit %d)", seed, at, unit, now, u)
			}
			at, unit = now, u
		}
	}
}

// yieldingClock is a clock that lets other goroutines run after each reading.
type yieldingClock struct{ *fakeclock.Clock }

func (c yieldingClock) Monotonic() time.Duration {
	defer runtime.Gosched()
	return c.Clock.Monotonic()
}

// The same for several goroutines: a reading that starts after another one has ended is not less.
func TestInvariant4ClockOfManyGoroutines(t *testing.T) {
	fake := fakeclock.New(noon)
	c := newClock(t, yieldingClock{fake})
	var latest atomic.Int64
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(n), 3))
			for range 5_000 {
				before := latest.Load()
				got := int64(c.Elapsed())
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

func TestSystemClockAgreesWithTheWallClock(t *testing.T) {
	c := newClock(t, System{})
	for range 100 {
		before, now, after := time.Now(), c.Now(), time.Now()
		if now.Before(before.Add(-time.Second)) || now.After(after.Add(time.Second)) {
			t.Fatalf("the time is %v, between %v and %v by the wall clock", now, before, after)
		}
	}
}

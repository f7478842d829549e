package uid

import (
	"context"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

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

// panics reports whether f panics.
func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}

// A panic of the clock is one of the call that reads it. A caller that recovers goes on with a generator that is whole.
func TestClockPanics(t *testing.T) {
	fail := func() { panic("no battery") }
	for _, mode := range modes {
		clock := &hookedClock{Clock: fakeclock.New(noon)}
		clock.hook.Store(&fail)
		a := new(disposableAssigner)
		if !panics(func() { mode.make(context.Background(), a, WithClock(clock)) }) || a.lastID.Load() != 0 {
			t.Errorf("%s: the constructor does not panic, or has used up %d worker IDs", mode.name, a.lastID.Load())
		}
		clock.hook.Store(nil)
		g, err := mode.make(context.Background(), a, WithClock(clock), WithScheduleInterval(0)) // only takes read the clock
		if err != nil {
			t.Fatal(err)
		}
		before := next(t, g)
		clock.hook.Store(&fail)
		if panicked := panics(func() { g.Next() }); panicked != (mode.name == "Default") { // Cached takes from its ring
			t.Errorf("%s: Next panics: %v", mode.name, panicked)
		}
		panics(func() { g.Stats() })
		panics(func() { g.Health() })
		clock.hook.Store(nil)
		if id := next(t, g); id <= before {
			t.Errorf("%s: %d was returned after %d", mode.name, id, before)
		}
		if err := g.Close(); err != nil {
			t.Errorf("%s: Close() = %v", mode.name, err)
		}
		if _, err := g.Next(); err != ErrClosed {
			t.Errorf("%s: Next() = %v, want ErrClosed", mode.name, err)
		}
	}
}

// With CallerPads, a take that finds the ring empty reads the clock. If that panics, it is a panic of the take, and keeps nobody from padding.
func TestClockPanicsInPaddingByCaller(t *testing.T) {
	clock := &hookedClock{Clock: fakeclock.New(noon)}
	c := newCached(t, new(disposableAssigner), WithLayout(layout(t, 31, 28, 4)), WithMaxBorrow(0), WithRollover(false), WithBoostPower(0),
		WithTakePolicy(CallerPads), WithClock(clock))
	last := next(t, c)
	fail := func() {
		if !strings.Contains(string(debug.Stack()), "runPadder") { // a panic in the padder would end the process
			panic("no battery")
		}
	}
	clock.hook.Store(&fail)
	for !panics(func() { last = next(t, c) }) {
	}
	clock.hook.Store(nil)
	clock.Advance(time.Second)
	for range 3 {
		id := next(t, c)
		if id <= last {
			t.Errorf("%d was returned after %d", id, last)
		}
		last = id
	}
}

// A constructor whose clock panics keeps no lease, whichever reading it is.
func TestConstructorPanics(t *testing.T) {
	for _, mode := range modes {
		a, readings := workerassign.Static(1), 0
		for panicked := true; panicked; readings++ {
			clock, left := &hookedClock{Clock: fakeclock.New(noon)}, readings
			fail := func() {
				if !strings.Contains(string(debug.Stack()), "testing.tRunner") {
					return // it is a goroutine of the generator
				}
				if left--; left < 0 {
					panic("no battery")
				}
			}
			clock.hook.Store(&fail)
			panicked = panics(func() {
				g, err := mode.make(context.Background(), a, WithClock(clock), WithScheduleInterval(0))
				clock.hook.Store(nil)
				if err != nil {
					t.Errorf("%s: a panic at one of the %d readings before has kept a lease: %v", mode.name, readings, err)
				} else {
					g.Close()
				}
			})
		}
		if readings < 9 {
			t.Errorf("%s: the constructor has read the clock %d times only", mode.name, readings)
		}
	}
}

// A clock may call the generator, because it is read without a lock.
func TestClockCallsTheGenerator(t *testing.T) {
	for _, policy := range []RollbackPolicy{RideOut(), Refuse()} {
		clock := &hookedClock{Clock: fakeclock.New(noon)}
		d := newIdleDefault(t, workerassign.Static(1), WithClock(clock), WithRollback(policy))
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

// reentrantClock takes a UID of the generator at each reading.
type reentrantClock struct {
	*fakeclock.Clock
	g      atomic.Pointer[Cached]
	inside atomic.Bool
	taken  atomic.Int64
}

func (c *reentrantClock) Now() time.Time {
	if g := c.g.Load(); g != nil && !c.inside.Swap(true) {
		if _, err := g.Next(); err == nil {
			c.taken.Add(1)
		}
		c.inside.Store(false)
	}
	return c.Clock.Now()
}

// A clock may take UIDs of a Cached generator, although no clock should: it is read without a lock.
func TestClockTakesUIDs(t *testing.T) {
	clock := &reentrantClock{Clock: fakeclock.New(noon)}
	c := newCached(t, new(disposableAssigner), WithClock(clock), WithLayout(layout(t, 31, 20, 4)), WithBoostPower(0), WithScheduleInterval(0))
	clock.g.Store(c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 2_000 {
					next(t, c)
				}
			})
		}
		all.Wait()
		c.Close()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the generator hangs")
	}
	if clock.taken.Load() == 0 {
		t.Error("the clock took no UIDs")
	}
}

package uid

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
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

// A panic of the clock is an error of the constructors and of Next, and has no other effect.
func TestClockPanics(t *testing.T) {
	panics := func() { panic("no battery") }
	for _, mode := range modes {
		clock := &hookedClock{Clock: fakeclock.New(noon)}
		clock.hook.Store(&panics)
		a := new(disposableAssigner)
		if _, err := mode.make(context.Background(), a, WithClock(clock)); !errors.Is(err, ErrClock) || a.lastID.Load() != 0 {
			t.Errorf("%s: the constructor returned %v, and used up %d worker IDs", mode.name, err, a.lastID.Load())
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
		g.Stats()
		clock.hook.Store(nil)
		if id := next(t, g); id <= before {
			t.Errorf("%s: %d was returned after %d", mode.name, id, before)
		}
		clock.hook.Store(&panics)
		g.Close()
		if _, err := g.Next(); err != ErrClosed {
			t.Errorf("%s: Next() = %v, want ErrClosed", mode.name, err)
		}
	}
}

// A clock may call the generator, because it is read without a lock.
func TestClockCallsTheGenerator(t *testing.T) {
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

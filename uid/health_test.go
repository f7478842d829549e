package uid

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// healthModes runs a test in a bubble with a constructor for each kind of generator.
func healthModes(t *testing.T, f func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator)) {
	l, err := bitsalloc.New(31, 20, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"Cached", "Default"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f(t, mode, func(a workerassign.Assigner, opts ...any) Generator {
					opts = append([]any{WithLogger(slog.New(slog.DiscardHandler)), WithEpoch(recycledEpoch), WithLayout(l), WithBoostPower(1)}, opts...)
					var g Generator
					var err error
					if mode == "Cached" {
						g, err = NewCached(t.Context(), a, accepted[Option](opts)...)
					} else {
						g, err = NewDefault(t.Context(), a, accepted[DefaultOption](opts)...)
					}
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { g.Close() })
					return g
				})
			})
		})
	}
}

// unboundedSource is an assigner of leases without an end, as NewDisposable is.
type unboundedSource struct {
	assigned atomic.Int64
	down     atomic.Bool
}

type unboundedLease int64

func (s *unboundedSource) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	if s.down.Load() {
		return nil, errSlotsDown
	}
	return unboundedLease(s.assigned.Add(1)), nil
}

func (l unboundedLease) WorkerID() int64      { return int64(l) }
func (l unboundedLease) NotBefore() time.Time { return time.Time{} }
func (l unboundedLease) Reserve(context.Context, time.Time) (workerassign.Grant, error) {
	return workerassign.Grant{Until: workerassign.Unbounded()}, nil
}
func (l unboundedLease) Release(context.Context, time.Time) error { return nil }

// A lease without an end: a generator is OK without the store until the time bits end, and not after Close.
func TestHealthUnbounded(t *testing.T) {
	testkit.WithoutRace(t)
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator) {
		s := new(unboundedSource)
		g := construct(s)
		s.down.Store(true)
		for range 3 {
			end := g.Format().End()
			if h := g.Health(); !h.OK() || h.Bounded || !h.Until.Equal(end) || h.For != time.Until(end) {
				t.Errorf("Health() = %+v; want OK until %v", h, end)
			}
			if st := g.Stats(); st.LeaseBounded || !st.LeaseUntil.IsZero() || st.LeaseSince.IsZero() || time.Since(st.LeaseSince) > 25*time.Hour {
				t.Errorf("Stats() = %+v", st)
			}
			g.Next()
			time.Sleep(8 * time.Hour) // idle
		}
		g.Close()
		if h := g.Health(); h.OK() || h.Err != ErrClosed || h.For != 0 || !h.Until.IsZero() {
			t.Errorf("after Close: Health() = %+v; want ErrClosed", h)
		}
	})
}

// Nor has it one if the time bits end after workerassign.Unbounded, in the year 9999.
func TestUnboundedWithManyTimeBits(t *testing.T) {
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator) {
		g := construct(new(unboundedSource), WithLayout(layout(t, 40, 10, 13)))
		g.Next()
		if h, st := g.Health(), g.Stats(); !h.OK() || h.Bounded || st.LeaseBounded || !st.LeaseUntil.IsZero() {
			t.Errorf("%+v, leased until %v (%v)", h, st.LeaseUntil, st.LeaseBounded)
		}
	})
}

// A lease of Recycled: For says how long UIDs come without the store, of an idle generator, too.
func TestHealthWithoutTheStore(t *testing.T) {
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator) {
		memory := newSlotMemory()
		connection := &slotConnection{memory: memory}
		g := construct(recycled.New(connection, recycled.WithLogger(slog.New(slog.DiscardHandler))))
		for range 100 { // idle
			if h := g.Health(); !h.OK() || !h.Bounded || h.For < 25*time.Second || h.For > 75*time.Second || h.For != time.Until(h.Until) || g.Stats().LeaseUntil.Before(h.Until) {
				t.Fatalf("Health() = %+v; want OK for at least what is reserved ahead, less what passes between two probes", h)
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
		connection.setDown(true)
		until := g.Health().Until
		for time.Until(until) > 0 {
			if h := g.Health(); !h.OK() || !h.Until.Equal(until) || h.For != time.Until(until) {
				t.Errorf("the store is down: Health() = %+v; want OK until %v", h, until)
			}
			if _, err := g.Next(); err != nil {
				t.Errorf("Next() = %v with %v left", err, time.Until(until))
			}
			time.Sleep(time.Second)
		}
		for range 5 { // a Cached generator has UIDs in its ring for some seconds
			time.Sleep(time.Second)
			synctest.Wait()
		}
		h := g.Health()
		if h.OK() || !errors.Is(h.Err, ErrLease) || !errors.Is(h.Err, errSlotsDown) || h.For != 0 || !h.Until.IsZero() || !h.Bounded {
			t.Errorf("after the end of the grant: Health() = %+v; want the store's error", h)
		}
		connection.setDown(false)
		time.Sleep(16 * time.Second)
		if h := g.Health(); !h.OK() || h.For < 30*time.Second {
			t.Errorf("the store is up: Health() = %+v", h)
		}
	})
}

// A service that gets no requests while it is not OK recovers all the same: Health replaces a lost lease.
func TestHealthReplacesALostLease(t *testing.T) {
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator) {
		memory := newSlotMemory()
		connection := &slotConnection{memory: memory}
		a := construct(recycled.New(connection, recycled.WithLogger(slog.New(slog.DiscardHandler))))
		connection.setDown(true)
		time.Sleep(5 * time.Minute)
		b := construct(recycled.New(&slotConnection{memory: memory}, recycled.WithLogger(slog.New(slog.DiscardHandler))))
		if b.Stats().WorkerID != 0 {
			t.Fatal("the slot was not taken")
		}
		connection.setDown(false)
		for range 10 {
			a.Health()
			b.Health()
			time.Sleep(10 * time.Second)
		}
		if h, st := a.Health(), a.Stats(); !h.OK() || st.WorkerID != 1 || st.LostLeases == 0 {
			t.Errorf("Health() = %+v, Stats() = %+v; want another worker ID", h, st)
		}
	})
}

// The store hangs: Health does not, and is not OK when the grant is used.
func TestHealthWhileTheStoreHangs(t *testing.T) {
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator) {
		s := &hangingSource{}
		g := construct(s)
		s.hangs.Store(true)
		time.Sleep(5 * time.Minute)
		begin := time.Now()
		if h := g.Health(); h.OK() || !errors.Is(h.Err, ErrLease) || time.Since(begin) != 0 {
			t.Errorf("Health() = %+v after %v; want ErrLease", h, time.Since(begin))
		}
		s.hangs.Store(false)
		time.Sleep(time.Minute)
		if h := g.Health(); !h.OK() {
			t.Errorf("when it no longer hangs: Health() = %+v", h)
		}
	})
}

// hangingSource is an assigner whose leases hang.
type hangingSource struct {
	unboundedSource
	hangs atomic.Bool
}

type hangingLease struct {
	unboundedLease
	source *hangingSource
}

func (s *hangingSource) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	l, err := s.unboundedSource.Assign(ctx, r)
	return hangingLease{l.(unboundedLease), s}, err
}

func (l hangingLease) Reserve(ctx context.Context, until time.Time) (workerassign.Grant, error) {
	if l.source.hangs.Load() {
		<-ctx.Done()
		return workerassign.Grant{}, ctx.Err()
	}
	return workerassign.Grant{Until: until}, nil
}

// A lease that has not begun: not OK, with the time at which it begins.
func TestHealthBeforeTheLeaseBegins(t *testing.T) {
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator) {
		begins := time.Now().Add(5 * time.Minute)
		g := construct(&boundedSource{horizon: lasting(70 * time.Second), begins: begins})
		if h := g.Health(); h.OK() || !errors.Is(h.Err, ErrLease) || !strings.Contains(h.Err.Error(), begins.UTC().Format(time.RFC3339)) {
			t.Errorf("Health() = %+v; want ErrLease with %v", h, begins)
		}
		time.Sleep(5*time.Minute + time.Second)
		if h := g.Health(); !h.OK() {
			t.Errorf("Health() = %+v; want OK", h)
		}
	})
}

// Static grants nothing in advance, and needs no store: OK at all times.
func TestHealthOfStatic(t *testing.T) {
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator) {
		g := construct(workerassign.Static(5))
		for n := range 100 {
			if h := g.Health(); !h.OK() || h.For > time.Second || !h.Bounded {
				t.Errorf("Health() = %+v; want OK", h)
			}
			if n%10 == 0 { // with pauses of some minutes
				time.Sleep(5 * time.Minute)
			}
			if _, err := g.Next(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(70 * time.Millisecond)
		}
	})
}

// A burst that uses up a time unit does not make a generator unhealthy.
func TestHealthUnderLoad(t *testing.T) {
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator) {
		for _, rollover := range []bool{true, false} {
			s := &boundedSource{horizon: lasting(70 * time.Second)}
			g := construct(s, WithRollover(rollover))
			for range 1000 {
				if _, err := g.Next(); err != nil {
					t.Fatal(err)
				}
				if h := g.Health(); !h.OK() {
					t.Fatalf("Health() = %+v under load", h)
				}
			}
		}
	})
}

// The time bits end.
func TestHealthAtTheEndOfTime(t *testing.T) {
	testkit.WithoutRace(t)
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator) {
		l, err := bitsalloc.New(17, 20, 4) // a day and a half
		if err != nil {
			t.Fatal(err)
		}
		g := construct(new(unboundedSource), WithLayout(l))
		if h := g.Health(); !h.OK() || h.For != time.Until(g.Format().End()) {
			t.Errorf("Health() = %+v", h)
		}
		time.Sleep(time.Until(g.Format().End()) + 5*time.Second)
		for range 20 {
			g.NextContext(t.Context())
		}
		if h := g.Health(); h.OK() || !errors.Is(h.Err, ErrTimeExhausted) {
			t.Errorf("Health() = %+v; want ErrTimeExhausted", h)
		}
	})
}

// With Refuse, a Default generator whose wall clock is behind is not OK. A clock that panics is an error.
func TestHealthOfTheClock(t *testing.T) {
	fake := fakeclock.New(noon)
	d, err := NewDefault(t.Context(), new(unboundedSource), WithClock(fake), WithRollback(Refuse()), WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.Next()
	if h := d.Health(); !h.OK() {
		t.Errorf("Health() = %+v", h)
	}
	fake.Step(-time.Minute)
	if h := d.Health(); h.OK() || !errors.Is(h.Err, ErrClockBack) {
		t.Errorf("a minute back: Health() = %+v; want ErrClockBack", h)
	}
	fake.Step(2 * time.Minute)
	if h := d.Health(); !h.OK() {
		t.Errorf("Health() = %+v", h)
	}
}

// A generator that is OK allocates nothing for Health.
func TestHealthAllocatesNothing(t *testing.T) {
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator) {
		g := construct(new(unboundedSource))
		if n := testing.AllocsPerRun(100, func() {
			if !g.Health().OK() {
				t.Error("not OK")
			}
		}); n != 0 {
			t.Errorf("Health allocates %v times", n)
		}
	})
}

func TestHealthOfNoGenerator(t *testing.T) {
	for _, g := range []Generator{(*Cached)(nil), new(Cached), (*Default)(nil), new(Default)} {
		if h := g.Health(); h.OK() || !errors.Is(h.Err, ErrOption) {
			t.Errorf("%T: Health() = %+v; want ErrOption", g, h)
		}
	}
}

// Health as JSON and in a log has the same keys.
func TestHealthAsText(t *testing.T) {
	until := time.Date(2026, 11, 21, 12, 0, 45, 0, time.UTC)
	for _, tt := range []struct {
		h          Health
		json, text string
	}{
		{Health{Until: until, For: 45 * time.Second, Bounded: true}, `{"ok":true,"until":"2026-11-21T12:00:45Z","for":45000000000,"bounded":true}`,
			"v.ok=true v.until=2026-11-21T12:00:45.000Z v.for=45s v.bounded=true"},
		{Health{Err: ErrClosed}, `{"ok":false,"for":0,"bounded":false,"err":"uid: the generator is closed"}`,
			`v.ok=false v.for=0s v.bounded=false v.err="uid: the generator is closed"`},
	} {
		if got, err := json.Marshal(tt.h); err != nil || string(got) != tt.json {
			t.Errorf("Marshal(%+v) = %s, %v; want %s", tt.h, got, err, tt.json)
		}
		if _, text := logged(t, tt.h); text != tt.text {
			t.Errorf("%+v is logged as %s; want %s", tt.h, text, tt.text)
		}
	}
}

// slowClock is a clock that calls a function after it was read, before the reading is returned. The function is not called for readings
// that it causes itself.
type slowClock struct {
	*fakeclock.Clock
	after func()
}

func (c *slowClock) Now() time.Time {
	now := c.Clock.Now()
	if after := c.after; after != nil {
		c.after = nil
		after()
		c.after = after
	}
	return now
}

// While Health reads the clock, a unit may begin and a UID may be taken. That is no step back of the clock.
func TestHealthWhileAUnitBegins(t *testing.T) {
	for _, policy := range []RollbackPolicy{RideOut(), WaitOut(0), Refuse()} {
		clock := &slowClock{Clock: fakeclock.New(noon)}
		d := newDefault(t, new(disposableAssigner), WithClock(clock), WithRollback(policy))
		next(t, d)
		begun := false
		clock.after = func() {
			clock.Advance(time.Second)
			begun = d.Parse(next(t, d)).Time.After(noon)
		}
		if h := d.Health(); !h.OK() || !begun {
			t.Errorf("%v: a UID of the next unit was taken: %v; Health() = %+v", policy, begun, h)
		}
		clock.after = nil
	}
}

// Health of a Default generator whose lease is replaced during the call is that with the new one.
func TestHealthBesideChangeOfLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost, during atomic.Bool
		var d *Default
		clock := funcClock(func() time.Time {
			if during.CompareAndSwap(true, false) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					d.Next()
				}()
				<-done
			}
			return time.Now()
		})
		d = newIdleDefault(t, newLosableAssigner(&lost), smallOptions(t, WithClock(clock))...)
		next(t, d)
		lost.Store(true)
		time.Sleep(time.Minute)
		during.Store(true)
		if h := d.Health(); !h.OK() {
			t.Errorf("Health() = %v; the worker ID is %d", h.Err, d.Stats().WorkerID)
		}
	})
}

// With WaitOut, Next waits for the unit of the last UID, and for the next one if its sequence is used up. Health says so.
func TestHealthOfUsedUpSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := new(bubbleClock)
		d := newDefault(t, new(disposableAssigner), WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 20, 4)), WithClock(clock), WithRollback(WaitOut(3*time.Second)))
		time.Sleep(time.Second / 2)
		for range 15 {
			next(t, d)
		}
		clock.set(-600 * time.Millisecond) // the clock shows the second before
		if h := d.Health(); !h.OK() {
			t.Errorf("with a UID left: Health() = %v", h.Err)
		}
		clock.set(0)
		next(t, d)
		clock.set(-600 * time.Millisecond)
		if h := d.Health(); !errors.Is(h.Err, ErrClockBack) {
			t.Errorf("with none left: Health() = %v, want ErrClockBack", h.Err)
		}
		begin := time.Now()
		next(t, d)
		if took := time.Since(begin); took <= time.Second {
			t.Errorf("Next waited for %v; want more than a unit", took)
		}
	})
}

// funcClock is a clock that calls a function.
type funcClock func() time.Time

func (f funcClock) Now() time.Time { return f() }

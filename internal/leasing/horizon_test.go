package leasing

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/unitclock"
	"github.com/ringuid/ringuid/workerassign"
)

// boundedLease is a lease whose grants reach no further beyond the clock than its horizon.
type boundedLease struct {
	*fakeLease
	horizon time.Duration
}

func (l boundedLease) Reserve(ctx context.Context, until time.Time) (workerassign.Grant, error) {
	g, err := l.fakeLease.Reserve(ctx, until)
	g.Horizon = l.horizon
	return g, err
}

// boundedAssigner assigns boundedLeases.
type boundedAssigner struct {
	*fakeAssigner
	horizon time.Duration
}

func (a boundedAssigner) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	l, err := a.fakeAssigner.Assign(ctx, r)
	if err != nil {
		return nil, err
	}
	return boundedLease{l.(*fakeLease), a.horizon}, nil
}

// acquireBounded takes a lease that grants time up to the horizon.
func (m *testManager) acquireBounded(t *testing.T, horizon time.Duration) (*HeldLease, *fakeLease) {
	t.Helper()
	m.Manager.assigner = boundedAssigner{m.assigner, horizon}
	m.assigner.assign = func(l *fakeLease) error {
		l.grant = func(until time.Time) (time.Time, error) {
			if most := m.clock.Now().Add(horizon); horizon > 0 && until.After(most) {
				return most, nil
			}
			return until, nil
		}
		return nil
	}
	h, err := m.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h, h.lease.(boundedLease).fakeLease
}

// How far ahead a bounded lease may be stamped: as far as what is then requested, 46 units, can be granted.
func TestMaxAheadOfABoundedLease(t *testing.T) {
	for _, tt := range []struct {
		horizon  time.Duration
		units    int64
		bounded  bool
		maxAhead int64 // of 10
		covers   bool
	}{
		{0, 0, false, 10, true},
		{time.Nanosecond, 0, true, 0, false},
		{45*time.Second + 999*time.Millisecond, 45, true, 0, false},
		{46 * time.Second, 46, true, 0, true},
		{47 * time.Second, 47, true, 1, true},
		{56 * time.Second, 56, true, 10, true},
		{57 * time.Second, 57, true, 10, true},
	} {
		m := newTestManager(t, 31)
		h, _ := m.acquireBounded(t, tt.horizon)
		units, bounded := h.Horizon()
		if units != tt.units || bounded != tt.bounded || h.MaxAhead(10) != tt.maxAhead || h.CoversReserve() != tt.covers {
			t.Errorf("horizon %v: Horizon() = %d, %v; MaxAhead(10) = %d; CoversReserve() = %v; want %+v",
				tt.horizon, units, bounded, h.MaxAhead(10), h.CoversReserve(), tt)
		}
	}
}

// A unit beyond the horizon is not granted, and is no failure. The next task waits until the clock has come so far that the unit can
// be granted, for a second at most each time, and asks then.
func TestBoundedLeaseWaitsForTheClock(t *testing.T) {
	m := newTestManager(t, 31)
	h, l := m.acquireBounded(t, 50*time.Second)
	const unit = startUnit + 60
	if err := m.Extend(h, unit); err != nil {
		t.Error(err)
	}
	m.runTasks()
	if l.reserveCalls() != 2 || h.Granted() != startUnit+50 || h.Denied() || !h.IsRefused(unit) || h.IsRefused(unit-1) || h.lastGrant().waitFor != startUnit+11 || m.notified != 0 {
		t.Fatalf("%d calls of Reserve, granted up to unit %d, denied %v, refused %v, waits for unit %d, %d notifications; want 2, %d, false, true, %d, 0",
			l.reserveCalls(), h.Granted(), h.Denied(), h.IsRefused(unit), h.lastGrant().waitFor, m.notified, startUnit+50, startUnit+11)
	}
	// Half a second before the unit that is waited for, the pause is shorter. It ends after the unit has begun.
	m.clock.Advance(8500 * time.Millisecond)
	var pauses []time.Duration
	m.cfg.Hooks.Pause = func(_ context.Context, d time.Duration) bool {
		pauses = append(pauses, d)
		m.clock.Advance(d)
		return true
	}
	for range 3 {
		if l.reserveCalls() != 2 {
			t.Errorf("the assigner was asked at %v", m.clock.Now())
		}
		m.Extend(h, unit)
		m.runTasks()
	}
	if want := []time.Duration{time.Second, time.Second, 500*time.Millisecond + 1}; !slices.Equal(pauses, want) {
		t.Errorf("the pauses are %v, want %v", pauses, want)
	}
	if l.reserveCalls() != 3 || h.Granted() != unit+2 || h.IsRefused(unit) || h.lastGrant().waitFor != 0 || m.notified != 1 {
		t.Errorf("%d calls of Reserve, granted up to unit %d, refused %v, waits for unit %d, %d notifications; want 3, %d, false, 0, 1",
			l.reserveCalls(), h.Granted(), h.IsRefused(unit), h.lastGrant().waitFor, m.notified, unit+2)
	}
}

// The wait for a bounded lease ends with its context, and at once for a unit that has started.
func TestWaitForTheHorizonEnds(t *testing.T) {
	m := newTestManager(t, 31)
	h, l := m.acquireBounded(t, 50*time.Second)
	const unit = startUnit + 60
	m.Extend(h, unit)
	m.runTasks()
	m.cfg.Hooks.Pause = func(context.Context, time.Duration) bool { return false }
	m.Extend(h, unit)
	if m.runTasks(); l.reserveCalls() != 2 {
		t.Error("the assigner is asked although the pause has failed")
	}
	// The clock steps forward during the pause, up to the unit itself.
	l.grant = nil
	m.cfg.Hooks.Pause = func(context.Context, time.Duration) bool { m.clock.Advance(60 * time.Second); return true }
	m.Extend(h, unit)
	if m.runTasks(); l.reserveCalls() != 3 || h.Granted() != unit+46 {
		t.Errorf("%d calls of Reserve, granted up to unit %d; want 3, %d", l.reserveCalls(), h.Granted(), unit+46)
	}
	// What is waited for may be later than the unit, after a grant that was less than the horizon.
	h.change(func(g *grant) { g.waitFor = unit + 1000 })
	m.cfg.Hooks.Pause = func(context.Context, time.Duration) bool { m.clock.Advance(46 * time.Second); return true }
	m.Extend(h, unit+46)
	if m.runTasks(); l.reserveCalls() != 4 {
		t.Errorf("%d calls of Reserve after the unit has started, want 4", l.reserveCalls())
	}
	h.change(func(g *grant) { g.waitFor = unit + 1000 })
	m.cfg.Hooks.Pause = func(context.Context, time.Duration) bool { t.Error("the task waits for the clock"); return true }
	m.clock.Advance(46 * time.Second)
	m.Extend(h, unit+92)
	if m.runTasks(); l.reserveCalls() != 5 {
		t.Errorf("%d calls of Reserve for a unit that has started, want 5", l.reserveCalls())
	}
	// The unit that is waited for has just begun.
	h.change(func(g *grant) { g.waitFor = unit + 92 })
	m.Extend(h, unit+92+46)
	if m.runTasks(); l.reserveCalls() != 6 {
		t.Errorf("%d calls of Reserve when the clock has come far enough, want 6", l.reserveCalls())
	}
}

// If a bounded lease should grant a unit already, and does not, it is asked again after the pause after a first failure.
func TestBoundedLeaseIsNotAskedTooOften(t *testing.T) {
	for _, tt := range []struct {
		unit time.Duration
		wait int64 // in units
	}{{time.Second, 1}, {10 * time.Millisecond, 6}, {time.Millisecond, 51}} {
		m := newTestManager(t, 31)
		base, err := bitsalloc.NewTimeBase(epoch, tt.unit)
		if err != nil {
			t.Fatal(err)
		}
		clock := unitclock.New(m.clock, base)
		layout := m.cfg.Layout
		m.Manager = NewManager(Config{Layout: layout, ReserveAhead: reserveAhead, Log: safelog.NewQueue(nil), Mask: m.cfg.Mask, Hooks: m.cfg.Hooks}, clock, m.assigner)
		h, l := m.acquireBounded(t, time.Minute)
		end, now := h.Granted(), clock.Unit()
		l.grant = func(time.Time) (time.Time, error) {
			m.clock.Advance(10 * tt.unit) // the pause begins with the call
			return base.Time(end), nil    // no more, as if the store's clock had stopped
		}
		m.Extend(h, end)
		if m.runTasks(); h.lastGrant().waitFor != now+tt.wait {
			t.Errorf("units of %v: the lease waits for %d units, want %d", tt.unit, h.lastGrant().waitFor-now, tt.wait)
		}
	}
}

// How long UIDs can be stamped without the assigner: with the lease in use, and then with the next one if it begins in time.
func TestGrantedUntil(t *testing.T) {
	m := newTestManager(t, 31)
	h, _ := m.acquire(t)
	check := func(what string, want int64) {
		t.Helper()
		if unit, bounded := m.GrantedUntil(h); unit != want || !bounded {
			t.Errorf("%s: GrantedUntil() = %d, %v; want %d, true", what, unit, bounded, want)
		}
	}
	check("without a next lease", startUnit+46)
	m.clock.Advance(20 * time.Second)
	m.assigner.assign = func(l *fakeLease) error { l.notBefore = at(startUnit + 46); return nil }
	m.Ready(firstUnit)
	m.runTasks()
	check("with a next lease that begins when the grant ends", startUnit+46+46)
	m.Next().change(func(g *grant) { g.denied = true })
	check("with a next lease that is lost", startUnit+46)
	m.Use()
	m.assigner.assign = func(l *fakeLease) error { l.notBefore = at(startUnit + 47); return nil }
	m.Ready(firstUnit)
	m.runTasks()
	check("with a next lease that begins later", startUnit+46)
	m.clock.Advance(26 * time.Second) // the lease in use is over
	check("with a next lease that begins with the next unit", startUnit+47+46)

	m = newTestManager(t, 20)
	m.assigner.assign = func(l *fakeLease) error {
		l.notBefore = at(1<<20 - 1)
		return nil
	}
	h, _ = m.acquire(t)
	if unit, bounded := m.GrantedUntil(h); unit != 1<<20 || bounded {
		t.Errorf("granted up to the end of the time bits: GrantedUntil() = %d, %v", unit, bounded)
	}
	m = newTestManager(t, 20)
	m.assigner.assign = func(l *fakeLease) error {
		l.grant = func(time.Time) (time.Time, error) { return at(1<<20 - 1), nil }
		return nil
	}
	h, _ = m.acquire(t)
	if unit, bounded := m.GrantedUntil(h); unit != 1<<20-1 || !bounded {
		t.Errorf("granted up to the last unit: GrantedUntil() = %d, %v", unit, bounded)
	}
	if err := m.Extend(h, 1<<20-1); err != nil || m.runTasks() != 1 {
		t.Errorf("the last unit is not requested: %v", err)
	}
}

// WhyNotGranted reports no error before a try begins, and then why the unit is not granted. It starts none.
func TestWhyNotGranted(t *testing.T) {
	m := newTestManager(t, 31)
	h, l := m.acquire(t)
	end := h.Granted()
	check := func(what string, unit int64, wantFailed bool, want error) {
		t.Helper()
		if failed, err := m.WhyNotGranted(h, unit); failed != wantFailed || !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: WhyNotGranted() = %v, %v; want %v, %v", what, failed, err, wantFailed, want)
		}
	}
	check("a unit that is granted", end-1, false, nil)
	check("a unit that is not requested", end, false, nil)
	if n := m.runTasks(); n != 0 {
		t.Errorf("%d tasks were started", n)
	}
	m.Extend(h, end)
	check("while the lease is being extended", end, false, errNotExtended)
	l.grant = func(time.Time) (time.Time, error) {
		if l.reserveCalls() == 4 {
			check("after a failure", end, true, errStore)
			return at(end), nil
		}
		return time.Time{}, errStore
	}
	m.clock.Advance(time.Duration(end-startUnit) * time.Second)
	m.cfg.Hooks.Pause = func(context.Context, time.Duration) bool { return l.reserveCalls() < 4 }
	m.runTasks()
	check("denied", end, true, ErrLease)
	l.grant = nil
	m.Extend(h, end)
	m.runTasks()
	check("granted at last", end, false, nil)
}

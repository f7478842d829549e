package leasing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// Reserve requests one and a half times the time to reserve ahead, after the unit. More is requested
// when a quarter of the grant is used.
func TestReserveRequestsTimeAhead(t *testing.T) {
	m := newTestManager(t, 31)
	h, l := m.acquire(t)
	if len(l.requested) != 1 || !l.requested[0].Equal(at(startUnit+45+1)) {
		t.Fatalf("requested %v, want once up to %v", l.requested, at(startUnit+45+1))
	}
	if h.WorkerID() != 1 || h.First() != 0 || h.Granted() != startUnit+46 || h.Denied() || h.IsRefused(1<<40) {
		t.Errorf("worker ID %d, first unit %d, granted %d, denied %v", h.WorkerID(), h.First(), h.Granted(), h.Denied())
	}
	if got, want := h.lastGrant().askAt, int64(startUnit+12); got != want {
		t.Errorf("more is requested at unit %d, want %d", got, want)
	}
	// From a later first unit, that unit counts, and not the current one.
	m.assigner.assign = func(l *fakeLease) error { l.notBefore = at(startUnit + 100); return nil }
	h, l = m.acquire(t)
	if h.First() != startUnit+100 || !l.requested[0].Equal(at(startUnit+100+46)) {
		t.Errorf("first unit %d, requested %v", h.First(), l.requested)
	}
}

// A unit is granted if it starts before the time that Reserve returns. A grant never decreases.
func TestGrantNeverDecreases(t *testing.T) {
	m := newTestManager(t, 31)
	h, l := m.acquire(t)
	granted := h.Granted()
	for _, tt := range []struct {
		until time.Time
		want  int64
	}{
		{at(granted - 10), granted},
		{at(granted + 5), granted + 5},
		{at(granted + 5).Add(1), granted + 6}, // a part of a unit: it starts before that time
		{time.Time{}, granted + 6},
		{at(granted), granted + 6},
	} {
		l.grant = func(time.Time) (time.Time, error) { return tt.until, nil }
		if err := h.reserve(t.Context(), startUnit, true); err != nil || h.Granted() != tt.want {
			t.Errorf("a grant up to %v: granted is unit %d, %v; want %d", tt.until, h.Granted(), err, tt.want)
		}
	}
}

// Neither a request nor a grant goes beyond the time bits, whatever the assigner returns: invariant 5.
func TestInvariant5GrantIsWithinTheTimeBits(t *testing.T) {
	const end = 1 << 20 // the time bits end with unit end - 1
	for _, far := range []time.Time{at(end + 1), workerassign.Unbounded(), time.Unix(1<<62, 0)} {
		m := newTestManager(t, 20)
		m.clock.Advance((end - startUnit - 10) * time.Second)
		m.assigner.assign = func(l *fakeLease) error {
			l.grant = func(time.Time) (time.Time, error) { return far, nil }
			return nil
		}
		h, l := m.acquire(t)
		if !l.requested[0].Equal(at(end)) {
			t.Errorf("requested up to %v, want %v, where the time bits end", l.requested[0], at(end))
		}
		if h.Granted() != end {
			t.Errorf("a grant up to %v: granted is unit %d, want %d", far, h.Granted(), end)
		}
		// There is nothing left to request.
		if err := m.Extend(h, end); err != nil || m.runTasks() != 0 {
			t.Errorf("a lease that is granted up to the end is extended, %v", err)
		}
	}
}

// A lease without an end has none if the time bits end later, too: after the year 9999.
func TestUnboundedGrantWithManyTimeBits(t *testing.T) {
	m := newTestManager(t, 40)
	for _, until := range []time.Time{workerassign.Unbounded(), workerassign.Unbounded().Add(time.Second)} {
		m.assigner.assign = func(l *fakeLease) error {
			l.grant = func(time.Time) (time.Time, error) { return until, nil }
			return nil
		}
		if h, _ := m.acquire(t); h.Granted() != 1<<40 {
			t.Errorf("a grant up to %v: granted is unit %d, want 1<<40", until, h.Granted())
		}
	}
}

// A unit that has started and is not granted is a failure. For one that has not started, the generator
// waits. A later grant ends both.
func TestDeniedUnits(t *testing.T) {
	m := newTestManager(t, 31)
	h, l := m.acquire(t)
	end := h.Granted()
	l.grant = func(time.Time) (time.Time, error) { return at(end), nil }

	if err := h.reserve(t.Context(), end+3, false); err != nil || h.Denied() || !h.IsRefused(end+3) || h.IsRefused(end+2) {
		t.Errorf("a unit that has not started: %v, denied %v, refused %v", err, h.Denied(), h.IsRefused(end+3))
	}
	err := h.reserve(t.Context(), end+3, true)
	if !errors.Is(err, ErrLease) || !strings.Contains(err.Error(), at(end).Format(time.RFC3339)) || !h.Denied() || !h.IsRefused(end+3) {
		t.Errorf("a unit that has started: %v, denied %v, refused %v", err, h.Denied(), h.IsRefused(end+3))
	}
	if err := h.reserve(t.Context(), end-1, true); err != nil || h.Denied() || h.IsRefused(end+3) {
		t.Errorf("a unit that is granted: %v, denied %v, refused %v", err, h.Denied(), h.IsRefused(end+3))
	}
	// The grant ends before the unit, so exactly the first unit that is not granted is denied.
	if err := h.reserve(t.Context(), end, true); err == nil || !h.Denied() {
		t.Errorf("the first unit that is not granted: %v, denied %v", err, h.Denied())
	}
	l.grant = nil
	if err := h.reserve(t.Context(), end+3, true); err != nil || h.Denied() || h.IsRefused(end+3) || h.Granted() <= end+3 {
		t.Errorf("after a later grant: %v, denied %v, refused %v, granted %d", err, h.Denied(), h.IsRefused(end+3), h.Granted())
	}
}

// An error of Reserve changes nothing, and names the worker ID.
func TestReserveFails(t *testing.T) {
	m := newTestManager(t, 31)
	h, l := m.acquire(t)
	granted, askAt := h.Granted(), h.lastGrant().askAt
	l.grant = func(time.Time) (time.Time, error) { return at(granted + 100), errStore }
	err := h.reserve(t.Context(), granted, true)
	if !errors.Is(err, ErrLease) || !errors.Is(err, errStore) || !strings.Contains(err.Error(), "worker ID 1 was not reserved up to ") {
		t.Errorf("reserve() = %v", err)
	}
	if h.Granted() != granted || h.lastGrant().askAt != askAt || h.Denied() || h.IsRefused(granted) {
		t.Errorf("the lease has changed: granted %d, want %d; denied %v", h.Granted(), granted, h.Denied())
	}
}

// Release gets the start of the unit after the last one used, or the zero time if none was.
func TestReleaseSaysWhatWasUsed(t *testing.T) {
	for used, want := range map[int64]time.Time{startUnit + 3: {}, startUnit + 4: at(startUnit + 4), startUnit + 50: at(startUnit + 50)} {
		m := newTestManager(t, 31)
		m.assigner.assign = func(l *fakeLease) error { l.notBefore = at(startUnit + 3); return nil }
		h, l := m.acquire(t)
		if err := h.release(t.Context(), used); err != nil {
			t.Error(err)
		}
		wantReleased(t, l, want)
		l.onRelease = func(context.Context) error { return errStore }
		if err := h.release(t.Context(), used); !errors.Is(err, ErrLease) || !errors.Is(err, errStore) ||
			!strings.Contains(err.Error(), "worker ID 1 was not released") {
			t.Errorf("release() = %v", err)
		}
	}
}

// The first unit of a lease is the first one that starts at or after its NotBefore.
func TestFirstUnitIsNotBeforeTheLease(t *testing.T) {
	for notBefore, want := range map[time.Time]int64{
		{}: 0, epoch.Add(-time.Hour): 0, epoch: 0, epoch.Add(1): 1, at(startUnit): startUnit,
		at(startUnit).Add(1): startUnit + 1, at(startUnit).Add(-1): startUnit,
	} {
		m := newTestManager(t, 31)
		m.assigner.assign = func(l *fakeLease) error { l.notBefore = notBefore; return nil }
		if h, _ := m.acquire(t); h.First() != want {
			t.Errorf("not before %v: the first unit is %d, want %d", notBefore, h.First(), want)
		}
	}
}

// The assigner gets the generator's clock, layout, format and logger.
func TestRequestDescribesTheGenerator(t *testing.T) {
	m := newTestManager(t, 31)
	m.acquire(t)
	m.clock.Advance(time.Hour)
	r := m.assigner.requests[0]
	if r.MaxWorkerID != 1023 || r.Format != "the format" || r.Logger != m.cfg.Logger || r.ReserveAhead != reserveAhead || !r.Now().Equal(at(startUnit+3600)) {
		t.Errorf("%+v at %v", r, r.Now())
	}
}

// A lease that does not fit the layout is an error, and is released unused.
func TestLeaseThatDoesNotFit(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(l *fakeLease)
		want   []error
		text   string
	}{
		"a negative worker ID":  {func(l *fakeLease) { l.id = -1 }, []error{ErrWorkerID}, "worker ID is -1; must be 0 to 1023"},
		"a worker ID too great": {func(l *fakeLease) { l.id = 1024 }, []error{ErrWorkerID}, "worker ID is 1024; must be 0 to 1023"},
		"begins after the end": {func(l *fakeLease) { l.notBefore = workerassign.Unbounded() }, []error{ErrLease, ErrTimeExhausted},
			"must not be used before 9999-12-31T23:59:59Z"},
		"begins at the end": {func(l *fakeLease) { l.notBefore = at(1 << 31) }, []error{ErrLease, ErrTimeExhausted}, "must not be used before"},
	} {
		m := newTestManager(t, 31)
		var assigned *fakeLease
		m.assigner.assign = func(l *fakeLease) error { tt.change(l); assigned = l; return nil }
		h, err := m.Acquire(t.Context())
		for _, want := range tt.want {
			if h != nil || !errors.Is(err, want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%s: Acquire() = %v, %v; want %v with %q", name, h, err, want, tt.text)
			}
		}
		wantReleased(t, assigned, time.Time{})
		if assigned.reserveCalls() != 0 {
			t.Errorf("%s: time was reserved", name)
		}
	}
}

// The least and the greatest worker ID and the last time unit of the layout can be used.
func TestLeaseAtTheBounds(t *testing.T) {
	m := newTestManager(t, 31)
	m.assigner.assign = func(l *fakeLease) error { l.id = 0; return nil }
	if h, _ := m.acquire(t); h.WorkerID() != 0 {
		t.Errorf("worker ID %d, want 0", h.WorkerID())
	}
	m.assigner.assign = func(l *fakeLease) error { l.id, l.notBefore = 1023, at(1<<31-1); return nil }
	h, l := m.acquire(t)
	if h.WorkerID() != 1023 || h.First() != 1<<31-1 || h.Granted() != 1<<31 || !l.requested[0].Equal(at(1<<31)) {
		t.Errorf("worker ID %d, first unit %d, granted %d, requested %v", h.WorkerID(), h.First(), h.Granted(), l.requested)
	}
}

// What Assign returns: a width error is a permanent one, others are not; errors that have a meaning to
// the generator are hidden.
func TestAssignFails(t *testing.T) {
	for _, tt := range []struct {
		err        error
		want, hide error
	}{
		{errStore, ErrLease, ErrWorkerID},
		{fmt.Errorf("too wide: %w", workerassign.ErrWidth), ErrWorkerID, workerassign.ErrWidth},
		{fmt.Errorf("of another generator: %w", ErrTimeExhausted), ErrLease, ErrTimeExhausted},
		{fmt.Errorf("of another generator: %w", ErrWorkerID), ErrLease, ErrWorkerID},
	} {
		m := newTestManager(t, 31)
		m.assigner.assign = func(*fakeLease) error { return tt.err }
		h, err := m.Acquire(t.Context())
		if h != nil || !errors.Is(err, tt.want) || errors.Is(err, tt.hide) || !strings.Contains(err.Error(), tt.err.Error()) {
			t.Errorf("Assign fails with %v: Acquire() = %v, %v; want %v without %v", tt.err, h, err, tt.want, tt.hide)
		}
	}
}

// countedLease is a lease of an assigner that counts worker IDs.
type countedLease struct {
	*fakeLease
	left, of int64
}

func (l countedLease) Reserve(ctx context.Context, until time.Time) (workerassign.Grant, error) {
	g, err := l.fakeLease.Reserve(ctx, until)
	g.Remaining, g.Total = l.left, l.of
	return g, err
}

// countingAssigner assigns countedLeases.
type countingAssigner struct {
	fakeAssigner
	left int64
}

func (a *countingAssigner) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	l, err := a.fakeAssigner.Assign(ctx, r)
	if err != nil {
		return nil, err
	}
	return countedLease{l.(*fakeLease), a.left, r.MaxWorkerID}, nil
}

// The number of remaining worker IDs is never negative.
func TestRemaining(t *testing.T) {
	for _, left := range []int64{-5, 0, 17} {
		m := newTestManager(t, 31)
		m.Manager.assigner = &countingAssigner{left: left}
		h, err := m.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if remaining, total := h.Remaining(); remaining != max(left, 0) || total != 1023 {
			t.Errorf("Remaining() = %d, %d; want %d, 1023", remaining, total, max(left, 0))
		}
	}
	m := newTestManager(t, 31)
	h, _ := m.acquire(t)
	if remaining, total := h.Remaining(); remaining != 0 || total != 0 {
		t.Errorf("of a lease that is not counted: Remaining() = %d, %d", remaining, total)
	}
}

package leasing

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Acquire reserves time. If that fails, it releases the lease unused.
func TestAcquireReservesOrReleases(t *testing.T) {
	m := newTestManager(t, 31)
	m.assigner.assign = func(l *fakeLease) error {
		l.grant = func(time.Time) (time.Time, error) { return time.Time{}, errStore }
		return nil
	}
	if h, err := m.Acquire(t.Context()); h != nil || !errors.Is(err, ErrLease) || !errors.Is(err, errStore) {
		t.Errorf("Acquire() = %v, %v", h, err)
	}
	wantReleased(t, m.assigner.leases[0], time.Time{})

	// A grant that does not include the current unit is a failure too, if the lease has begun.
	m.assigner.assign = func(l *fakeLease) error {
		l.grant = func(time.Time) (time.Time, error) { return at(startUnit), nil }
		return nil
	}
	if h, err := m.Acquire(t.Context()); h != nil || !errors.Is(err, ErrLease) {
		t.Errorf("Acquire() = %v, %v", h, err)
	}
	wantReleased(t, m.assigner.leases[1], time.Time{})
	m.assigner.assign = func(l *fakeLease) error {
		l.notBefore = at(startUnit)
		l.grant = func(time.Time) (time.Time, error) { return at(startUnit), nil }
		return nil
	}
	if h, err := m.Acquire(t.Context()); h != nil || !errors.Is(err, ErrLease) {
		t.Errorf("of a lease that begins now: Acquire() = %v, %v", h, err)
	}
	wantReleased(t, m.assigner.leases[2], time.Time{})
	m.assigner.assign = func(l *fakeLease) error {
		l.notBefore = at(startUnit + 1)
		l.grant = func(time.Time) (time.Time, error) { return at(startUnit), nil }
		return nil
	}
	if _, err := m.Acquire(t.Context()); err != nil {
		t.Errorf("of a lease that begins later: %v", err)
	}
}

// After the end of the time bits no worker ID is used up for a lease that could stamp nothing.
func TestAcquireAfterTheEnd(t *testing.T) {
	m := newTestManager(t, 20)
	m.acquire(t)
	m.clock.Advance((1<<20 - startUnit) * time.Second)
	if h, err := m.Acquire(t.Context()); h != nil || !errors.Is(err, ErrTimeExhausted) || len(m.assigner.leases) != 1 {
		t.Errorf("Acquire() = %v, %v, with %d leases taken; want ErrTimeExhausted without a second one", h, err, len(m.assigner.leases))
	}
}

// A lease is extended from a quarter of its grant on, in the background, and by one call at a time.
func TestExtendIsAheadOfNeed(t *testing.T) {
	m := newTestManager(t, 31)
	h, l := m.acquire(t)
	due := h.lastGrant().askAt
	if err := m.Extend(h, due-1); err != nil || len(m.tasks) != 0 {
		t.Errorf("extended before it is due: %v", err)
	}
	for range 3 {
		if err := m.Extend(h, due); err != nil || l.reserveCalls() != 1 {
			t.Errorf("Extend() = %v, or it blocks", err)
		}
	}
	if n := m.runTasks(); n != 1 || l.reserveCalls() != 2 {
		t.Errorf("%d tasks and %d calls of Reserve, want 1 and 2", n, l.reserveCalls())
	}
	if want := due + 46; h.Granted() != want || m.notified != 1 {
		t.Errorf("granted is unit %d, want %d; %d notifications", h.Granted(), want, m.notified)
	}
	if err := m.Extend(h, due); err != nil || len(m.tasks) != 0 {
		t.Errorf("extended again before it is due: %v", err)
	}
}

// While tries fail, Extend returns the error, and the current unit replaces one that has ended.
func TestExtendFails(t *testing.T) {
	m := newTestManager(t, 31)
	h, l := m.acquire(t)
	unit := h.Granted()
	var during error
	tries := 0
	l.grant = func(until time.Time) (time.Time, error) {
		if tries++; tries == 1 {
			m.clock.Advance(time.Hour)
			return time.Time{}, errStore
		}
		during = m.Extend(h, unit)
		return until, nil
	}
	m.Extend(h, unit)
	m.runTasks()
	if tries != 2 || !errors.Is(during, ErrLease) || !errors.Is(during, errStore) {
		t.Errorf("%d tries, and the error after the first one is %v", tries, during)
	}
	if want := int64(startUnit + 3600 + 46); h.Granted() != want {
		t.Errorf("granted is unit %d, want %d", h.Granted(), want)
	}
}

// If a unit that has not started is not granted, the task ends: the lease is not lost, and nothing has
// changed.
func TestExtendGrantsNothing(t *testing.T) {
	m := newTestManager(t, 31)
	h, l := m.acquire(t)
	end := h.Granted()
	l.grant = func(time.Time) (time.Time, error) { return at(end), nil }
	for range 3 {
		if err := m.Extend(h, end); err != nil {
			t.Errorf("Extend() = %v", err)
		}
		m.runTasks()
	}
	if l.reserveCalls() != 4 || len(m.pauses) != 0 || h.Denied() || !h.IsRefused(end) || m.notified != 0 {
		t.Errorf("%d calls of Reserve, %d pauses, denied %v, refused %v, %d notifications; want 4, 0, false, true, 0",
			l.reserveCalls(), len(m.pauses), h.Denied(), h.IsRefused(end), m.notified)
	}
}

// While the current unit is granted, pauses are an eighth of the time to reserve ahead at most, so that a
// store that is up again is asked before the grant ends. After that they may be longer.
func TestPausesAreShortUntilTheGrantEnds(t *testing.T) {
	for _, ended := range []bool{false, true} {
		m := newTestManager(t, 31)
		h, l := m.acquire(t)
		m.clock.Advance(45 * time.Second) // the last unit that is granted
		if ended {
			m.clock.Advance(time.Second)
		}
		tries := 0
		l.grant = func(until time.Time) (time.Time, error) {
			if tries++; tries <= 20 {
				return time.Time{}, errStore
			}
			return until, nil
		}
		m.Extend(h, h.lastGrant().askAt)
		m.runTasks()
		if longest := slices.Max(m.pauses); longest > reserveAhead/8 != ended || longest > MaxRetryPause {
			t.Errorf("the grant has ended: %v; the longest of %d pauses is %v", ended, len(m.pauses), longest)
		}
	}
}

// A lease that is retired is released in the background, after the call that extends it has ended. A
// failure is logged.
func TestRetireReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, 31)
		m.SetHooks(Hooks{})
		h, l := m.acquire(t)
		ended := false
		l.grant = func(until time.Time) (time.Time, error) {
			<-h.ctx.Done()
			time.Sleep(time.Second)
			ended = true
			return until, nil
		}
		m.Extend(h, h.Granted())
		synctest.Wait()
		l.onRelease = func(context.Context) error {
			if !ended {
				t.Error("the lease was released while Reserve was running")
			}
			return errStore
		}
		m.Retire(h, startUnit+5)
		time.Sleep(time.Minute)
		if synctest.Wait(); !ended {
			t.Error("Reserve did not end with its lease")
		}
		wantReleased(t, l, at(startUnit+5))
		m.wantLog(t, 1, "WARN uid: a lease was not released")
	})
}

// Close stops all tasks and releases the lease in use and the next one, concurrently and each for
// ReleaseTimeout at most. It returns the error of the lease in use.
func TestCloseReleasesAllLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, 31)
		m.SetHooks(Hooks{})
		h, l := m.acquire(t)
		m.Ready(firstUnit)
		synctest.Wait()
		next := m.assigner.leases[1]
		hang := func(ctx context.Context) error { <-ctx.Done(); return errStore }
		l.onRelease, next.onRelease = hang, hang
		l.grant = func(time.Time) (time.Time, error) { return time.Time{}, errStore }
		m.Extend(h, h.Granted()) // a task that fails and pauses
		synctest.Wait()
		begin := time.Now()
		err := m.Close(h, startUnit+5)
		if took := time.Since(begin); !errors.Is(err, errStore) || !strings.Contains(err.Error(), "worker ID 1 was not released") || took != ReleaseTimeout {
			t.Errorf("Close() = %v after %v, want an error after %v", err, took, ReleaseTimeout)
		}
		wantReleased(t, l, at(startUnit+5))
		wantReleased(t, next, time.Time{})
		if m.Next() != nil || h.extending.isRunning() {
			t.Error("after Close there is a next lease, or a task is running")
		}
		select {
		case <-m.Done():
		default:
			t.Error("Done is not closed")
		}
		calls := m.assigner.calls()
		m.Ready(firstUnit)
		if synctest.Wait(); m.assigner.calls() != calls {
			t.Error("a lease was taken after Close")
		}
	})
}

// A next lease that is being taken when Close is called is released too.
func TestCloseReleasesALeaseThatIsBeingTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, 31)
		m.SetHooks(Hooks{})
		h, l := m.acquire(t)
		m.assigner.assign = func(*fakeLease) error { time.Sleep(time.Second); return nil }
		m.Ready(firstUnit)
		synctest.Wait()
		if err := m.Close(h, h.First()); err != nil {
			t.Error(err)
		}
		wantReleased(t, l, time.Time{})
		if m.assigner.calls() != 2 {
			t.Fatalf("%d calls of Assign, want 2", m.assigner.calls())
		}
		wantReleased(t, m.assigner.leases[1], time.Time{})
	})
}

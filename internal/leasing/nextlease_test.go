package leasing

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// firstUnit returns a lease's first unit, as a generator does that has used no other one.
func firstUnit(h *HeldLease) int64 { return max(h.First(), startUnit) }

// Taking a lease may need several tries of the assigner, so it has more time than other tries.
func TestTakingALeaseHasALongerTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, 31)
		m.Ready(firstUnit)
		m.runTasks()
		if deadline, ok := m.assigner.contexts[0].Deadline(); !ok || time.Until(deadline) != workerassign.DefaultTimeout {
			t.Errorf("Assign has a deadline: %v, in %v; want %v", ok, time.Until(deadline), workerassign.DefaultTimeout)
		}
	})
}

// Ready starts to take the next lease in the background, once, and returns it when its first unit is granted.
func TestReadyTakesTheNextLease(t *testing.T) {
	m := newTestManager(t, 31)
	m.acquire(t)
	for range 3 {
		if h, tried, err := m.Ready(firstUnit); h != nil || tried != nil || err != nil {
			t.Errorf("Ready() = %v, %v, %v before the lease is taken", h, tried, err)
		}
	}
	if m.assigner.calls() != 1 {
		t.Error("Ready blocks")
	}
	if n := m.runTasks(); n != 1 || m.assigner.calls() != 2 || m.notified != 1 {
		t.Errorf("%d tasks, %d calls of Assign, %d notifications; want 1, 2, 1", n, m.assigner.calls(), m.notified)
	}
	for range 3 {
		if h, _, err := m.Ready(firstUnit); h == nil || h != m.Next() || h.WorkerID() != 2 || err != nil {
			t.Errorf("Ready() = %v, %v", h, err)
		}
	}
	if n := m.runTasks(); n != 0 {
		t.Errorf("%d tasks were started for a lease that is ready", n)
	}
	if m.Use(); m.Next() != nil {
		t.Error("a lease that is in use is still the next one")
	}
}

// However callers and the task that takes the next lease meet, one lease is taken: nobody would use or release a second one. So whether
// there is one is asked while the task can neither start nor end.
func TestNextLeaseIsTakenOnce(t *testing.T) {
	one := newTestManager(t, 31)
	group, asked := one.currentGroup(), false
	one.prepareUnless(group, func() bool {
		if asked = true; group.assigning.mu.TryLock() {
			group.assigning.mu.Unlock()
			t.Error("the task can take a lease between the question whether there is one and its start")
		}
		return true
	})
	if !asked {
		t.Error("nobody has asked whether there is a next lease")
	}
	for range testkit.Size(1000, 3000) {
		m := newTestManager(t, 31)
		m.SetHooks(Hooks{}) // goroutines
		var mu sync.Mutex   // of the generator
		used := false
		call := func() bool {
			mu.Lock()
			defer mu.Unlock()
			if !used {
				if h, _, _ := m.Ready(firstUnit); h != nil {
					m.Use()
					used = true
				}
			}
			return used
		}
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				for !call() {
				}
			})
		}
		callers.Wait()
		m.running.Wait()
		if m.assigner.calls() != 1 {
			t.Fatalf("%d leases were taken", m.assigner.calls())
		}
	}
}

// A next lease whose first unit is not granted yet is extended, and Ready returns a channel that is closed
// after the next try.
func TestReadyExtendsTheNextLease(t *testing.T) {
	m := newTestManager(t, 31)
	m.acquire(t)
	m.Ready(firstUnit)
	m.runTasks()
	l := m.assigner.leases[1]
	later := func(*HeldLease) int64 { return startUnit + 46 } // the first unit that is not granted
	h, tried, err := m.Ready(later)
	if h != nil || tried == nil || err != nil {
		t.Fatalf("Ready() = %v, %v, %v; want a channel", h, tried, err)
	}
	select {
	case <-tried:
		t.Error("the channel is closed before the try")
	default:
	}
	m.runTasks()
	select {
	case <-tried:
	default:
		t.Error("the channel is not closed after the try")
	}
	if h, _, err := m.Ready(later); h == nil || err != nil || l.reserveCalls() != 2 {
		t.Errorf("Ready() = %v, %v after %d calls of Reserve", h, err, l.reserveCalls())
	}
}

// A next lease that is lost, with an error or without one, is released unused and replaced by another.
func TestReadyReplacesALostLease(t *testing.T) {
	for _, silently := range []bool{false, true} {
		m := newTestManager(t, 31)
		m.acquire(t)
		m.Ready(firstUnit)
		m.runTasks()
		lost := m.assigner.leases[1]
		end := m.Next().Granted()
		lost.grant = func(time.Time) (time.Time, error) {
			if silently {
				return at(end), nil
			}
			return time.Time{}, errStore
		}
		m.clock.Advance(time.Hour)
		current := func(h *HeldLease) int64 { return max(h.First(), startUnit+3600) }
		// One failing try, after which the task does not continue.
		m.cfg.Hooks.Pause = func(context.Context, time.Duration) bool {
			if silently {
				return false
			}
			if h, _, err := m.Ready(current); h != nil || err != nil {
				t.Errorf("Ready() = %v, %v", h, err)
			}
			return false
		}
		m.Ready(current)
		m.runTasks()
		if silently { // the task has ended, and only the lease says that it is lost
			if h, _, err := m.Ready(current); h != nil || err != nil {
				t.Errorf("Ready() = %v, %v", h, err)
			}
			m.runTasks()
		}
		wantReleased(t, lost, time.Time{})
		if h, _, err := m.Ready(current); h == nil || h.WorkerID() != 3 || err != nil {
			t.Errorf("silently %v: Ready() = %v, %v; want worker ID 3", silently, h, err)
		}
		if want := []time.Duration{retryPause(1)}; !slices.Equal(m.delays, want) {
			t.Errorf("silently %v: another lease was taken after delays of %v, want %v", silently, m.delays, want)
		}
	}
}

// The delay before the next lease grows with each lease that is lost soon after it was taken into use. A
// lease that was held for a minute ends that, and one that was used until the borrow limit.
func TestDelayGrowsWithLostLeases(t *testing.T) {
	m := newTestManager(t, 31)
	var want []time.Duration
	take := func() {
		t.Helper()
		m.Ready(firstUnit)
		m.runTasks()
		if m.Use(); !slices.Equal(m.delays, want) {
			t.Fatalf("the delays are %v, want %v", m.delays, want)
		}
	}
	take()
	for n := range int64(12) {
		m.RecordLoss(minHealthy - 1)
		want = append(want, retryPause(n+1))
		take()
	}
	m.RecordLoss(minHealthy)
	take()
	m.RecordLoss(0)
	want = append(want, retryPause(1))
	take()
	m.RecordRollover()
	take()
}

// Errors of the next lease are ErrLease and never the end of the generator. If its worker ID does not fit
// the layout, no other one is requested.
func TestNextLeaseFails(t *testing.T) {
	m := newTestManager(t, 31)
	m.assigner.assign = func(l *fakeLease) error { l.notBefore = at(1 << 31); return nil }
	m.cfg.Hooks.Pause = func(context.Context, time.Duration) bool {
		_, _, err := m.Ready(firstUnit)
		if !errors.Is(err, ErrLease) || errors.Is(err, ErrTimeExhausted) || !strings.Contains(err.Error(), "no next lease") {
			t.Errorf("a lease after the end of the time bits: %v", err)
		}
		return false
	}
	m.Ready(firstUnit)
	if n := m.runTasks(); n != 1 || m.assigner.calls() != 1 {
		t.Errorf("%d tasks, %d calls of Assign, want 1", n, m.assigner.calls())
	}

	m = newTestManager(t, 31)
	m.assigner.assign = func(l *fakeLease) error { l.id = 1024; return nil }
	m.Ready(firstUnit)
	m.runTasks()
	for range 3 {
		if _, _, err := m.Ready(firstUnit); !errors.Is(err, ErrLease) || !errors.Is(err, ErrWorkerID) {
			t.Errorf("a worker ID that does not fit: %v", err)
		}
	}
	if m.runTasks(); m.assigner.calls() != 1 {
		t.Errorf("%d calls of Assign, want 1", m.assigner.calls())
	}
}

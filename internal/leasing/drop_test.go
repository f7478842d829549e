package leasing

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// errVoid is an error of Reserve for a grant that another process may hold.
var errVoid = fmt.Errorf("%w: a copy has it", workerassign.ErrVoid)

// isVoid makes Reserve return errVoid.
func isVoid(time.Time) (time.Time, error) { return time.Time{}, errVoid }

// takeNext takes the next lease.
func (m *testManager) takeNext(t *testing.T) (*HeldLease, *fakeLease) {
	t.Helper()
	m.Ready(firstUnit)
	m.runTasks()
	h := m.Next()
	if h == nil {
		t.Fatal("there is no next lease")
	}
	return h, h.lease.(*fakeLease)
}

// wantNotReleased checks that Release was not called.
func wantNotReleased(t *testing.T, l *fakeLease) {
	t.Helper()
	if len(l.released) != 0 {
		t.Errorf("worker ID %d was released: a copy of the process may hold it", l.id)
	}
}

// A copy of the process has both leases, the one in use and the next one. So if Reserve of either is void, both are dropped
// at once: nothing is granted of them any more. Only the one that is void is released, because otherwise somebody else could
// take the other one while the copy uses it.
func TestInvariant1VoidGrantDropsBothLeases(t *testing.T) {
	for _, void := range []string{"in use", "next", "both"} {
		t.Run(void, func(t *testing.T) {
			m := newTestManager(t, 31)
			inUse, l1 := m.acquire(t)
			next, l2 := m.takeNext(t)
			calls := 0
			m.OnVoid(func(h *HeldLease, err error) {
				if calls++; !errors.Is(err, ErrLease) {
					t.Errorf("OnVoid has %v; want ErrLease", err)
				}
				m.Drop(h, err)
			})
			h := inUse
			if void != "next" {
				l1.grant = isVoid
			}
			if void != "in use" {
				l2.grant = isVoid
			}
			if void == "next" {
				h = next
			}
			m.notified = 0
			m.Extend(h, startUnit+40)
			m.runTasks()
			for _, h := range []*HeldLease{inUse, next} {
				if !h.IsDropped() || h.Granted() != 0 {
					t.Errorf("worker ID %d: IsDropped() = %t, Granted() = %d", h.WorkerID(), h.IsDropped(), h.Granted())
				}
				if err := m.Extend(h, startUnit+1); !errors.Is(err, ErrLease) {
					t.Errorf("worker ID %d: Extend() = %v; want ErrLease", h.WorkerID(), err)
				}
				if failed, err := m.WhyNotGranted(h, startUnit); !failed || !errors.Is(err, ErrLease) {
					t.Errorf("worker ID %d: Check() = %t, %v", h.WorkerID(), failed, err)
				}
			}
			if calls != 1 || m.Next() != nil {
				t.Errorf("OnVoid was called %d times, the next lease is %v", calls, m.Next())
			}
			if unit, _ := m.GrantedUntil(inUse); unit != 0 {
				t.Errorf("GrantedUntil() = %d", unit)
			}
			m.wantLog(t, 1, "ERROR uid: the grant of a lease is void; all UIDs that were not taken are dropped, and another lease is taken")
			// Another lease is taken. The first one is replaced by it.
			another, _ := m.takeNext(t)
			if another.WorkerID() != 3 {
				t.Errorf("the next lease has worker ID %d", another.WorkerID())
			}
			m.Use()
			m.Retire(inUse, startUnit+7)
			m.runTasks()
			if void == "next" {
				wantNotReleased(t, l1)
				wantReleased(t, l2, time.Time{})
			} else {
				wantReleased(t, l1, at(startUnit+7))
				wantNotReleased(t, l2)
			}
		})
	}
}

// Two leases that are found void at the same time, before they are dropped, are counted and logged once.
func TestVoidsAtTheSameTime(t *testing.T) {
	m := newTestManager(t, 31)
	inUse, _ := m.acquire(t)
	next, _ := m.takeNext(t)
	m.OnVoid(func(h *HeldLease, err error) {
		if h == inUse {
			_ = next.error("", errVoid)
		}
		m.Drop(h, err)
	})
	_ = inUse.error("", errVoid)
	if n := m.Voids(); n != 1 {
		t.Errorf("Voids() = %d, want 1", n)
	}
	m.wantLog(t, 1, "ERROR uid: the grant of a lease is void; all UIDs that were not taken are dropped, and another lease is taken")
}

// A lease that is being taken when the leases are dropped is dropped too: a copy of the process may have received it as well.
func TestInvariant1LeaseBeingTakenIsDropped(t *testing.T) {
	m := newTestManager(t, 31)
	inUse, _ := m.acquire(t)
	m.assigner.assign = func(l *fakeLease) error {
		if l.id == 2 {
			m.Drop(inUse, ErrLease)
		}
		return nil
	}
	m.Ready(firstUnit)
	m.runTasks()
	if m.Next() != nil || m.Losses() != 1 {
		t.Errorf("the next lease is %v, %d lost leases; want none and 1", m.Next(), m.Losses())
	}
	wantNotReleased(t, m.assigner.leases[1])
	if h, _ := m.takeNext(t); h.WorkerID() != 3 {
		t.Errorf("the next lease has worker ID %d, want 3", h.WorkerID())
	}
}

// A dropped lease whose extension succeeds later grants nothing.
func TestInvariant1DroppedWhileBeingExtended(t *testing.T) {
	m := newTestManager(t, 31)
	h, l := m.acquire(t)
	l.grant = func(until time.Time) (time.Time, error) {
		m.Drop(h, ErrLease)
		return until, nil
	}
	m.Extend(h, startUnit+40)
	m.runTasks()
	if h.Granted() != 0 {
		t.Errorf("Granted() = %d", h.Granted())
	}
	if err := m.Close(h, startUnit+3); err != nil {
		t.Error(err)
	}
	wantNotReleased(t, l)
}

// A lease that was replaced is released. If that finds that it is void, the lease in use and the next one are dropped: a copy of the
// process has them too, and UIDs of the one that was replaced may not be taken yet.
func TestInvariant1ReleaseFindsVoidGrant(t *testing.T) {
	m := newTestManager(t, 31)
	replaced, l1 := m.acquire(t)
	inUse, l2 := m.takeNext(t)
	m.Use()
	next, l3 := m.takeNext(t)
	l1.onRelease = func(context.Context) error { return errVoid }
	calls := 0
	m.OnVoid(func(h *HeldLease, err error) {
		if calls++; h != replaced || !errors.Is(err, ErrLease) {
			t.Errorf("OnVoid has worker ID %d, %v", h.WorkerID(), err)
		}
		m.Drop(h, err)
	})
	m.Retire(replaced, startUnit+7)
	m.runTasks()
	if calls != 1 || !inUse.IsDropped() || !next.IsDropped() || inUse.Granted() != 0 || m.Next() != nil {
		t.Errorf("OnVoid was called %d times; %d units of the lease in use are granted, and the next lease is %v", calls, inUse.Granted(), m.Next())
	}
	m.wantLog(t, 1, "ERROR uid: the grant of a lease is void; all UIDs that were not taken are dropped, and another lease is taken")
	wantNotReleased(t, l3)
	// The void of a lease that is dropped already says nothing about those that were taken since.
	another, l4 := m.takeNext(t)
	m.Use()
	l2.onRelease = func(context.Context) error { return errVoid }
	inUse.void.Store(true) // its Reserve, too, returned it
	m.Retire(inUse, startUnit+8)
	m.runTasks()
	next, _ = m.takeNext(t)
	if m.Drop(inUse, ErrLease); calls != 1 || another.IsDropped() || m.Next() != next {
		t.Errorf("OnVoid was called %d times; of the leases that were taken later, one is dropped: %t, and the next one is %v", calls, another.IsDropped(), m.Next())
	}
	// A generator that is being closed has nothing to drop, but reports it.
	l4.onRelease = func(context.Context) error { return errVoid }
	if err := m.Close(another, startUnit+9); !errors.Is(err, ErrLease) || calls != 1 {
		t.Errorf("Close() = %v; OnVoid was called %d times", err, calls)
	}
}

// A lease that was replaced, and is not released yet when the leases are dropped, is not released: a copy of the process may use it.
func TestInvariant1ReplacedLeaseIsDropped(t *testing.T) {
	m := newTestManager(t, 31)
	replaced, l := m.acquire(t)
	inUse, _ := m.takeNext(t)
	m.Use()
	m.Retire(replaced, startUnit+7)
	m.Drop(inUse, ErrLease)
	before := l.reserveCalls()
	m.runTasks()
	if wantNotReleased(t, l); l.reserveCalls() != before {
		t.Error("a lease was extended that a copy of the process may hold: the copy would lose it")
	}
}

// A constructor returns the error of a first Reserve that is void.
func TestAcquireOfVoidLease(t *testing.T) {
	m := newTestManager(t, 31)
	var l *fakeLease
	m.assigner.assign = func(assigned *fakeLease) error {
		l, assigned.grant = assigned, isVoid
		return nil
	}
	if _, err := m.Acquire(t.Context()); !errors.Is(err, ErrLease) {
		t.Errorf("Acquire() = %v", err)
	}
	wantReleased(t, l, time.Time{})
}

// Renew drops whatever was taken, although the lease in use was dropped before. Its requests say that they are renewals, until one lease
// was taken: also if that is void at once, but not those after it.
func TestInvariant1DropForRenew(t *testing.T) {
	m := newTestManager(t, 31)
	m.OnVoid(m.Drop)
	inUse, l1 := m.acquire(t)
	next, l2 := m.takeNext(t)
	m.Drop(nil, ErrRenewed)
	if !inUse.IsDropped() || !inUse.IsRenewed() || !next.IsDropped() || m.Next() != nil || inUse.Granted() != 0 {
		t.Error("the leases were not dropped")
	}
	m.assigner.assign = func(l *fakeLease) error {
		if l.id == 3 {
			l.grant = isVoid
		}
		return nil
	}
	m.Ready(firstUnit)
	m.runTasks() // the third lease
	another, l4 := m.takeNext(t)
	m.Drop(nil, ErrRenewed) // inUse is dropped already, and another was taken since
	if !another.IsDropped() || m.Next() != nil {
		t.Error("the lease that was taken after the first drop was not dropped")
	}
	_, l5 := m.takeNext(t)
	m.Use()
	if err := m.AwaitTaken(t.Context()); err != nil || len(m.tasks) != 0 {
		t.Errorf("AwaitTaken() = %v, and started %d tasks; want none, because a lease was taken since the drop, and is in use", err, len(m.tasks))
	}
	m.takeNext(t)
	var renewals []int64
	for n, r := range m.assigner.requests {
		if r.Renewal {
			renewals = append(renewals, int64(n+1))
		}
	}
	if fmt.Sprint(renewals) != "[3 4 5]" {
		t.Errorf("the requests %v were renewals, want 3, which was void, 4 and 5", renewals)
	}
	m.Retire(inUse, startUnit+7)
	m.runTasks()
	for _, l := range []*fakeLease{l1, l2, l4, l5} {
		wantNotReleased(t, l)
	}
	if m.Losses() != 0 {
		t.Errorf("%d leases were lost, want none: Renew is no loss", m.Losses())
	}
}

// A lease that is being taken when Renew drops the leases is dropped too. What its Assign, which ends later, returns is not released,
// and the lease after it is requested at once, although leases were lost one after the other.
func TestInvariant1LeaseBeingTakenForRenew(t *testing.T) {
	m := newTestManager(t, 31)
	inUse, _ := m.acquire(t)
	m.RecordLoss(0)
	m.Ready(firstUnit)
	m.Drop(nil, ErrRenewed)
	m.Ready(firstUnit)
	if len(m.tasks) != 2 {
		t.Fatalf("%d tasks are running, want 2: that of the dropped group, and another one", len(m.tasks))
	}
	m.tasks[0], m.tasks[1] = m.tasks[1], m.tasks[0]
	m.runTasks()
	if h := m.Next(); h == nil || h.WorkerID() != 2 || h.IsDropped() {
		t.Errorf("the next lease is %v, want the one that was requested after the drop", h)
	}
	for _, l := range m.assigner.leases[1:] {
		wantNotReleased(t, l)
	}
	if len(m.delays) != 1 {
		t.Errorf("the delays were %v; want that of the first task only", m.delays)
	}
	if !inUse.IsRenewed() || m.Losses() != 1 {
		t.Errorf("%d leases were lost, want 1", m.Losses())
	}
}

// AwaitTaken has a lease taken, and returns when that is done, or when Close begins.
func TestAwaitTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, 31)
		done := make(chan error, 1)
		go func() { done <- m.AwaitTaken(t.Context()) }()
		synctest.Wait()
		if len(done) > 0 {
			t.Fatalf("AwaitTaken() = %v before a lease was taken", <-done)
		}
		m.runTasks()
		if err := <-done; err != nil || m.Next() == nil {
			t.Errorf("AwaitTaken() = %v, and the next lease is %v", err, m.Next())
		}
		m.cancel()
		if err := m.AwaitTaken(t.Context()); !errors.Is(err, context.Canceled) {
			t.Errorf("AwaitTaken() while Close has begun = %v", err)
		}
	})
}

// IsAskedBefore compares with the unit for which the task that extends the lease was started last.
func TestIsAskedBefore(t *testing.T) {
	h := NewHeldLease(1, 0)
	h.asked.Store(7)
	if h.IsAskedBefore(6) || h.IsAskedBefore(7) || !h.IsAskedBefore(8) {
		t.Error("asked for unit 7: IsAskedBefore is wrong at 6, 7 or 8")
	}
}

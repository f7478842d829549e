package assigntest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// takeSome takes leases and reserves time for them.
func (t *assignerTest) takeSome(a workerassign.Assigner, when string, ahead time.Duration) []*lease {
	t.Helper()
	var leases []*lease
	for n := range 4 {
		l := t.assign(a, fmt.Sprintf("lease %d %s", n, when))
		l.mustReserve(ahead)
		leases = append(leases, l)
	}
	return leases
}

// extend extends leases after a fault, in which they may have been lost, and releases every other one.
func (t *assignerTest) extend(leases []*lease) {
	t.Helper()
	for n, l := range leases {
		err := l.reserve(2 * time.Second)
		for deadline := time.Now().Add(t.h.Recovery); err != nil && !errors.Is(err, workerassign.ErrLeaseLost) && !errors.Is(err, recycled.ErrPool) &&
			time.Now().Before(deadline); err = l.reserve(2 * time.Second) {
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			t.Logf("%s: %v", l.name, err)
		}
		if n%2 == 0 {
			l.abandon()
			continue
		}
		if err := l.release(l.passed()); err != nil {
			t.Logf("%s: Release: %v", l.name, err)
		}
	}
}

// Leases before and after a restart of the server are disjoint.
func testAssignerRestart(t *assignerTest) {
	a := t.open()
	before := t.takeSome(a, "before the restart", time.Second)
	t.h.Kill(t.TB)
	t.h.Start(t.TB)
	during := t.takeSome(a, "after the restart", time.Second)
	t.extend(before)
	t.extend(during)
	t.extend(t.takeSome(t.open(), "at the end", time.Second))
}

// Leases are disjoint although the store loses writes that it has acknowledged.
func testAssignerWritesLost(t *assignerTest) {
	a := t.open()
	before := t.takeSome(a, "before the failover", 20*time.Second)
	var lost []*lease
	t.h.LoseWrites(t.TB, func() {
		for _, l := range before {
			l.mustReserve(40 * time.Second)
		}
		lost = t.takeSome(a, "during the failover", 40*time.Second)
		if err := before[3].release(time.Now().Add(time.Second)); err != nil {
			t.Fatalf("Release: %v", err)
		}
	})
	before = before[:3]
	after := t.takeSome(a, "after the failover", time.Second)
	t.extend(before)
	t.extend(lost)
	t.extend(after)
	t.extend(t.takeSome(t.open(), "at the end", time.Second))
}

// If requests are lost, nothing is granted.
func testAssignerRequestsLost(t *assignerTest) { t.lost("requests", t.h.LoseRequests) }

// If replies are lost, nothing is granted. A slot that was taken meanwhile is nobody's until its grace has
// ended.
func testAssignerRepliesLost(t *assignerTest) { t.lost("replies", t.h.LoseReplies) }

func (t *assignerTest) lost(what string, lose func(tb testing.TB, call func())) {
	a := t.open()
	before := t.takeSome(a, "before", time.Second)
	lose(t.TB, func() {
		for n, l := range before {
			if err := l.reserveQuickly(time.Second * time.Duration(n+2)); err == nil {
				t.Errorf("%s: Reserve returned no error although all %s were lost", l.name, what)
			}
		}
		l, err := assignQuickly(a, t.request(0))
		if err == nil {
			t.Errorf("Assign returned a lease on worker ID %d although all %s were lost", l.WorkerID(), what)
		}
	})
	after := t.takeSome(t.open(), "after", time.Second)
	t.extend(before)
	t.extend(after)
}

// Leases are disjoint although the store's clock is set back.
func testAssignerClockStep(t *assignerTest) {
	step := t.h.HostBound / 2
	if t.h.HostBound == 0 {
		step = time.Hour
	}
	a := t.open()
	before := t.takeSome(a, "before the step", time.Second)
	for n, l := range before {
		if n%2 == 0 {
			if err := l.release(l.passed()); err != nil {
				t.Fatalf("Release: %v", err)
			}
		}
	}
	before = []*lease{before[1], before[3]}
	t.stepped(-step, func() { t.extend(t.takeSome(a, "after the step back", time.Second)) })
	t.stepped(step, func() { t.extend(t.takeSome(t.open(), "after the step forward", time.Second)) })
	t.extend(before)
}

// stepped calls f while the server's clock is changed by d.
func (t *assignerTest) stepped(d time.Duration, f func()) {
	t.h.StepClock(t.TB, d)
	defer t.h.StepClock(t.TB, -d)
	bound := t.h.ClockBound
	t.h.ClockBound += max(d, -d)
	defer func() { t.h.ClockBound = bound }()
	f()
}

// quickly bounds a call whose reply does not come.
const quickly = 500 * time.Millisecond

func assignQuickly(a workerassign.Assigner, r workerassign.Request) (workerassign.Lease, error) {
	ctx, cancel := context.WithTimeout(context.Background(), quickly)
	defer cancel()
	return a.Assign(ctx, r)
}

func (l *lease) reserveQuickly(ahead time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), quickly)
	defer cancel()
	_, err := l.Reserve(ctx, time.Now().Add(ahead))
	return err
}

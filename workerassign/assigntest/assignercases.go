package assigntest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A lease has a start, grants time, grants no more after its release, and can be released twice.
func testOneLease(t *assignerTest) {
	l := t.assign(t.open(), "the lease")
	if l.NotBefore().After(time.Now().Add(t.h.ClockBound + t.h.HostBound)) {
		t.Errorf("the first lease of a new pool begins at %s; must begin now", stamp(l.NotBefore()))
	}
	begin := time.Now()
	l.mustReserve(5 * time.Second)
	if now := time.Now(); !l.granted.After(now) && now.Before(begin.Add(5*time.Second)) {
		t.Fatalf("Reserve of 5 s granted only the time before %s; must grant time in the future", stamp(l.granted))
	}
	l.mustReserve(-time.Hour) // grants nothing new, and takes nothing back
	l.mustReserve(6 * time.Second)
	id := l.WorkerID()
	if err := l.release(l.passed()); err != nil {
		t.Fatalf("Release: %v", err)
	}
	if err := l.Release(context.Background(), time.Now()); err != nil {
		t.Errorf("the second Release: %v", err)
	}
	if l.WorkerID() != id {
		t.Errorf("the worker ID changed from %d to %d", id, l.WorkerID())
	}
}

// Leases that follow one another have disjoint spans, also when what was granted was not used, or was
// used to its end.
func testSuccessor(t *assignerTest) {
	assigners := []workerassign.Assigner{t.open(), t.open()}
	ids := map[int64]bool{}
	for n := range 12 {
		l := t.assign(assigners[n%2], fmt.Sprint("lease ", n))
		ids[l.WorkerID()] = true
		l.mustReserve(30 * time.Millisecond)
		l.mustReserve(50 * time.Millisecond)
		used := time.Now()
		switch n % 4 {
		case 1: // all of it
			used = l.granted
			time.Sleep(60 * time.Millisecond)
		case 2: // nothing
			used = time.Time{}
		}
		if used.After(l.granted) { // the store was slow
			used = l.granted
		}
		if l.NotBefore().After(used) && n%4 != 2 {
			used = l.NotBefore()
		}
		if err := l.release(used); err != nil {
			t.Fatalf("Release: %v", err)
		}
	}
	if t.h.Recycles && len(ids) > 3 {
		t.Errorf("12 leases, one after the other, have %d worker IDs; an assigner that recycles them needs no more than 3", len(ids))
	}
}

// A worker ID whose lease was not released is not used again before the end of its grant. There are so few
// worker IDs that some are used again.
func testWithoutRelease(t *assignerTest) {
	if t.h.Recycles {
		t.h.Request.MaxWorkerID = min(t.h.Request.MaxWorkerID, 2)
	}
	a := t.open()
	for n := range 6 {
		l := t.assign(a, fmt.Sprint("lease ", n))
		l.mustReserve(time.Duration(n%3) * 100 * time.Millisecond)
		l.abandon()
	}
}

// Many generators with different clocks take leases, extend them, and release them or crash.
func testGenerators(t *assignerTest) {
	const generators, each = 12, 12
	skew := t.h.HostBound / 2
	if t.h.HostBound == 0 {
		skew = time.Hour
		// A generator takes no slot before its own clock shows the end of the lease that had it: it must find another one for up to two hours.
		t.h.Request.MaxWorkerID = max(t.h.Request.MaxWorkerID, 2*generators*each)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*t.h.Recovery)
	defer cancel()
	var running sync.WaitGroup
	for g := range generators {
		a := t.open()
		running.Go(func() {
			for n := range each {
				name := fmt.Sprintf("lease %d of generator %d", n, g)
				granted, err := a.Assign(ctx, t.request(rand.N(2*skew+1)-skew))
				if errors.Is(err, recycled.ErrPoolFull) {
					continue // generators that crashed hold all worker IDs
				}
				if err != nil {
					t.Errorf("%s: Assign: %v", name, err)
					return
				}
				if l := t.newLease(granted, name); l != nil {
					t.live(l)
				}
			}
		})
	}
	running.Wait()
}

// live is the life of a lease: it is extended some times, and then released, or not.
func (t *assignerTest) live(l *lease) {
	for range rand.IntN(4) {
		if err := l.reserve(rand.N(40*time.Millisecond) - 5*time.Millisecond); err != nil {
			if !errors.Is(err, workerassign.ErrLeaseLost) {
				t.Errorf("%s: Reserve: %v", l.name, err)
			}
			break
		}
		time.Sleep(rand.N(5 * time.Millisecond))
	}
	switch rand.IntN(8) {
	case 0:
		l.abandon()
		return
	case 1: // a long pause, in which another may take the slot
		time.Sleep(50 * time.Millisecond)
		l.abandon()
		return
	}
	used := l.NotBefore()
	if length := l.granted.Sub(used); length > 0 {
		// Often what has passed, as a generator does that stamps the present.
		used = used.Add(rand.N(length + 1))
		if now := time.Now(); used.After(now) && rand.IntN(4) > 0 && now.After(l.NotBefore()) {
			used = now
		}
	}
	if err := l.release(used); err != nil {
		t.Errorf("%s: Release: %v", l.name, err)
	}
}

// R6: no grant reaches beyond the horizon, whatever is asked for.
func testHorizon(t *assignerTest) {
	if t.h.Horizon == 0 {
		t.Skipf("the harness has no horizon")
	}
	l := t.assign(t.open(), "the lease")
	for _, ahead := range []time.Duration{t.h.Horizon / 2, t.h.Horizon, t.h.Horizon + time.Minute, 100 * t.h.Horizon, 1e6 * time.Hour} {
		begin := time.Now()
		l.mustReserve(ahead) // which checks the grant
		if ahead >= t.h.Horizon && l.granted.Before(begin.Add(t.h.Horizon/2)) {
			t.Errorf("Reserve of %v granted only the time before %s; must grant up to the horizon %v", ahead, stamp(l.granted), t.h.Horizon)
		}
	}
	l.abandon()
}

// R8: a host whose clock differs from the store's by more than the bound is refused.
func testClockSkew(t *assignerTest) {
	if t.h.HostBound == 0 {
		t.Skipf("the harness has no bound for the clocks of hosts")
	}
	a := t.open()
	t.assign(a, "a host whose clock is right").abandon()
	const late = 2 * time.Second // how much later the store's clock may be read than that of the host
	margin := t.h.ClockBound + late
	for _, ahead := range []time.Duration{24 * time.Hour, -24 * time.Hour, t.h.HostBound + margin, -t.h.HostBound - margin} {
		l, took, err := t.assignAhead(a, ahead)
		for range 20 {
			if errors.Is(err, recycled.ErrClockSkew) || took < late {
				break
			}
			l, took, err = t.assignAhead(a, ahead)
		}
		if !errors.Is(err, recycled.ErrClockSkew) {
			t.Errorf("rule R8 is broken: a host whose clock differs by %v got the lease %v and the error %v; want an error that wraps ErrClockSkew", ahead, l, err)
		}
	}
}

// assignAhead takes a lease for a host whose clock is ahead of this one's. It returns how long that took.
func (t *assignerTest) assignAhead(a workerassign.Assigner, ahead time.Duration) (l workerassign.Lease, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), t.h.patience)
	defer cancel()
	begin := time.Now()
	l, err = a.Assign(ctx, t.request(ahead))
	return l, time.Since(begin), err
}

// Assign with a context that has ended returns an error, or a lease that is as good as any.
func testAssignContextEnded(t *assignerTest) {
	a := t.open()
	t.assign(a, "the first lease").abandon()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for n := range 5 {
		if l, err := a.Assign(ctx, t.request(0)); err == nil {
			if held := t.newLease(l, fmt.Sprint("lease ", n, " of a context that has ended")); held != nil {
				held.abandon()
			}
		}
	}
	for n := range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), rand.N(2*time.Millisecond))
		if l, err := a.Assign(ctx, t.request(0)); err == nil && l != nil {
			held := t.newLease(l, fmt.Sprint("lease ", n, " of a context that ends soon"))
			if until, err := l.Reserve(ctx, time.Now().Add(time.Second)); err == nil {
				held.granted = until.Until
			}
			held.abandon()
		}
		cancel()
	}
	l := t.assign(a, "the last lease")
	l.mustReserve(time.Second)
	l.abandon()
}

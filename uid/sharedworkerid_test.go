package uid

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// ordinal is an assigner of one worker ID in disjoint spans, where each lease ends the one
// before it: as a store with an ordinal for each host has them.
type takeoverAssigner struct {
	mu           sync.Mutex
	grantedUntil time.Time // no time at or after it was granted
	current      int64
	failEnded    bool // Reserve of an ended lease fails; else it grants nothing more
	endedCalls   int  // how often that was
}

func (o *takeoverAssigner) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.current++
	n, granted := o.current, o.grantedUntil
	l := &fakeLease{id: 3, notBefore: o.grantedUntil}
	l.reserve = func(_ context.Context, until time.Time) (time.Time, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if n != o.current {
			o.endedCalls++
			if o.failEnded {
				return time.Time{}, errLeaseEnded
			}
			return granted, nil
		}
		if until.After(o.grantedUntil) {
			o.grantedUntil = until
		}
		granted = o.grantedUntil
		return granted, nil
	}
	return l, nil
}

var errLeaseEnded = errors.New("the lease was ended by a later one")

// A generator on such a store gives out the layout's rate at its bound, with rollovers, which
// gain nothing, as without.
func TestInvariant1NewLeaseEndsThePreviousOne(t *testing.T) {
	for _, rollover := range []bool{true, false} {
		for _, fail := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				o := &takeoverAssigner{failEnded: fail}
				c := newCached(t, o, smallOptions(t, WithRollover(rollover))...)
				got, failed, err := takeFor(t, c, 5*time.Minute)
				if got < 300*16*9/10 || got > 320*16 {
					t.Errorf("rollover %v, fail %v: %d UIDs in five minutes, %d are wanted; %d calls failed, %v",
						rollover, fail, got, 310*16, failed, err)
				}
				c.Close()
				if rollover != (o.endedCalls > 0) {
					t.Errorf("rollover %v: %d leases were ended by another", rollover, o.endedCalls)
				}
			})
		}
	}
}

// A lease with an end: nothing is stamped that was not granted; reservations come ahead of
// need; when the store is down what was granted flows, then an error says why.
func TestCachedStaysWithinTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &recyclingAssigner{granted: time.Now().Add(3 * time.Second)}
		floor := a.granted
		c := newCached(t, a, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 5)), WithReserveAhead(20*time.Second))
		granted := func() time.Time {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.granted
		}
		for range 32 * 100 {
			p := c.Parse(next(t, c))
			synctest.Wait()
			if p.Time.Before(floor) || !p.Time.Before(granted()) {
				t.Fatalf("%v: the lease is from %v to %v", p, floor, granted())
			}
		}
		if a.reserveCalls < 5 || a.reserveCalls > 30 {
			t.Errorf("100 seconds were reserved in %d steps of 20", a.reserveCalls)
		}
		down := errors.New("the store is down")
		a.failWith(down)
		var (
			last time.Time
			err  error
			id   ID
		)
		for err == nil {
			if id, err = c.Next(); err == nil {
				last = c.Parse(id).Time
			}
			synctest.Wait()
		}
		if !errors.Is(err, down) || !last.Equal(granted().Add(-time.Second)) {
			t.Errorf("the last UID is of %v, the grant goes to %v, and Next() = %v", last, granted(), err)
		}
		a.failWith(nil)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.ring.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		next(t, c)
	})
}

// Invariant 1, of leases that share a worker ID: several generators after each other, each
// of which is left without being closed, take UIDs that all differ.
func TestInvariant1SharedWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &recyclingAssigner{granted: time.Now()}
		var last ID = -1
		for range 10 {
			c := newCached(t, a, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 5)), WithReserveAhead(5*time.Second))
			for range 32*3 + 7 {
				id := next(t, c)
				if id <= last {
					t.Fatalf("%v after %v", c.Parse(id), c.Parse(last))
				}
				last = id
			}
		}
	})
}

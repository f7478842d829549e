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

// takeoverAssigner assigns one worker ID for disjoint spans of time, and each lease ends the previous
// one, as in a store that has one worker ID per host.
type takeoverAssigner struct {
	mu           sync.Mutex
	grantedUntil time.Time // the end of the last grant
	current      int64
	failEnded    bool // Reserve of a lease that was ended fails; otherwise it grants nothing more
	endedCalls   int  // the number of these calls
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

// With such an assigner, UIDs are generated at the layout's rate at the borrow limit, whether or not
// rollovers, which gain nothing, are allowed.
func TestInvariant1NewLeaseEndsThePreviousOne(t *testing.T) {
	for _, rollover := range []bool{true, false} {
		for _, fail := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				a := &takeoverAssigner{failEnded: fail}
				c := newCached(t, a, smallOptions(t, WithRollover(rollover))...)
				got, failed, err := takeFor(t, c, 5*time.Minute)
				if got < 300*16*9/10 || got > 320*16 {
					t.Errorf("rollover %v, fail %v: %d UIDs in five minutes, want %d; %d calls failed, %v",
						rollover, fail, got, 310*16, failed, err)
				}
				c.Close()
				if rollover != (a.endedCalls > 0) {
					t.Errorf("rollover %v: %d calls of a lease that was ended by another", rollover, a.endedCalls)
				}
			})
		}
	}
}

// A lease with an end: only units that were granted are stamped, and more are reserved ahead of need.
// While the store is down, UIDs are generated up to the end of the grant, and then the error says why
// not.
func TestCachedStaysWithinTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &recyclingAssigner{granted: time.Now().Add(3 * time.Second)}
		notBefore := a.granted
		c := newCached(t, a, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 5)), WithReserveAhead(20*time.Second))
		granted := func() time.Time {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.granted
		}
		for range 32 * 100 {
			p := c.Parse(next(t, c))
			synctest.Wait()
			if p.Time.Before(notBefore) || !p.Time.Before(granted()) {
				t.Fatalf("%v is not within the lease, from %v to %v", p, notBefore, granted())
			}
		}
		if a.reserveCalls < 5 || a.reserveCalls > 30 {
			t.Errorf("100 seconds were reserved by %d calls for 20 seconds and more", a.reserveCalls)
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
			t.Errorf("the last UID's time is %v, the grant ends at %v, and Next() = %v", last, granted(), err)
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

// Invariant 1 for leases that share a worker ID: several generators, one after the other, of which none
// is closed, return UIDs that all differ.
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

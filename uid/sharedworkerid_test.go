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
type ordinal struct {
	mu      sync.Mutex
	written time.Time // no time at or after it was granted
	latest  int64
	fail    bool // Reserve of an ended lease fails; else it grants nothing more
	ended   int  // how often that was
}

func (o *ordinal) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.latest++
	n, granted := o.latest, o.written
	l := &made{id: 3, from: o.written}
	l.reserve = func(_ context.Context, until time.Time) (time.Time, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if n != o.latest {
			o.ended++
			if o.fail {
				return time.Time{}, errEnded
			}
			return granted, nil
		}
		if until.After(o.written) {
			o.written = until
		}
		granted = o.written
		return granted, nil
	}
	return l, nil
}

var errEnded = errors.New("the lease was ended by a later one")

// A generator on such a store gives out the layout's rate at its bound, with rollovers, which
// gain nothing, as without.
func TestInvariant1LeasesThatEndOthers(t *testing.T) {
	for _, rollover := range []bool{true, false} {
		for _, fail := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				o := &ordinal{fail: fail}
				c := newCached(t, o, small(t, WithRollover(rollover))...)
				got, failed, err := live(t, c, 5*time.Minute)
				if got < 300*16*9/10 || got > 320*16 {
					t.Errorf("rollover %v, fail %v: %d UIDs in five minutes, %d are wanted; %d calls failed, %v",
						rollover, fail, got, 310*16, failed, err)
				}
				c.Close()
				if rollover != (o.ended > 0) {
					t.Errorf("rollover %v: %d leases were ended by another", rollover, o.ended)
				}
			})
		}
	}
}

// A lease with an end: nothing is stamped that was not granted; reservations come ahead of
// need; when the store is down what was granted flows, then an error says why.
func TestCachedHonoursTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &spans{granted: time.Now().Add(3 * time.Second)}
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
		if a.grants < 5 || a.grants > 30 {
			t.Errorf("100 seconds were reserved in %d steps of 20", a.grants)
		}
		down := errors.New("the store is down")
		a.breakStore(down)
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
		a.breakStore(nil)
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
		a := &spans{granted: time.Now()}
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

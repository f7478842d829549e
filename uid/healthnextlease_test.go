package uid

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/workerassign"
)

// endingLease is an assigner of two leases. The first one ends, and the second one begins later.
type endingLease struct {
	end    atomic.Int64 // of the first one, in seconds since bubbleEpoch
	isLost atomic.Bool  // Reserve of the first one fails
	begins time.Time    // of the second one; zero: there is none
	grants bool         // the second one is granted in advance
}

func (a *endingLease) assigner() *fakeAssigner {
	return &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
		switch {
		case n == 1:
			return &fakeLease{id: 1, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
				end := bubbleEpoch.Add(time.Duration(a.end.Load()) * time.Second)
				if a.isLost.Load() || !time.Now().Before(end) {
					return time.Time{}, errLeaseEnded
				}
				if until.After(end) {
					until = end
				}
				return until, nil
			}}, nil
		case a.begins.IsZero():
			return nil, errSlotsDown
		}
		return &fakeLease{id: 2, notBefore: a.begins, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
			if !a.grants {
				return a.begins, nil
			}
			return until, nil
		}}, nil
	}}
}

// sleepUntil sleeps until a number of seconds after bubbleEpoch, and for goroutines that are woken then.
func sleepUntil(seconds float64) {
	time.Sleep(time.Until(bubbleEpoch.Add(time.Duration(seconds * float64(time.Second)))))
	synctest.Wait()
}

// The lease of a Cached generator is lost, its ring is empty, and the next lease begins later. The generator is OK from the unit on
// before the one in which the borrow limit reaches the begin of that lease, if it is granted.
func TestHealthBeforeTheNextLeaseOfCached(t *testing.T) {
	const start = 86_400 // the time of a new bubble
	for _, grants := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			a := &endingLease{begins: bubbleEpoch.Add((start + 60) * time.Second), grants: grants}
			a.end.Store(start + 5)
			c := newCached(t, a.assigner(), smallOptions(t)...) // which borrows up to 10 s
			sleepUntil(start + 60 - 12)
			h := c.Health()
			if !errors.Is(h.Err, ErrLease) || !errors.Is(h.Err, errLeaseEnded) || !strings.Contains(h.Err.Error(), a.begins.UTC().Format(time.RFC3339)) {
				t.Errorf("granted %v, 12 s before the next lease: Health() = %+v", grants, h)
			}
			sleepUntil(start + 60 - 11)
			if h := c.Health(); h.OK() != grants {
				t.Errorf("granted %v, 11 s before the next lease: Health() = %+v", grants, h)
			}
			sleepUntil(start + 60 - 10)
			if id, err := timedNext(t, c, 500*time.Millisecond); (err == nil) != grants || err == nil && c.Parse(id).Time.Before(a.begins) {
				t.Errorf("granted %v, 10 s before the next lease: Next() = %v, %v", grants, c.Parse(id), err)
			}
		})
	}
}

// A lease begins one unit beyond what may be stamped now: its UIDs can be taken when the next unit starts. Later, the generator is not OK.
func TestHealthOfCachedBeforeItsLease(t *testing.T) {
	for after, want := range map[time.Duration]bool{11 * time.Second: true, 12 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			begins := time.Now().Add(after)
			c := newCached(t, &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
				return &fakeLease{id: n, notBefore: begins}, nil
			}}, smallOptions(t)...)
			if h := c.Health(); h.OK() != want || !want && !errors.Is(h.Err, ErrLease) {
				t.Errorf("%v before the lease: Health() = %+v", after, h)
			}
		})
	}
}

// Padding fails, and the ring is empty: the error of the padding is reported, unless it only says what the generator waits for.
func TestHealthOfCachedWhosePaddingFails(t *testing.T) {
	broken := errors.New("broken")
	c := newCached(t, new(disposableAssigner))
	for _, tt := range []struct{ last, want error }{
		{nil, nil}, {broken, broken}, {&ringbuffer.NotYetError{Reason: errClockBehind}, nil}, {ErrLease, nil},
	} {
		if err := c.runs.whyNotOK(c.runs.current.Load(), ringbuffer.Stats{LastError: tt.last}); err != tt.want {
			t.Errorf("the last error of the padding is %v: %v, want %v", tt.last, err, tt.want)
		}
	}
}

// The lease of a Default generator is lost. Health says when the next one begins, or why there is none.
func TestHealthBeforeTheNextLeaseOfDefault(t *testing.T) {
	const start = 86_400
	for _, later := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			a := &endingLease{grants: true}
			if later {
				a.begins = bubbleEpoch.Add((start + 60) * time.Second)
			}
			a.end.Store(start + 5)
			d := newDefault(t, a.assigner(), smallOptions(t)...)
			for second := 6; second <= 30; second++ {
				sleepUntil(start + float64(second))
			}
			synctest.Wait()
			h := d.Health()
			if !errors.Is(h.Err, ErrLease) || !errors.Is(h.Err, errLeaseEnded) {
				t.Errorf("Health() = %+v", h)
			}
			if later && !strings.Contains(h.Err.Error(), a.begins.UTC().Format(time.RFC3339)) || !later && !errors.Is(h.Err, errSlotsDown) {
				t.Errorf("Health() = %+v", h)
			}
		})
	}
}

// The last unit that is granted is used up, and the lease is lost, but there is another one, which begins with the next unit or later.
func TestHealthOfDefaultInTheLastUnitBeforeTheNextLease(t *testing.T) {
	const start = 86_400
	for _, tt := range []struct {
		begins float64
		grants bool
		ok     bool
	}{{60, true, false}, {41, true, false}, {40, true, true}, {40, false, false}} {
		synctest.Test(t, func(t *testing.T) {
			a := &endingLease{begins: bubbleEpoch.Add(time.Duration(start+tt.begins) * time.Second), grants: tt.grants}
			a.end.Store(start + 5)
			d := newDefault(t, a.assigner(), smallOptions(t)...)
			sleepUntil(start + 10)
			for range 3 { // until the next lease is taken
				d.keep()
				synctest.Wait()
			}
			a.end.Store(start + 40) // the first one recovers
			sleepUntil(start + 25)
			if p := d.Parse(next(t, d)); p.WorkerID != 1 {
				t.Fatalf("%+v", p)
			}
			sleepUntil(start + 39.5)
			for range 16 {
				next(t, d)
			}
			a.isLost.Store(true)
			for range 3 {
				d.keep()
				synctest.Wait()
			}
			if h := d.Health(); h.OK() != tt.ok {
				t.Errorf("%+v: Health() = %+v", tt, h)
			} else if !tt.ok && (!errors.Is(h.Err, errLeaseEnded) || strings.Contains(h.Err.Error(), "must not be used before") != (tt.begins > 40)) {
				t.Errorf("%+v: Health() = %+v", tt, h)
			}
		})
	}
}

// WaitOut waits for the wall clock if it is not further behind than the bound. So a generator is OK then, if that is at most a unit. The
// unit in which its lease begins is one like any other.
func TestHealthOfDefaultWhoseWallClockIsBehind(t *testing.T) {
	for _, tt := range []struct {
		policy RollbackPolicy
		back   time.Duration // noon is in the middle of a unit
		ok     bool
	}{
		{WaitOut(100 * time.Millisecond), 500 * time.Millisecond, true},
		{WaitOut(100 * time.Millisecond), 600 * time.Millisecond, true},
		{WaitOut(100 * time.Millisecond), 601 * time.Millisecond, false},
		{WaitOut(time.Hour), 1500 * time.Millisecond, true},
		{WaitOut(time.Hour), 1501 * time.Millisecond, false},
		{Refuse(), 500 * time.Millisecond, true},
		{Refuse(), 501 * time.Millisecond, false},
	} {
		for _, notBefore := range []time.Time{{}, noon.Truncate(time.Second)} {
			synctest.Test(t, func(t *testing.T) {
				clock := new(bubbleClock)
				offset := time.Until(noon)
				clock.set(offset)
				d := newDefault(t, &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
					return &fakeLease{id: n, notBefore: notBefore}, nil
				}}, WithClock(clock), WithRollback(tt.policy))
				next(t, d)
				clock.set(offset - tt.back)
				if h := d.Health(); h.OK() != tt.ok || !tt.ok && !errors.Is(h.Err, ErrClockBack) {
					t.Errorf("%+v: Health() = %+v", tt, h)
				}
			})
		}
	}
}

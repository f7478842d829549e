package uid

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// What is granted ends at a unit that lies ahead of the clock. The padder tries again soon, and not when the unit starts, although nothing
// wakes it: another lease may be at hand, or more time may be granted by then.
func TestGrantEndsAheadOfTheClock(t *testing.T) {
	short := []any{WithTimeUnit(10 * time.Millisecond), WithLayout(layout(t, 40, 19, 4))}
	for name, tt := range map[string]struct {
		assigner workerassign.Assigner
		opts     []any
	}{
		"the lease is lost while Reserve is under way": {&fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			var calls atomic.Int64
			return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
				if n == 1 && calls.Add(1) > 1 {
					time.Sleep(time.Millisecond)
					return time.Time{}, errLeaseEnded
				}
				return until, nil
			}}, nil
		}}, []any{WithReserveAhead(3 * time.Second), WithRollover(false)}},
		"more is refused, and another lease is at hand": {slowAssigner{&boundedSource{horizon: lasting(20 * time.Second), lag: 6 * time.Second}},
			[]any{WithMaxBorrow(30 * time.Second)}},
		"the clock of the store is behind": {&boundedSource{horizon: lasting(20 * time.Second), lag: 4 * time.Second},
			[]any{WithMaxBorrow(30 * time.Second), WithRollover(false)}},
		"little is granted": {&fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
				if most := time.Now().Add(2 * time.Second); until.After(most) {
					until = most
				}
				return until, nil
			}}, nil
		}}, []any{WithReserveAhead(500 * time.Millisecond), WithRollover(false)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCached(t, tt.assigner, smallOptions(t, append(tt.opts, short...)...)...)
				last := ID(0)
				for start := time.Now(); time.Since(start) < 5*time.Second; {
					begin := time.Now()
					id, err := c.Next()
					if took := time.Since(begin); took > time.Second/2 || err != nil && !errors.Is(err, ErrLease) {
						t.Fatalf("after %v: Next() = %v, %v after %v; the last UID was %v", begin.Sub(start), c.Parse(id), err, took, c.Parse(last))
					}
					if err != nil {
						time.Sleep(time.Millisecond)
						continue
					}
					if c.Parse(id).WorkerID == c.Parse(last).WorkerID && id <= last {
						t.Fatalf("%v comes after %v", c.Parse(id), c.Parse(last))
					}
					last = id
				}
			})
		})
	}
}

// At the borrow limit, while the assigner hangs, UIDs are generated at the layout's rate, also with units that are shorter than the pauses
// of the padder.
func TestBorrowLimitWhileAssignHangs(t *testing.T) {
	for _, policy := range []TakePolicy{CallerPads, Wait} {
		synctest.Test(t, func(t *testing.T) {
			a := &fakeAssigner{assign: func(ctx context.Context, n int64) (workerassign.Lease, error) {
				if n > 1 {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return &fakeLease{id: n}, nil
			}}
			c := newCached(t, a, smallOptions(t, WithLayout(layout(t, 41, 18, 4)), WithTimeUnit(time.Millisecond), WithBoostPower(0),
				WithMaxBorrow(20*time.Millisecond), WithTakePolicy(policy))...)
			for begin := time.Now(); time.Since(begin) < time.Second; {
				start := time.Now()
				if next(t, c); time.Since(start) > 2*time.Millisecond {
					t.Fatalf("%v: Next took %v", policy, time.Since(start))
				}
			}
		})
	}
}

// slowAssigner is an assigner whose leases need time for Reserve.
type slowAssigner struct{ workerassign.Assigner }

func (s slowAssigner) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	l, err := s.Assigner.Assign(ctx, r)
	return slowLease{l}, err
}

type slowLease struct{ workerassign.Lease }

func (l slowLease) Reserve(ctx context.Context, until time.Time) (workerassign.Grant, error) {
	time.Sleep(2 * time.Millisecond)
	return l.Lease.Reserve(ctx, until)
}

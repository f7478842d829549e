package uid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/workerassign"
)

// An assigner's error is never mistaken for one of the library's own, whatever it wraps: it neither
// ends the generator nor stops the padding.
func TestAssignerErrorsAreMasked(t *testing.T) {
	testkit.WithoutRace(t)
	for _, foreign := range []error{ringbuffer.ErrExhausted, ringbuffer.ErrClosed, ringbuffer.ErrEmpty, &ringbuffer.NotYetError{After: time.Hour},
		ErrClosed, ErrTimeExhausted, ErrWorkerID, ErrBeforeEpoch, context.Canceled, errLeaseEnded} {
		for _, way := range []string{"Assign", "Reserve"} {
			t.Run(fmt.Sprintf("%s/%v", way, foreign), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var fail atomic.Bool
					assignerErr := fmt.Errorf("my assigner: %w", foreign)
					a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
						if fail.Load() {
							return nil, assignerErr
						}
						return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
							if way == "Assign" {
								return workerassign.Unbounded(), nil
							}
							if fail.Load() {
								return time.Time{}, assignerErr
							}
							return until, nil
						}}, nil
					}}
					c := newCached(t, a, smallOptions(t)...)
					fail.Store(true)
					_, failed, err := takeFor(t, c, 20*time.Second) // twice the borrow limit
					var notYet *ringbuffer.NotYetError
					isOwn := slices.Contains(ownErrors(), foreign)
					if failed == 0 || isOwn == errors.Is(err, foreign) || errors.As(err, &notYet) || !errors.Is(err, ErrLease) && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%d calls failed, the last one with %v", failed, err)
					}
					if errors.Is(err, ErrClosed) || errors.Is(err, ErrTimeExhausted) {
						t.Errorf("the assigner's error is one of the library's: %v", err)
					}
					fail.Store(false)
					time.Sleep(time.Minute)
					if got, failed, err := takeFor(t, c, 10*time.Second); got < 160 || failed > 0 {
						t.Errorf("after the failure: %d UIDs, %d calls failed, %v", got, failed, err)
					}
				})
			})
		}
	}
}

// The error of a take policy never means that this generator has ended, whatever it wraps: it may be
// that of another generator or ring.
func TestTakePolicyErrorsAreMasked(t *testing.T) {
	policyErr := errors.New("mine")
	for _, foreign := range []error{ringbuffer.ErrClosed, ringbuffer.ErrExhausted, ErrClosed, ErrTimeExhausted,
		&timeExhaustedError{format: mustFormat(t, WithLayout(layout(t, 28, 22, 13)))}} {
		for _, err := range []error{foreign, fmt.Errorf("%w: the next generator too: %w", policyErr, foreign)} {
			c := newCached(t, new(disposableAssigner), WithLayout(layout(t, 31, 28, 4)), WithClock(fakeclock.New(DefaultEpoch().Add(time.Hour))),
				WithMaxBorrow(0), WithRollover(false), WithBoostPower(0), WithScheduleInterval(0),
				WithTakePolicy(takePolicyFunc(func(context.Context, ringbuffer.Waiter) error { return err })))
			for way, take := range map[string]func() error{
				"Next":  func() error { _, err := c.Next(); return err },
				"NextN": func() error { _, err := c.NextN(make([]ID, 100)); return err },
				"Claim": func() error { _, err := c.Claim(context.Background(), 3); return err },
			} {
				var got error
				for n := 0; got == nil && n < 100; n++ {
					got = take()
				}
				if got == nil || errors.Is(got, ErrClosed) || errors.Is(got, ErrTimeExhausted) || errors.Is(got, ringbuffer.ErrClosed) ||
					errors.Is(got, ringbuffer.ErrExhausted) || got.Error() != err.Error() || errors.Is(err, policyErr) != errors.Is(got, policyErr) {
					t.Errorf("%s: the error is %v for %v", way, got, err)
				}
			}
			c.Close()
			if _, err := c.Next(); err != ErrClosed {
				t.Errorf("after Close: %v", err)
			}
		}
	}
}

// A group of goroutines ends with the error of one of them, which may be that of another generator. A call that waits returns the
// context's error, in which the other generator's is not found.
func TestMaskedCauseOfContext(t *testing.T) {
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("another generator: %w: %w", ErrClosed, cause))
	for _, mode := range modes {
		g, err := mode.make(context.Background(), new(disposableAssigner), WithClock(fakeclock.New(noon)), WithLayout(layout(t, 28, 20, 6)), WithBoostPower(0),
			WithMaxBorrow(0), WithRollover(false))
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || errors.Is(err, ErrClosed) {
				t.Errorf("%s, %s: %v", mode.name, what, err)
			}
		}
		for err == nil {
			_, err = g.NextContext(ctx)
		}
		check("NextContext", err)
		for _, err := range g.All(ctx) {
			if err != nil {
				check("All", err)
				break
			}
		}
		check("Renew", g.Renew(ctx))
		g.Close()
	}
}

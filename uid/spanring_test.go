package uid

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
	"github.com/ringuid/ringuid/ringbuffer"
)

// policyFunc is a take policy that is a function.
type policyFunc func(ctx context.Context, r *ringbuffer.Ring) error

func (f policyFunc) OnEmpty(ctx context.Context, r *ringbuffer.Ring) error { return f(ctx, r) }

// What a take policy returns does not read as this generator's end, whatever it wraps: it may be that
// of another generator or ring.
func TestPolicysErrorsAreNotOurs(t *testing.T) {
	mine := errors.New("mine")
	for _, foreign := range []error{ringbuffer.ErrClosed, ringbuffer.ErrExhausted, ErrClosed, ErrTimeExhausted,
		&timeExhaustedError{format: mustFormat(t, WithLayout(layout(t, 28, 22, 13)))}} {
		for _, err := range []error{foreign, fmt.Errorf("%w: the next generator too: %w", mine, foreign)} {
			c := newCached(t, new(numbers), WithLayout(layout(t, 31, 28, 4)), WithClock(fakeclock.New(DefaultEpoch().Add(time.Hour))),
				WithMaxBorrow(0), WithRollover(false), WithBoostPower(0), WithScheduleInterval(0),
				WithTakePolicy(policyFunc(func(context.Context, *ringbuffer.Ring) error { return err })))
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
					errors.Is(got, ringbuffer.ErrExhausted) || got.Error() != err.Error() || errors.Is(err, mine) != errors.Is(got, mine) {
					t.Errorf("%s: %v of %v", way, got, err)
				}
			}
			c.Close()
			if _, err := c.Next(); err != ErrClosed {
				t.Errorf("after Close: %v", err)
			}
		}
	}
}

// A take policy that panics makes its taker's error, and hinders nobody else.
func TestPolicyThatPanics(t *testing.T) {
	c := newCached(t, new(numbers), WithLayout(layout(t, 31, 28, 4)), WithMaxBorrow(0), WithRollover(false), WithBoostPower(0),
		WithTakePolicy(policyFunc(func(context.Context, *ringbuffer.Ring) error { panic("boom") })))
	var err error
	for err == nil {
		_, err = c.Next()
	}
	var p *ringbuffer.PanicError
	if !errors.As(err, &p) || p.Value != "boom" {
		t.Errorf("Next: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// Stats().Issued never falls, is never more than was issued, and neither while UIDs that have grown
// old are dropped nor while the generator is closed.
func TestIssuedNeverFalls(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		c := newCached(t, new(numbers), WithLayout(layout(t, 41, 10, 12)), WithTimeUnit(time.Millisecond),
			WithScheduleInterval(time.Millisecond), WithMaxStaleness(3*time.Millisecond))
		var (
			readers sync.WaitGroup
			stop    atomic.Bool
			issued  atomic.Uint64 // what was, or is about to be
		)
		for range 2 {
			readers.Go(func() {
				last := uint64(0)
				for !stop.Load() && !t.Failed() {
					st := c.Stats()
					if most := issued.Load(); st.Issued < last || st.Issued > most {
						t.Errorf("Issued = %d after %d, and at most %d were", st.Issued, last, most)
					}
					last = st.Issued
					runtime.Gosched()
				}
			})
		}
		for range 10 {
			issued.Add(1)
			next(t, c)
			time.Sleep(time.Millisecond)
		}
		c.Close()
		stop.Store(true)
		readers.Wait()
		if n := c.Stats().Issued; n != 10 {
			t.Errorf("Issued = %d after Close, want 10", n)
		}
		if t.Failed() {
			return
		}
	}
}

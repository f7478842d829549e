package uid

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/workerassign"
)

// takePolicyFunc is a function as a take policy.
type takePolicyFunc func(ctx context.Context, w ringbuffer.Waiter) error

func (f takePolicyFunc) OnEmpty(ctx context.Context, w ringbuffer.Waiter) error { return f(ctx, w) }

// A panic of a take policy is one of its taker. A taker that recovers goes on with the generator.
func TestTakePolicyPanics(t *testing.T) {
	var broken atomic.Bool
	c := newCached(t, new(disposableAssigner), WithLayout(layout(t, 31, 28, 4)), WithMaxBorrow(0), WithRollover(false), WithBoostPower(0),
		WithTakePolicy(takePolicyFunc(func(ctx context.Context, w ringbuffer.Waiter) error {
			if broken.Load() {
				panic("boom")
			}
			return w.Pad(ctx)
		})))
	last := next(t, c)
	broken.Store(true)
	func() {
		defer func() {
			if v := recover(); v != "boom" {
				t.Errorf("recover() = %v", v)
			}
		}()
		for {
			id, err := c.Next()
			if err != nil || id <= last {
				t.Errorf("Next() = %d, %v after %d", id, err, last)
				return
			}
			last = id
		}
	}()
	broken.Store(false)
	for range 3 {
		id := next(t, c)
		if id <= last {
			t.Errorf("%d after %d", id, last)
		}
		last = id
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// countingPolicy is a user's take policy: it counts its calls, and waits.
type countingPolicy struct {
	mu    sync.Mutex
	asked int
}

func (p *countingPolicy) OnEmpty(ctx context.Context, w ringbuffer.Waiter) error {
	p.mu.Lock()
	p.asked++
	p.mu.Unlock()
	return w.Wait(ctx)
}

func TestUserTakePolicy(t *testing.T) {
	p := new(countingPolicy)
	c := newCached(t, new(disposableAssigner), WithLayout(layout(t, 40, 21, 1)), WithBoostPower(0), WithTakePolicy(p))
	for range 1000 {
		next(t, c)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == 0 || uint64(p.asked) != c.Stats().RejectedTakes {
		t.Errorf("the policy was called %d times, but Stats().RejectedTakes = %d", p.asked, c.Stats().RejectedTakes)
	}
}

func TestWaitingTakeIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, policy := range []TakePolicy{CallerPads, Wait} {
			c := newCached(t, workerassign.Static(1), WithEpoch(bubbleEpoch), WithTakePolicy(policy))
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			id, err := c.NextContext(ctx)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrEmpty) || id != 0 {
				t.Errorf("%v: NextContext() = %d, %v", policy, id, err)
			}
			c.Close()
		}
	})
}

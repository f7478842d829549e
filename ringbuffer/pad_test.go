package ringbuffer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitEndsWithContextAndClose(t *testing.T) {
	never := providerFunc(func(context.Context) (Run, error) {
		return Run{}, &NotYetError{After: time.Hour, Reason: errors.New("no luck")}
	})
	for _, policy := range []TakePolicy{CallerPads, Wait} {
		t.Run(fmt.Sprintf("%v/context", policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newTestRing(t, Config{TakePolicy: policy, Provider: never})
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				_, err := r.Take(ctx)
				if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "no luck") {
					t.Errorf("Take() = %v, want the error of the context, ErrEmpty and the reason", err)
				}
			})
		})
		t.Run(fmt.Sprintf("%v/close", policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newTestRing(t, Config{TakePolicy: policy, Provider: never})
				var takers sync.WaitGroup
				for range 10 {
					takers.Go(func() {
						if _, err := r.Take(context.Background()); !errors.Is(err, ErrClosed) {
							t.Errorf("Take() = %v, want ErrClosed", err)
						}
					})
				}
				synctest.Wait()
				r.Close()
				takers.Wait()
			})
		})
	}
}

// A taker that pads waits for a slow provider, but not longer than its context.
func TestPadWaitsForOtherPadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := newTestRing(t, Config{Capacity: 1, Provider: providerFunc(func(ctx context.Context) (Run, error) {
			if calls++; calls == 1 {
				return Run{Length: 1}, nil
			}
			select {
			case <-time.After(time.Minute):
				return Run{First: int64(calls), Length: 1}, nil
			case <-ctx.Done():
				return Run{}, ctx.Err()
			}
		})})
		mustTake(t, r, 0)
		first, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var takers sync.WaitGroup
		takers.Go(func() {
			if _, err := r.Take(first); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Take() = %v, want context.DeadlineExceeded", err)
			}
		})
		takers.Go(func() {
			time.Sleep(time.Millisecond)
			if _, err := r.Take(context.Background()); err != nil {
				t.Errorf("Take() = %v", err)
			}
		})
		takers.Wait()
	})
}

// A goroutine pads while the padder sleeps, and the provider has no run yet. The padder asks again, although nobody else wakes
// it.
func TestPadWithoutRunWakesPadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r, err := newRing(Config{Capacity: 1, Logger: discardLogger(), Provider: providerFunc(func(context.Context) (Run, error) {
			if calls++; calls <= 2 { // Pad asks twice
				return Run{}, &NotYetError{After: time.Millisecond}
			}
			return Run{First: 5, Length: 1}, nil
		})}, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		r.startPadder(0)
		synctest.Wait()
		padded := make(chan error, 1)
		go func() { padded <- r.Pad(context.Background()) }()
		time.Sleep(time.Minute)
		select {
		case err := <-padded:
			if err != nil {
				t.Errorf("Pad() = %v", err)
			}
		default:
			t.Error("Pad still waits, although the provider has a run")
		}
	})
}

// BeforeRun, which may be slow code of the user, is not called for a run that the ring has no room for.
func TestFullRingDoesNotCallBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var before, provided atomic.Int64
		r := newTestRing(t, Config{
			Capacity:  2,
			BeforeRun: func() { before.Add(1) },
			Provider:  providerFunc(func(context.Context) (Run, error) { provided.Add(1); return Run{Length: 1}, nil }),
		})
		r.Kick()
		synctest.Wait() // for the padder
		if b, p := before.Load(), provided.Load(); b != 2 || p != 2 {
			t.Errorf("in a ring for 2 runs, BeforeRun was called %d times, and the provider %d times", b, p)
		}
	})
}

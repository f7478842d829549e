package ringbuffer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

package ringbuffer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// If an error of user code wraps an error of this package, perhaps one of another ring, errors.Is does
// not find that error in what this ring returns.
func TestUserErrorsAreMasked(t *testing.T) {
	mine := errors.New("mine")
	foreign := fmt.Errorf("another ring: %w: %w and %w", mine, ErrClosed, ErrExhausted)
	closed := fmt.Errorf("another ring: %w: %w", mine, ErrClosed)
	for _, tt := range []struct {
		name string
		cfg  Config
	}{
		{"a take policy", Config{TakePolicy: takePolicyFunc(func(context.Context, Waiter) error { return foreign })}},
		{"a joined error of a take policy", Config{TakePolicy: takePolicyFunc(func(context.Context, Waiter) error {
			return errors.Join(mine, ErrClosed)
		})}},
		{"a provider that fails", Config{Provider: providerFunc(func(context.Context) (Run, error) { return Run{}, closed })}},
		{"the reason of a NotYetError", Config{TakePolicy: Fail, Provider: providerFunc(func(context.Context) (Run, error) {
			return Run{}, &NotYetError{After: time.Second, Reason: foreign}
		})}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.cfg.Logger = discardLogger()
				r, err := newRing(tt.cfg, 0)
				if err != nil {
					t.Fatal(err)
				}
				wait, _ := r.fill(context.Background(), &r.counters.paddings.initial)
				if wait == 0 && tt.cfg.Provider != nil {
					t.Error("fill() returned no delay, so the padder would not try again")
				}
				for range 3 {
					_, err := r.Take(context.Background())
					if err == nil || errors.Is(err, ErrClosed) || errors.Is(err, ErrExhausted) || !errors.Is(err, mine) ||
						!strings.Contains(err.Error(), "mine") {
						t.Errorf("Take() = %v", err)
					}
				}
				if err := r.Stats().LastError; errors.Is(err, ErrClosed) || errors.Is(err, ErrExhausted) {
					t.Errorf("LastError is %v", err)
				}
				r.Close()
				if _, err := r.Take(context.Background()); err != ErrClosed {
					t.Errorf("Take() = %v after Close", err)
				}
			})
		})
	}
	t.Run("a put policy", func(t *testing.T) {
		r := newTestRing(t, Config{Capacity: 1, PutPolicy: putPolicyFunc(func(context.Context, *Ring, Run) error { return foreign })})
		mustPut(t, r, 0, 1)
		if err := r.Put(context.Background(), Run{Length: 1}); !errors.Is(err, mine) || errors.Is(err, ErrClosed) {
			t.Errorf("Put() = %v", err)
		}
	})
	t.Run("an exhausted provider", func(t *testing.T) {
		r, err := newRing(Config{Logger: discardLogger(), Provider: providerFunc(func(context.Context) (Run, error) { return Run{}, foreign })}, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := r.Take(context.Background()); !errors.Is(err, ErrExhausted) || errors.Is(err, ErrClosed) || !errors.Is(err, mine) {
			t.Errorf("Take() = %v", err)
		}
	})
}

// A call of the provider that Close cancels is not a failure. A taker that waited for it gets ErrClosed.
func TestCloseIsNotAProviderFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := newTestRing(t, Config{Capacity: 1, Provider: providerFunc(func(ctx context.Context) (Run, error) {
			if calls++; calls == 1 {
				return Run{Length: 1}, nil
			}
			<-ctx.Done()
			return Run{}, ctx.Err()
		})})
		mustTake(t, r, 0)
		done := make(chan error)
		go func() {
			_, err := r.Take(context.Background())
			done <- err
		}()
		synctest.Wait()
		r.Close()
		if err := <-done; err != ErrClosed {
			t.Errorf("Take() = %v, want ErrClosed", err)
		}
		if st := r.Stats(); st.FailedPaddings != 0 {
			t.Errorf("Stats() = %+v", st)
		}
	})
}

package ringbuffer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

func TestExhaustedProvider(t *testing.T) {
	end := fmt.Errorf("the end: %w", ErrExhausted)
	for _, policy := range []TakePolicy{CallerPads, Wait, Fail} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			left := 3
			r := newTestRing(t, Config{Capacity: 2, TakePolicy: policy, Provider: providerFunc(func(context.Context) (Run, error) {
				if left == 0 {
					return Run{}, end
				}
				left--
				return Run{First: int64(2 - left), Length: 1}, nil
			})})
			got := int64(0)
			testkit.Eventually(t, "Take returns ErrExhausted", func() bool {
				v, err := r.Take(context.Background())
				if err == nil {
					if v != got {
						t.Fatalf("took %d, want %d", v, got)
					}
					got++
				}
				return errors.Is(err, ErrExhausted)
			})
			if got != 3 {
				t.Errorf("%d integers were taken before ErrExhausted, want all 3", got)
			}
			for range 3 {
				if _, err := r.Take(context.Background()); err != end {
					t.Errorf("Take() = %v, want the provider's error", err)
				}
				if err := r.Wait(context.Background()); err != end {
					t.Errorf("Wait() = %v, want the provider's error", err)
				}
			}
		})
	}
}

// Invalid errors of a provider count as failures and end nothing: nil pointers to this package's error
// types.
func TestInvalidErrorsOfProvider(t *testing.T) {
	for name, bad := range map[string]error{
		"a nil NotYetError": (*NotYetError)(nil),
		"a nil EmptyError":  (*EmptyError)(nil),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				good := &countingProvider{length: 1}
				r := newTestRing(t, Config{Capacity: 1, TakePolicy: Wait, Provider: providerFunc(func(ctx context.Context) (Run, error) {
					if broken.Load() {
						return Run{}, bad
					}
					return good.NextRun(ctx)
				})})
				broken.Store(true)
				mustTake(t, r, 0)
				time.AfterFunc(time.Minute, func() { broken.Store(false) })
				mustTake(t, r, 1)
				if st := r.Stats(); st.FailedPaddings < 10 {
					t.Errorf("Stats() = %+v", st)
				}
			})
		})
	}
}

// Takers that wait when the provider becomes exhausted are woken, and return its error: no run will come.
func TestExhaustedProviderWakesTakers(t *testing.T) {
	for _, policy := range []TakePolicy{Wait, CallerPads} {
		synctest.Test(t, func(t *testing.T) {
			var end atomic.Bool
			r := newTestRing(t, Config{TakePolicy: policy, Provider: providerFunc(func(context.Context) (Run, error) {
				if end.Load() {
					return Run{}, ErrExhausted
				}
				return Run{}, &NotYetError{After: time.Hour}
			})})
			const takers = 3
			errs := make(chan error, takers)
			for range takers {
				go func() {
					_, err := r.Take(context.Background())
					errs <- err
				}()
			}
			synctest.Wait()
			end.Store(true)
			r.Kick()
			synctest.Wait()
			if n := len(errs); n != takers {
				t.Errorf("%v: %d of %d takers were woken", policy, n, takers)
			}
			for range len(errs) {
				if err := <-errs; !errors.Is(err, ErrExhausted) {
					t.Errorf("%v: Take() = %v, want ErrExhausted", policy, err)
				}
			}
		})
	}
}

// A taker has found no successor of the current run. Then a run is put, and the provider becomes exhausted. The taker must take
// that run, and not return the provider's error.
func TestExhaustedProviderAfterLastRun(t *testing.T) {
	r := newRingWithoutProvider(t, 2, 0)
	if r.advance(r.current.Load()) {
		t.Fatal("advance() = true in an empty ring")
	}
	mustPut(t, r, 7, 1)
	end := ErrExhausted
	r.exhaustedError.Store(&end)
	if err := r.handleEmpty(context.Background()); err != nil {
		t.Errorf("handleEmpty() = %v, although the ring has a run", err)
	}
	mustTake(t, r, 7)
	if err := r.handleEmpty(context.Background()); err != end {
		t.Errorf("handleEmpty() = %v, want the provider's error", err)
	}
}

// A taker that waits within Pad because there is no run yet returns the error if the provider then fails.
func TestFailureWakesTakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		boom := errors.New("boom")
		r := newTestRing(t, Config{Provider: providerFunc(func(context.Context) (Run, error) {
			if broken.Load() {
				return Run{}, boom
			}
			return Run{}, &NotYetError{After: time.Second}
		})})
		result := make(chan error, 1)
		go func() {
			_, err := r.Take(context.Background())
			result <- err
		}()
		synctest.Wait()
		broken.Store(true)
		time.Sleep(2 * time.Second)
		select {
		case err := <-result:
			if !errors.Is(err, boom) {
				t.Errorf("Take() = %v, want the provider's error", err)
			}
		default:
			t.Error("the taker still waits, although the provider fails")
		}
	})
}

// A provider that a taker calls gets a context that Close ends too, and not only the taker's.
func TestCloseEndsTheContextOfATakersProvider(t *testing.T) {
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
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		taken := make(chan error, 1)
		go func() {
			_, err := r.Take(ctx)
			taken <- err
		}()
		synctest.Wait()
		if err := r.Close(); err != nil || calls != 2 {
			t.Errorf("Close() = %v after %d calls of the provider, want nil after 2", err, calls)
		}
		cancel() // so that the test ends in any case
		if err := <-taken; !errors.Is(err, ErrClosed) {
			t.Errorf("Take() = %v, want ErrClosed", err)
		}
	})
}

// An error that wraps a *NotYetError is no failure, unless that is nil.
func TestNotYetErrorIsWrapped(t *testing.T) {
	for e, want := range map[*NotYetError]uint64{{After: time.Second}: 0, nil: 1} {
		var notYet atomic.Bool
		r, err := newRing(Config{Capacity: 1, Logger: discardLogger(), Provider: providerFunc(func(context.Context) (Run, error) {
			if notYet.Swap(true) {
				return Run{}, fmt.Errorf("my provider: %w", e)
			}
			return Run{Length: 1}, nil
		})}, 0) // without a padder, which would be the one that fails
		if err != nil {
			t.Fatal(err)
		}
		r.fill(t.Context(), &r.counters.paddings.initial)
		mustTake(t, r, 0)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Take(ctx); err == nil {
			t.Error("a take of an empty ring succeeded")
		}
		if got := min(r.Stats().FailedPaddings, 1); got != want {
			t.Errorf("%v: %d failures, want %d", e, got, want)
		}
	}
}

package ringbuffer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
)

func TestCloseIsFinal(t *testing.T) {
	leaktest.Check(t)
	r := newTestRing(t, Config{Capacity: 2, Provider: &countingProvider{length: 100}, Interval: time.Millisecond})
	mustTake(t, r, 0)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	for range 3 {
		if _, ok := r.TryTake(); ok {
			t.Error("TryTake() returned an integer")
		}
		if _, err := r.Take(context.Background()); err != ErrClosed {
			t.Errorf("Take() = %v, want ErrClosed", err)
		}
		if _, _, err := r.Claim(context.Background(), 5); err != ErrClosed {
			t.Errorf("Claim() = %v, want ErrClosed", err)
		}
		if err := r.Put(context.Background(), Run{Length: 1}); err != ErrClosed {
			t.Errorf("Put() = %v, want ErrClosed", err)
		}
		if err := r.Wait(context.Background()); err != ErrClosed {
			t.Errorf("Wait() = %v, want ErrClosed", err)
		}
		if err := r.Pad(context.Background()); err != ErrClosed {
			t.Errorf("Pad() = %v, want ErrClosed", err)
		}
	}
}

// When a second Close has returned, no take gets an integer, even if the first one is suspended after its first step.
func TestCloseBesideClose(t *testing.T) {
	r, err := New(context.Background(), Config{Capacity: 2, Logger: discardLogger()})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Put(context.Background(), Run{First: 1, Length: 10}); err != nil {
		t.Fatal(err)
	}
	r.closed.Store(true)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if v, err := r.Take(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("Take after Close = %d, %v; want ErrClosed", v, err)
	}
}

// Close is called while goroutines take, a few hundred times. Each take returns an integer or ErrClosed,
// the provider is not called afterwards, and no goroutine is left.
func TestCloseDuringTakes(t *testing.T) {
	leaktest.Check(t)
	for range testkit.Amount(100, 100, 300) {
		p := &countingProvider{length: 3}
		r := newTestRing(t, Config{Capacity: 2, Provider: p})
		var takers sync.WaitGroup
		for range 4 {
			takers.Go(func() {
				for {
					if _, err := r.Take(context.Background()); err != nil {
						if err != ErrClosed {
							t.Errorf("Take() = %v, want ErrClosed", err)
						}
						return
					}
				}
			})
		}
		time.Sleep(200 * time.Microsecond)
		testkit.Close(t, r.Close, ErrBusy)
		calls := p.calls.Load()
		takers.Wait()
		if after := p.calls.Load(); after != calls {
			t.Fatalf("the provider was called %d times after Close", after-calls)
		}
	}
}

// Any user code may call Close. If Close would have to wait for the code that calls it, it returns
// ErrBusy after closeTimeout. Once that code has returned, Close returns at once.
func TestCloseFromWithin(t *testing.T) {
	for _, tt := range []struct {
		name string
		busy bool // Close would have to wait for the code that calls it
		cfg  func(act func()) Config
	}{
		{"a provider in the padder", true, func(act func()) Config {
			return Config{TakePolicy: Wait, Provider: providerFunc(func(context.Context) (Run, error) {
				act()
				return Run{Length: 1}, nil
			})}
		}},
		{"a provider in a taker", true, func(act func()) Config {
			return Config{Capacity: 1, Provider: providerFunc(func(context.Context) (Run, error) {
				act()
				return Run{Length: 1}, nil
			})}
		}},
		{"an assisting provider", true, func(act func()) Config {
			return Config{Assist: true, Provider: providerFunc(func(context.Context) (Run, error) {
				act()
				return Run{Length: 1}, nil
			})}
		}},
		{"OnSchedule", true, func(act func()) Config {
			return Config{TakePolicy: Wait, Provider: &countingProvider{length: 1}, Interval: time.Second, OnSchedule: act}
		}},
		{"Stale", true, func(act func()) Config {
			return Config{TakePolicy: Wait, Provider: &countingProvider{length: 1}, Interval: time.Second,
				Stale: func(int64) bool { act(); return false }}
		}},
		{"a take policy", false, func(act func()) Config {
			return Config{TakePolicy: takePolicyFunc(func(context.Context, Waiter) error {
				act()
				return nil
			})}
		}},
		{"a log handler", false, func(act func()) Config {
			good := &countingProvider{length: 1}
			return Config{Capacity: 1, Logger: slog.New(handlerFunc(func(slog.Record) { act() })),
				Provider: providerFunc(func(ctx context.Context) (Run, error) {
					if good.calls.Load() == 1 {
						return Run{}, errors.New("boom")
					}
					return good.NextRun(ctx)
				})}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r *Ring
				var armed atomic.Bool
				closed := make(chan error, 1)
				act := func() {
					if armed.CompareAndSwap(true, false) {
						closed <- r.Close()
					}
				}
				cfg := tt.cfg(act)
				if cfg.Logger == nil {
					cfg.Logger = discardLogger()
				}
				r, err := newRing(cfg, 0)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := r.fill(context.Background(), &r.counters.paddings.initial); err != nil {
					t.Fatal(err)
				}
				r.startPadder(0)
				armed.Store(true)
				var taker sync.WaitGroup
				taker.Go(func() {
					for {
						if _, err := r.Take(context.Background()); errors.Is(err, ErrClosed) {
							return
						}
						time.Sleep(time.Millisecond)
					}
				})
				begin := time.Now()
				err = <-closed
				if took := time.Since(begin); took > closeTimeout+10*time.Second {
					t.Errorf("Close took %v", took)
				}
				if tt.busy != errors.Is(err, ErrBusy) || !tt.busy && err != nil {
					t.Errorf("Close() = %v", err)
				}
				taker.Wait()
				synctest.Wait() // until the code that called Close has returned
				begin = time.Now()
				if err := r.Close(); err != nil || time.Since(begin) != 0 {
					t.Errorf("Close() = %v after %v, although no user code runs any more", err, time.Since(begin))
				}
			})
		})
	}
}

// A provider that ignores its context delays Close for closeTimeout, and a taker of the empty ring until the
// taker's context ends. Its run is not handed out after Close, and it is not called again.
func TestBlockedProvider(t *testing.T) {
	for _, policy := range []TakePolicy{CallerPads, Wait} {
		synctest.Test(t, func(t *testing.T) {
			p := &blockingProvider{countingProvider: countingProvider{length: 1}, nonBlockingCalls: 3, release: make(chan struct{})}
			r, err := newRing(Config{Capacity: 4, TakePolicy: policy, Provider: p, Logger: discardLogger()}, 0)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if p := r.padOne(context.Background()); p.err != nil {
					t.Fatal(p.err)
				}
			}
			r.startPadder(0)
			r.wakePadder()
			synctest.Wait()
			if !p.blocked.Load() {
				t.Fatal("the provider does not block")
			}

			begin := time.Now()
			for v := range int64(3) {
				mustTake(t, r, v)
			}
			if took := time.Since(begin); took != 0 {
				t.Errorf("takes took %v while the provider blocked, want 0", took)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if _, err := r.Take(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
				t.Errorf("Take() = %v after %v", err, time.Since(begin))
			}
			waiting := make(chan error)
			go func() {
				_, err := r.Take(context.Background())
				waiting <- err
			}()
			synctest.Wait()

			begin = time.Now()
			if err := r.Close(); !errors.Is(err, ErrBusy) || time.Since(begin) != closeTimeout {
				t.Errorf("Close() = %v after %v", err, time.Since(begin))
			}
			if err := <-waiting; err != ErrClosed {
				t.Errorf("Take() = %v, want ErrClosed", err)
			}
			close(p.release)
			if err := r.Close(); err != nil {
				t.Errorf("Close() = %v after the provider has returned", err)
			}
			if n, st := p.calls.Load(), r.Stats(); n != 4 || st.Taken != 3 || st.Fill != 0 {
				t.Errorf("the provider was called %d times, Stats() = %+v", n, st)
			}
		})
	}
}

// Concurrent calls of Close all return when the provider and the padder have ended.
func TestConcurrentClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		r := newTestRing(t, Config{Capacity: 1, TakePolicy: Wait, Provider: providerFunc(func(ctx context.Context) (Run, error) {
			if calls.Add(1) == 1 {
				return Run{Length: 1}, nil
			}
			<-ctx.Done()
			time.Sleep(time.Second) // it continues for a second after Close
			return Run{}, ctx.Err()
		})})
		mustTake(t, r, 0)
		r.wakePadder()
		synctest.Wait()
		begin := time.Now()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := r.Close(); err != nil || time.Since(begin) != time.Second {
					t.Errorf("Close() = %v after %v", err, time.Since(begin))
				}
			})
		}
		all.Wait()
	})
}

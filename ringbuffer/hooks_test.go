package ringbuffer

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// BeforeRun is called before each call of the provider, whichever goroutine makes it, and before its turn.
func TestBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *Ring
		var hooks, runs atomic.Int64
		var padder atomic.Bool // a padder runs, so it may be its turn
		r, err := newRing(Config{Capacity: 2, Assist: true, Logger: discardLogger(), Interval: time.Second,
			BeforeRun: func() {
				hooks.Add(1)
				if !padder.Load() && r.turn.held.Load() {
					t.Error("BeforeRun is called in a turn")
				}
			},
			Provider: providerFunc(func(context.Context) (Run, error) {
				if n := runs.Add(1); n > hooks.Load() {
					t.Errorf("call %d of the provider comes after only %d calls of BeforeRun", n, hooks.Load())
				}
				return Run{First: 10 * runs.Load(), Length: 2}, nil
			})}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.fill(context.Background(), Initial); err != nil {
			t.Fatal(err)
		}
		for range 100 { // takers pad, because there is no padder yet
			if _, err := r.Take(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		padder.Store(true)
		r.startPadder(0)
		for range 100 {
			if _, err := r.Take(context.Background()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			time.Sleep(100 * time.Millisecond)
		}
		r.Close()
		if n, most := hooks.Load(), 2*runs.Load(); n > most {
			t.Errorf("BeforeRun was called %d times for %d runs", n, runs.Load())
		}
	})
}

// OnSchedule is called when a scheduled padding begins, before stale runs are dropped, and not for any
// other padding.
func TestOnSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []string
		note := func(event string) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, event)
		}
		seen := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(events)
		}
		r := newTestRing(t, Config{
			Capacity: 4, Provider: &countingProvider{length: 10}, Interval: time.Second,
			OnSchedule: func() { note("schedule") },
			Stale:      func(int64) bool { note("stale"); return false },
		})
		for v := range int64(35) {
			mustTake(t, r, v)
		}
		synctest.Wait()
		if got := seen(); len(got) != 0 {
			t.Errorf("before the first scheduled padding: %q, want no calls", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := seen(); !slices.Equal(got, []string{"schedule", "stale", "schedule", "stale"}) {
			t.Errorf("the calls are %q", got)
		}
	})
}

// A panic of a hook counts as a failure of the provider: it is counted and kept as the last error until
// the hook works again. No lock stays held.
func TestPanickingHooks(t *testing.T) {
	for name, cfg := range map[string]func(f func()) Config{
		"BeforeRun":  func(f func()) Config { return Config{BeforeRun: f} },
		"OnSchedule": func(f func()) Config { return Config{OnSchedule: f} },
		"Stale":      func(f func()) Config { return Config{Stale: func(int64) bool { f(); return false }} },
	} {
		for _, assist := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var broken atomic.Bool
					c := cfg(func() {
						if broken.Load() {
							panic("boom")
						}
					})
					c.Capacity, c.Interval, c.Assist, c.Provider = 2, time.Second, assist, &countingProvider{length: 2}
					r := newTestRing(t, c)
					broken.Store(true)
					var err error
					for range 10 {
						if _, e := r.Take(context.Background()); e != nil {
							err = e
						}
					}
					time.Sleep(5 * time.Second)
					synctest.Wait()
					last := r.Stats().LastError
					if name == "BeforeRun" {
						last = err
					}
					var p *PanicError
					if !errors.As(last, &p) || p.In != name || p.Value != "boom" || len(p.Stack) == 0 {
						t.Errorf("the error is %v, want a *PanicError", last)
					}
					if st := r.Stats(); st.FailedPaddings == 0 {
						t.Errorf("Stats() = %+v", st)
					}
					broken.Store(false)
					for range 10 {
						time.Sleep(maxFailureDelay)
						if _, err := r.Take(context.Background()); err != nil {
							t.Errorf("Take() = %v", err)
						}
					}
					if st := r.Stats(); st.LastError != nil {
						t.Errorf("Stats() = %+v", st)
					}
					if err := r.Close(); err != nil {
						t.Errorf("Close() = %v", err)
					}
				})
			})
		}
	}
}

// A provider or a hook that ends the padder's goroutine does not end the padding.
func TestPadderSurvivesGoexit(t *testing.T) {
	for _, where := range []string{"the provider", "BeforeRun", "Stale", "OnSchedule"} {
		synctest.Test(t, func(t *testing.T) {
			var ends, ended atomic.Int64
			hook := func(here string) {
				if here == where && ends.Add(-1) >= 0 {
					ended.Add(1)
					runtime.Goexit()
				}
			}
			good := &countingProvider{length: 1}
			r := newTestRing(t, Config{Capacity: 2, Interval: time.Second, TakePolicy: Wait,
				Provider: providerFunc(func(ctx context.Context) (Run, error) {
					hook("the provider")
					return good.NextRun(ctx)
				}),
				BeforeRun:  func() { hook("BeforeRun") },
				Stale:      func(int64) bool { hook("Stale"); return false },
				OnSchedule: func() { hook("OnSchedule") },
			})
			ends.Store(3)
			for want := range int64(10) {
				time.Sleep(1500 * time.Millisecond)
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				if got, err := r.Take(ctx); err != nil || got != want {
					t.Fatalf("%s: Take() = %d, %v; want %d", where, got, err, want)
				}
				cancel()
			}
			if n := ended.Load(); n != 3 {
				t.Errorf("%s ended %d goroutines, want 3", where, n)
			}
			if n := r.Stats().FailedPaddings; where == "the provider" && n != 3 {
				t.Errorf("%d failures were counted, want 3", n)
			}
			if err := r.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
	}
}

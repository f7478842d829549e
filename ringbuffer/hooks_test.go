package ringbuffer

import (
	"context"
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
		if _, err := r.fill(context.Background(), &r.counters.paddings.initial); err != nil {
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

// OnSchedule is called when a scheduled padding begins, after stale runs were dropped, and not for any
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
		if got := seen(); !slices.Equal(got, []string{"stale", "schedule", "stale", "schedule"}) {
			t.Errorf("the calls are %q", got)
		}
	})
}

package ringbuffer

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestScheduledPaddingDropsStaleRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		second := func() int64 { return int64(time.Since(begin) / time.Second) }
		last := int64(-1)
		r := newTestRing(t, Config{
			Capacity: 4,
			Interval: time.Second,
			Stale:    func(first int64) bool { return first/10 < second()-2 },
			Provider: providerFunc(func(context.Context) (Run, error) {
				last = max(last+1, second())
				return Run{First: last * 10, Length: 10}, nil
			}),
		})
		mustTake(t, r, 0)
		time.Sleep(100*time.Second + time.Millisecond)
		synctest.Wait()
		v, err := r.Take(context.Background())
		if err != nil || v != 980 {
			t.Errorf("after 100 s Take() = %d, %v; want 980, from second 98", v, err)
		}
		st := r.Stats()
		if st.Dropped == 0 || st.Taken != 2 || st.Fill != 39 || st.Paddings.Scheduled == 0 {
			t.Errorf("Stats() = %+v", st)
		}
	})
}

// D6: if a provider continues with smaller integers, stale runs lie behind runs that are not stale.
func TestD6StaleRunsBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		firsts := []int64{100, 200, 300, 10, 20, 400, 30, 500, 600}
		var old atomic.Int64
		r := newTestRing(t, Config{
			Capacity: 8,
			Interval: time.Second,
			Stale:    func(first int64) bool { return first < old.Load() },
			Provider: providerFunc(func(context.Context) (Run, error) {
				if len(firsts) == 0 {
					return Run{}, &NotYetError{After: time.Hour}
				}
				first := firsts[0]
				firsts = firsts[1:]
				return Run{First: first, Length: 10}, nil
			}),
		})
		time.Sleep(time.Minute)
		if n := r.Stats().Dropped; n != 0 {
			t.Errorf("%d integers were dropped, want 0: none is stale", n)
		}
		old.Store(25)
		time.Sleep(2 * time.Second)
		mustTake(t, r, 400) // all runs up to the last stale one are dropped, and the others stay
		old.Store(35)
		time.Sleep(2 * time.Second)
		mustTake(t, r, 500)
		if n := r.Stats().Dropped; n != 50+9+10 {
			t.Errorf("%d integers were dropped, want 69", n)
		}
	})
}

// Invariant 3: a taker takes an integer while a run is dropped, after the counter was read. The integer is not dropped too.
func TestInvariant3TakeDuringDrop(t *testing.T) {
	r := newRingWithoutProvider(t, 1, 0)
	mustPut(t, r, 0, 10)
	mustTake(t, r, 0)
	takes := int64(0)
	r.counters.testHookDrop = func() {
		if takes == 0 {
			takes++
			mustTake(t, r, 1)
		}
	}
	r.counters.drop(r.current.Load())
	if st := r.Stats(); takes != 1 || st.Taken != 2 || st.Dropped != 8 || st.Fill != 0 {
		t.Errorf("Stats() = %+v, want 2 taken and 8 dropped", st)
	}
}

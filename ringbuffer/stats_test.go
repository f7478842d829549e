package ringbuffer

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

func TestStatsOldestAndNewest(t *testing.T) {
	r := newRingWithoutProvider(t, 4, 0)
	check := func(oldest, newest int64) {
		t.Helper()
		if st := r.Stats(); st.Oldest != oldest || st.Newest != newest {
			t.Errorf("oldest and newest are %d and %d, want %d and %d", st.Oldest, st.Newest, oldest, newest)
		}
	}
	check(-1, -1)
	mustPut(t, r, 10, 1)
	check(10, 10)
	mustPut(t, r, 20, 2)
	check(10, 20)
	mustTake(t, r, 10)
	check(20, 20)
	mustTake(t, r, 20)
	mustTake(t, r, 21)
	check(-1, -1)
}

func TestStatsAfterClose(t *testing.T) {
	r := newRingWithoutProvider(t, 2, 0)
	mustPut(t, r, 0, 10)
	mustPut(t, r, 10, 10)
	for v := range int64(12) {
		mustTake(t, r, v)
	}
	r.Close()
	if st := r.Stats(); st.Taken != 12 || st.Fill != 0 || st.Oldest != -1 || st.Newest != -1 {
		t.Errorf("Stats() = %+v, want 12 taken and nothing left", st)
	}
}

// Stats.Taken never decreases, and never exceeds the number of integers that were taken, while runs are
// dropped and while the ring is closed.
func TestTakenNeverDecreases(t *testing.T) {
	rounds := testkit.Amount(1_000, 2_000, 5_000)
	var dropping atomic.Bool
	r, err := newRing(Config{Capacity: 8, TakePolicy: Fail, Logger: discardLogger(), Stale: func(int64) bool { return dropping.Load() }}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var (
		readers      sync.WaitGroup
		stop         atomic.Bool
		least, taken atomic.Uint64 // lower and upper bound of the number of integers taken
	)
	for range 2 {
		readers.Go(func() {
			last := uint64(0)
			for !stop.Load() && !t.Failed() {
				low := max(last, least.Load())
				st := r.Stats()
				if most := taken.Load(); st.Taken < low || st.Taken > most {
					t.Errorf("Taken = %d, want %d to %d", st.Taken, low, most)
				}
				last = st.Taken
				runtime.Gosched()
			}
		})
	}
	for range rounds {
		for v := range int64(8) {
			mustPut(t, r, 100*v, 100)
		}
		for v := range int64(5) {
			taken.Add(1)
			mustTake(t, r, v)
			least.Add(1)
		}
		dropping.Store(true)
		r.dropStale()
		dropping.Store(false)
	}
	r.Close()
	stop.Store(true)
	readers.Wait()
	if st := r.Stats(); st.Taken != least.Load() || st.Dropped != uint64(rounds*795) {
		t.Fatalf("%d integers were taken, Stats() = %+v", taken.Load(), st)
	}
}

// Stats.Taken is exact while a ring that no goroutine uses is closed.
func TestTakenDuringClose(t *testing.T) {
	rounds := testkit.Amount(1_000, 2_000, 5_000)
	for range rounds {
		r := newRingWithoutProvider(t, 2, 0)
		mustPut(t, r, 0, 100)
		mustTake(t, r, 0)
		var reader sync.WaitGroup
		var stop atomic.Bool
		reader.Go(func() {
			for !stop.Load() {
				if st := r.Stats(); st.Taken != 1 {
					t.Errorf("Taken = %d, want 1", st.Taken)
					return
				}
				runtime.Gosched()
			}
		})
		runtime.Gosched()
		r.Close()
		stop.Store(true)
		reader.Wait()
		if t.Failed() {
			return
		}
	}
}

// Stats.LastFailure is when the last try failed that FailedPaddings counts, also after a success.
func TestStatsLastFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failing atomic.Bool
		good := &countingProvider{length: 10}
		r := newTestRing(t, Config{Capacity: 2, TakePolicy: Fail, Provider: providerFunc(func(ctx context.Context) (Run, error) {
			if failing.Load() {
				return Run{}, errors.New("boom")
			}
			return good.NextRun(ctx)
		})})
		take := func() {
			for range 15 { // the second run is in use
				r.Take(context.Background())
			}
			synctest.Wait()
		}
		if st := r.Stats(); !st.LastFailure.IsZero() {
			t.Errorf("without a failure, LastFailure is %v", st.LastFailure)
		}
		time.Sleep(time.Minute)
		failing.Store(true)
		begin := time.Now()
		take()
		if st := r.Stats(); st.FailedPaddings != 1 || !st.LastFailure.Equal(begin) {
			t.Errorf("%d paddings failed, the last one at %v; want 1 at %v", st.FailedPaddings, st.LastFailure, begin)
		}
		time.Sleep(2 * firstFailureDelay)
		synctest.Wait()
		if st := r.Stats(); st.FailedPaddings != 2 || !st.LastFailure.Equal(begin.Add(firstFailureDelay)) {
			t.Errorf("%d paddings failed, the last one at %v; want 2, the last one at %v", st.FailedPaddings, st.LastFailure, begin.Add(firstFailureDelay))
		}
		failing.Store(false)
		time.Sleep(time.Minute)
		take()
		if st := r.Stats(); st.LastError != nil || !st.LastFailure.Equal(begin.Add(firstFailureDelay)) {
			t.Errorf("after a success, LastFailure is %v and LastError %v", st.LastFailure, st.LastError)
		}
	})
}

// While runs are dropped, the integers that the drop claims never count as taken, and Taken does not decrease.
func TestTakenDuringADrop(t *testing.T) {
	r, err := newRing(Config{Capacity: 2, TakePolicy: Fail, Logger: discardLogger(), Stale: func(int64) bool { return true }}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	mustPut(t, r, 0, 1000)
	for v := range int64(1000) {
		mustTake(t, r, v)
	}
	mustPut(t, r, 5000, 100)
	for v := range int64(5) {
		mustTake(t, r, 5000+v)
	}
	drops := 0
	r.counters.testHookDrop = func() {
		drops++
		if st := r.Stats(); st.Taken != 1005 {
			t.Errorf("during the drop Taken is %d, want 1005", st.Taken)
		}
	}
	r.dropStale()
	if st := r.Stats(); drops != 1 || st.Taken != 1005 || st.Dropped != 95 {
		t.Errorf("%d drops, Taken is %d, Dropped %d; want 1, 1005, 95", drops, st.Taken, st.Dropped)
	}
}

// A ring that holds nothing has no oldest and no newest integer.
func TestStatsOfNothing(t *testing.T) {
	for what, r := range map[string]*Ring{"nil": nil, "the zero value": new(Ring), "empty": newRingWithoutProvider(t, 2, 0)} {
		if st := r.Stats(); st.Oldest != -1 || st.Newest != -1 || st.Fill != 0 || st.FillRuns != 0 {
			t.Errorf("%s: %+v", what, st)
		}
	}
}

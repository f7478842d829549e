package segment

import (
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stepFunc is a function that implements StepPolicy.
type stepFunc func(s StepState) int64

func (f stepFunc) Size(s StepState) int64 { return f(s) }

// Whatever a step policy returns, the source is asked for 1 to WithMaxStep numbers, or the tag's own step if that is
// greater.
func TestStepPoliciesThatReturnNonsense(t *testing.T) {
	for _, test := range []struct{ size, maxStep, step, want int64 }{
		{0, 1000, 10, 1}, {-5, 1000, 10, 1}, {math.MinInt64, 1000, 10, 1}, {math.MaxInt64, 1000, 10, 1000},
		{math.MaxInt64, MaxStep, 10, MaxStep}, {7, 1000, 10, 7}, {2000, 1000, 5000, 2000}, {math.MaxInt64, 1000, 5000, 5000}, {math.MaxInt64, 1, 1, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			src := newMemorySource(test.step)
			s := newTestSequence(t, src, WithMaxStep(test.maxStep), WithStepPolicy(stepFunc(func(StepState) int64 { return test.size })))
			for v := int64(1); v <= 2*test.step+2; v++ {
				mustNext(t, s, v)
			}
			synctest.Wait()
			calls := src.calls()
			for i, r := range calls {
				want := test.want
				if i < 2 {
					want = 0
				}
				if r.Size != want {
					t.Errorf("%+v: the source was asked for %d numbers, want %d", test, r.Size, want)
				}
			}
			if len(calls) < 3 {
				t.Errorf("%+v: the source was asked %d times", test, len(calls))
			}
		})
	}
}

// What a step policy is told.
func TestStepState(t *testing.T) {
	const pause = 1007 * time.Millisecond // so that no range is used up at the time of a scheduled padding, which would request the next one
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var states []StepState
		src := newMemorySource(100)
		s := newTestSequence(t, src, WithCapacity(4), WithStepPolicy(stepFunc(func(s StepState) int64 {
			mu.Lock()
			defer mu.Unlock()
			states = append(states, s)
			return 50
		})))
		for range 101 {
			time.Sleep(pause)
			s.Next()
		}
		synctest.Wait()
		src.mu.Lock()
		src.step = 33
		src.mu.Unlock()
		for range 200 {
			time.Sleep(pause)
			s.Next()
		}
		synctest.Wait()
		if len(states) != 3 {
			t.Fatalf("%+v", states)
		}
		for i, want := range []StepState{
			{Step: 100, Last: 100, Elapsed: 101 * pause, Taken: 100, Recent: 100, Capacity: 4},
			{Step: 100, Last: 50, Elapsed: 100 * pause, Taken: 100, Recent: 200, Capacity: 4},
			{Step: 33, Last: 50, Elapsed: 100 * pause, Taken: 100, Recent: 300, Capacity: 4},
		} {
			got := states[i]
			// The taker that requested a range has not counted its number yet, or has; that of the range before, too.
			if got.Taken+1-want.Taken <= 2 {
				got.Taken = want.Taken
			}
			if got.Recent+1-want.Recent <= 2 {
				got.Recent = want.Recent
			}
			if got != want {
				t.Errorf("state %d is %+v, want %+v", i, states[i], want)
			}
		}
	})
}

// A step policy may take numbers of its own Sequence.
func TestStepPolicyThatCallsItsSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *Sequence
		seen := map[int64]bool{}
		s = newTestSequence(t, newMemorySource(10), WithStepPolicy(stepFunc(func(st StepState) int64 {
			s.Next()
			s.Stats()
			return st.Step
		})))
		for range 100 {
			v, err := s.Next() // fails if both wait for the same range
			if err != nil && !errors.Is(err, ErrEmpty) || seen[v] {
				t.Fatalf("Next() = %d, %v", v, err)
			}
			if err == nil {
				seen[v] = true
			}
		}
		if len(seen) < 20 {
			t.Errorf("%d numbers were taken", len(seen))
		}
	})
}

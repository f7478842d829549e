package segment

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestFixedStep(t *testing.T) {
	if got := (FixedStep{}).Size(StepState{Step: 7, Last: 1000, Elapsed: time.Second, Taken: 1 << 40, Capacity: 2}); got != 7 {
		t.Errorf("Size = %d, want 7", got)
	}
}

func TestLeafStep(t *testing.T) {
	for _, test := range []struct {
		name       string
		step, last int64
		elapsed    time.Duration
		want       int64
	}{
		{"first", 1000, 0, 0, 2000},
		{"fast", 1000, 1000, time.Minute, 2000},
		{"just fast", 1000, 4000, 15*time.Minute - 1, 8000},
		{"neither", 1000, 4000, 15 * time.Minute, 4000},
		{"nearly slow", 1000, 4000, 30*time.Minute - 1, 4000},
		{"slow", 1000, 4000, 30 * time.Minute, 2000},
		{"very slow", 1000, 4000, 1000 * time.Hour, 2000},
		{"slow, half is the step", 1000, 2000, time.Hour, 1000},
		{"slow, at the step", 1000, 1000, time.Hour, 1000},
		{"slow, half is below the step", 1000, 1500, time.Hour, 1500},
		{"fast, half of the bound", 1000, 500_000, 0, 1_000_000},
		{"fast, twice would exceed the bound", 1000, 500_001, 0, 500_001},
		{"fast, at the bound", 1000, 1_000_000, 0, 1_000_000},
		{"the tag's step is beyond the bound", 5_000_000, 5_000_000, 0, 5_000_000},
		{"the step was raised", 8000, 1000, 20 * time.Minute, 8000},
	} {
		if got := (LeafStep{}).Size(StepState{Step: test.step, Last: test.last, Elapsed: test.elapsed, Capacity: 2}); got != test.want {
			t.Errorf("%s: Size = %d, want %d", test.name, got, test.want)
		}
	}
}

func TestOutageStep(t *testing.T) {
	tenMinutes := OutageStep{10 * time.Minute}
	for _, test := range []struct {
		name   string
		policy OutageStep
		state  StepState
		want   int64
	}{
		// 100 numbers per second for 750 s
		{"steady", tenMinutes, StepState{Step: 1000, Last: 75_000, Elapsed: 750 * time.Second, Taken: 75_000, Capacity: 2}, 75_000},
		{"steady, 4 ranges: 3 are left", tenMinutes, StepState{Step: 1000, Last: 25_000, Elapsed: 250 * time.Second, Taken: 25_000, Capacity: 4}, 25_000},
		{"growth is limited", tenMinutes, StepState{Step: 1000, Last: 1000, Elapsed: 10 * time.Second, Taken: 1000, Capacity: 2}, 8000},
		{"fall is limited", tenMinutes, StepState{Step: 1000, Last: 75_000, Elapsed: time.Hour, Taken: 75_000, Capacity: 2}, 37_500},
		{"never below the step", tenMinutes, StepState{Step: 1000, Last: 1000, Elapsed: time.Hour, Taken: 1, Capacity: 2}, 1000},
		{"nothing taken", tenMinutes, StepState{Step: 1000, Last: 5000, Elapsed: time.Hour, Capacity: 2}, 2500},
		{"no time has passed", tenMinutes, StepState{Step: 1000, Last: 1000, Taken: 1000, Capacity: 2}, 8000},
		{"the clock went back", tenMinutes, StepState{Step: 1000, Last: 1000, Elapsed: -time.Hour, Taken: 1000, Capacity: 2}, 8000},
		{"the step was raised", tenMinutes, StepState{Step: 1 << 30, Last: 1000, Elapsed: time.Hour, Taken: 1000, Capacity: 2}, 1 << 30},
		{"great numbers", OutageStep{8784 * time.Hour}, StepState{Step: 1, Last: math.MaxInt64, Elapsed: 1, Taken: math.MaxUint64, Capacity: 2}, math.MaxInt64 / 2},
		{"the zero value", OutageStep{}, StepState{}, 0},
	} {
		if got := test.policy.Size(test.state); got != test.want && float64(got) != float64(test.want) {
			t.Errorf("%s: Size = %d, want %d", test.name, got, test.want)
		}
	}
}

func TestOutageStepIsChecked(t *testing.T) {
	for _, d := range []time.Duration{0, -1, 8784*time.Hour + 1} {
		if _, err := newConfig([]Option{WithStepPolicy(OutageStep{d})}); !errors.Is(err, ErrOption) {
			t.Errorf("%v: %v, want ErrOption", d, err)
		}
	}
	for _, d := range []time.Duration{1, 8784 * time.Hour} {
		if _, err := newConfig([]Option{WithStepPolicy(OutageStep{d})}); err != nil {
			t.Errorf("%v: %v", d, err)
		}
	}
}

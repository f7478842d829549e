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
	for _, test := range []struct {
		name  string
		state StepState
		want  int64
	}{
		{"a share of what was taken", StepState{Step: 1000, Recent: 60_001, Capacity: 2}, 30_000},
		{"4 ranges", StepState{Step: 1000, Recent: 60_001, Capacity: 4}, 15_000},
		{"never below the step", StepState{Step: 1000, Last: 75_000, Recent: 1999, Capacity: 2}, 1000},
		{"nothing taken", StepState{Step: 1000, Last: 5000, Capacity: 2}, 1000},
		{"great numbers", StepState{Step: 1, Recent: math.MaxUint64, Capacity: 2}, math.MaxInt64},
		{"the zero value", StepState{}, 0},
	} {
		if got := (OutageStep{10 * time.Minute}).Size(test.state); got != test.want {
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

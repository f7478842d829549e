package bitsalloc

import (
	"errors"
	"testing"
	"time"
)

// The methods of zero values and nil pointers of the exported types do not panic, and those that can
// return an error do.
func TestZeroValues(t *testing.T) {
	var l Layout
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	base, err := NewTimeBase(epoch, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for what, f := range map[string]func() error{
		"Allocate":      func() error { _, err := l.Allocate(0, 0, 0); return err },
		"Capacity":      func() error { _, err := l.Capacity(base); return err },
		"MarshalText":   func() error { _, err := l.MarshalText(); return err },
		"New":           func() error { _, err := New(0, 0, 0); return err },
		"Parse":         func() error { _, err := ParseLayout(l.String()); return err },
		"Unmarshal":     func() error { return new(Layout).UnmarshalText(nil) },
		"a nil *Layout": func() error { return (*Layout)(nil).UnmarshalText([]byte("1-28-22-13")) },
		"Margins": func() error {
			_, err := Needs{Nodes: 1, Sustained: 1, Years: 1}.Margins(l)
			return err
		},
	} {
		if err := f(); !errors.Is(err, ErrLayout) {
			t.Errorf("%s: %v, want ErrLayout", what, err)
		}
	}
	if d, w, s := l.Split(-1); d|w|s != 0 || l.Contains(0) || l.AllocateUnchecked(0, 0, 0) != 0 || !l.End(base).Equal(epoch) {
		t.Errorf("Split gives %d, %d, %d; the end is %v", d, w, s, l.End(base))
	}
	var zero TimeBase
	if !zero.IsZero() || zero.Delta(epoch)|zero.FirstDelta(epoch, 9)|zero.UnitsPerSecond() != 0 || !zero.Time(3).IsZero() || !Default().End(zero).IsZero() {
		t.Error("the zero time base counts something")
	}
	if l.MaxDelta()|l.MaxWorkerID()|l.MaxSequence()|l.MaxUID()|l.WorkerStarts() != 0 {
		t.Error("the zero layout holds something")
	}
	if _, err := Plan(Needs{}); !errors.Is(err, ErrNeeds) {
		t.Errorf("Plan: %v", err)
	}
	if s := (Capacity{}).String() + (Fit{}).String(); s == "" {
		t.Error("no text")
	}
	for _, err := range []error{new(RangeError), (*RangeError)(nil)} {
		if err.Error() == "" || !errors.Is(err, ErrRange) {
			t.Errorf("%T: %v", err, err)
		}
	}
}

package uid

import (
	"errors"
	"math"
	"testing"
	"time"
)

// The years 1 and 9999, the last unit of the new format, and the first one of the old format are within the bounds of Check.
func TestMoveAtTheBounds(t *testing.T) {
	early := format(t, "1-40-10-12", day(1, 1, 2), time.Second)
	late := format(t, "1-28-22-13", day(9999, 1, 1), time.Second)
	short := format(t, "1-20-10-12", day(2026, 1, 1), time.Second)
	for name, m := range map[string]Move{
		"the year 1":                        {Old: late, New: early, CutOver: day(1, 1, 3)},
		"the year 9999":                     {Old: format(t, "1-20-10-12", day(9990, 1, 1), time.Second), New: late, CutOver: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
		"the last unit":                     {Old: late, New: short, CutOver: short.End().Add(-time.Second)},
		"the last nanosecond of that unit":  {Old: late, New: short, CutOver: short.End().Add(-1)},
		"an old format without UIDs so far": {Old: late, New: short, CutOver: short.Epoch()},
	} {
		if r, err := m.Check(); errors.Is(err, ErrOption) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if r, err := (Move{Old: late, New: short, CutOver: short.End()}).Check(); !errors.Is(err, ErrOption) {
		t.Errorf("a cut-over after the last unit: %+v, %v", r, err)
	}
	// UIDs of the first unit of the old format may exist as soon as the clock of a host has reached it.
	old := format(t, "1-28-22-13", day(2027, 1, 1), time.Second)
	for ahead, want := range map[time.Duration]ID{
		time.Hour:     ID(old.layout.AllocateUnchecked(0, old.layout.MaxWorkerID(), old.layout.MaxSequence())),
		time.Hour - 1: -1,
	} {
		if r, _ := (Move{Old: old, New: format(t, "1-28-22-13", day(2026, 1, 1), time.Second), CutOver: old.Epoch().Add(-time.Hour), Ahead: ahead}).Check(); r.LastOld != want {
			t.Errorf("%v before the old epoch, up to %v ahead: the last old UID is %d, want %d", time.Hour, ahead, r.LastOld, want)
		}
	}
}

// The latest epoch may be one at which the cut-over lies in the last unit of the time bits, and as early as 2 January of the year 1.
func TestMoveLatestEpochAtTheBounds(t *testing.T) {
	const most = 1<<20 - 1 // the last unit of 20 time bits
	for _, tt := range []struct {
		epoch time.Time // of the old format
		units int       // from it to the cut-over
		want  time.Time
	}{
		{day(2026, 1, 1), most - 1, day(2026, 1, 1).Add(-time.Second)},
		{day(2026, 1, 1), most, time.Time{}}, // the old UIDs of the last unit are the greatest that fit
		{day(1, 1, 2).Add(time.Second), 1000, day(1, 1, 2)},
		{day(1, 1, 2), 1000, time.Time{}},
	} {
		old := format(t, "1-20-10-12", tt.epoch, time.Second)
		cut := tt.epoch.Add(time.Duration(tt.units) * time.Second)
		r, err := Move{Old: old, New: old, CutOver: cut, Ahead: -1, Behind: -1}.Check()
		if !errors.Is(err, ErrMove) || !r.LatestEpoch.Equal(tt.want) {
			t.Errorf("%d units after %v: the latest epoch is %v, want %v; %v", tt.units, tt.epoch, r.LatestEpoch, tt.want, err)
		}
		if tt.want.IsZero() {
			continue
		}
		if r, err := (Move{Old: old, New: format(t, "1-20-10-12", tt.want, time.Second), CutOver: cut, Ahead: -1, Behind: -1}).Check(); err != nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// The widths that Check offers have the fewest sequence bits, and time bits that reach as far as the cut-over, and no further if need be.
func TestMoveWidthsAtTheBounds(t *testing.T) {
	epoch := day(2026, 1, 1)
	later := format(t, "1-28-22-13", day(2090, 1, 1), time.Second)
	// 40 time bits end with the cut-over.
	r, err := Move{Old: later, New: format(t, "1-40-22-1", epoch, time.Millisecond), CutOver: epoch.Add((1<<40 - 1) * time.Millisecond), Behind: -1}.Check()
	if err != nil || r.SafeLayout.String() != "1-40-22-1" {
		t.Errorf("%v, %v", r.SafeLayout, err)
	}
	// 40 time bits have the first new UID, but end before the cut-over. 41 of them leave too few sequence bits.
	cut := epoch.Add((1<<40 + 5) * time.Millisecond)
	old := format(t, "1-28-22-13", cut.AddDate(-5, 0, 0).Truncate(time.Second), time.Second)
	r, err = Move{Old: old, New: format(t, "1-41-21-1", epoch, time.Millisecond), CutOver: cut, Ahead: -1, Behind: time.Second}.Check()
	if !errors.Is(err, ErrMove) || !r.SafeLayout.IsZero() || r.LastOld < math.MaxInt64/2 {
		t.Errorf("%+v, %v", r, err)
	}
}

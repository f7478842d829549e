package uid

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestRange(t *testing.T) {
	f := newFormat(t)
	epoch, end := f.Epoch(), f.End()
	unit := func(n int64) ID { return ID(n << 35) }
	for _, tt := range []struct {
		name        string
		from, to    time.Time
		first, last ID
	}{
		{"a second", epoch.Add(5 * time.Second), epoch.Add(6 * time.Second), unit(5), unit(6) - 1},
		{"a day", epoch, epoch.AddDate(0, 0, 1), 0, unit(86400) - 1},
		{"a part of a second that contains no start of one", epoch.Add(5*time.Second + 1), epoch.Add(6 * time.Second), 1, 0},
		{"the last nanosecond of a second", epoch.Add(5*time.Second - 1), epoch.Add(5 * time.Second), 1, 0},
		{"the first nanosecond of a second", epoch.Add(5 * time.Second), epoch.Add(5*time.Second + 1), unit(5), unit(6) - 1},
		{"across the start of a second", epoch.Add(5*time.Second - 1), epoch.Add(5*time.Second + 1), unit(5), unit(6) - 1},
		{"empty", epoch.Add(5 * time.Second), epoch.Add(5 * time.Second), 1, 0},
		{"before the epoch", epoch.Add(-time.Hour), epoch, 1, 0},
		{"from before the epoch", epoch.Add(-time.Hour), epoch.Add(time.Second), 0, unit(1) - 1},
		{"up to the end", end.Add(-time.Second), end, math.MaxInt64 - (unit(1) - 1), math.MaxInt64},
		{"beyond the end", end.Add(-time.Second), end.Add(time.Hour), math.MaxInt64 - (unit(1) - 1), math.MaxInt64},
		{"after the end", end, end.Add(time.Hour), 1, 0},
		{"everything", time.Unix(math.MinInt64, 0), time.Unix(math.MaxInt64, 999_999_999), 0, math.MaxInt64},
		{"another zone", epoch.Add(5 * time.Second).In(time.FixedZone("", 3600)), epoch.Add(6 * time.Second), unit(5), unit(6) - 1},
	} {
		first, last, err := f.Range(tt.from, tt.to)
		if first != tt.first || last != tt.last || err != nil {
			t.Errorf("%s: Range() = %d, %d, %v; want %d, %d", tt.name, first, last, err, tt.first, tt.last)
		}
	}
	for name, tt := range map[string]struct {
		f        Format
		from, to time.Time
	}{
		"in the wrong order":       {f, epoch.Add(1), epoch},
		"extreme, the wrong order": {f, time.Unix(math.MaxInt64, 0), time.Unix(math.MinInt64, 0)},
		"the zero format":          {Format{}, epoch, end},
	} {
		if first, last, err := tt.f.Range(tt.from, tt.to); first != 0 || last != 0 || !errors.Is(err, ErrOption) {
			t.Errorf("%s: Range() = %d, %d, %v", name, first, last, err)
		}
	}
}

// A UID is in the range if and only if its time is in the interval, so that intervals that meet divide the UIDs.
func TestRangeAgreesWithParse(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, opts := range [][]any{nil, {WithTwitterLayout()}, {WithJavaScriptLayout()}, {WithLayout(layout(t, 12, 2, 3)), WithTimeUnit(40 * time.Millisecond)}} {
		f := newFormat(t, opts...)
		span := min(f.End().Sub(f.Epoch()), 1<<62)
		for range 2000 {
			at := f.Epoch().Add(time.Duration(random.Int64N(int64(span)+2e9)) - time.Second)
			if random.IntN(2) == 0 {
				at = at.Truncate(f.Unit())
			}
			from, to := at, at.Add(time.Duration(random.Int64N(int64(3*f.Unit()))))
			first, last, err := f.Range(from, to)
			if err != nil {
				t.Fatal(err)
			}
			contains := func(id ID) bool { return id >= first && id <= last }
			candidates := []ID{first - 1, first, last, last + 1, ID(f.Layout().MaxUID()), 0}
			if id, err := f.Compose(at, 1, 1); err == nil {
				candidates = append(candidates, id)
			}
			for _, id := range candidates {
				if id < 0 || id > ID(f.Layout().MaxUID()) {
					continue
				}
				at := f.Parse(id).Time
				if in := !at.Before(from) && at.Before(to); in != contains(id) {
					t.Fatalf("%v: %d is of %v, and in the range from %d to %d for %v to %v: %v", f, id, at, first, last, from, to, contains(id))
				}
			}
		}
	}
}

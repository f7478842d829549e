package bitsalloc_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

func TestNewTimeBase(t *testing.T) {
	good := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		epoch time.Time
		unit  time.Duration
		want  error
		text  string
	}{
		{time.Time{}, time.Second, bitsalloc.ErrEpoch, "zero time"},
		{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Second, bitsalloc.ErrEpoch, "10000"},
		{time.Date(0, 12, 31, 23, 59, 59, 0, time.UTC), time.Second, bitsalloc.ErrEpoch, "0000"},
		{time.Unix(math.MinInt64/2, 0), time.Second, bitsalloc.ErrEpoch, "year"},
		{good.Add(1), time.Second, bitsalloc.ErrEpoch, "2026-01-01T00:00:00.000000001Z"},
		{good, 0, bitsalloc.ErrUnit, "0s"},
		{good, -time.Second, bitsalloc.ErrUnit, "-1s"},
		{good, time.Millisecond - 1, bitsalloc.ErrUnit, "999.999µs"},
		{good, 7 * time.Millisecond, bitsalloc.ErrUnit, "7ms"},
		{good, 1500 * time.Millisecond, bitsalloc.ErrUnit, "1.5s"},
		{good, time.Minute, bitsalloc.ErrUnit, "1m0s"},
	} {
		b, err := bitsalloc.NewTimeBase(tt.epoch, tt.unit)
		if b != (bitsalloc.TimeBase{}) || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("NewTimeBase(%v, %v) = %v, %v; want %v with %q", tt.epoch, tt.unit, b, err, tt.want, tt.text)
		}
	}
	// The same instant in another zone, and with a monotonic reading, is the same time base.
	now := time.Now()
	now = now.Add(-time.Duration(now.Nanosecond()))
	zoned := timeBase(t, now.In(time.FixedZone("UTC+8", 8*3600)), time.Second)
	if plain := timeBase(t, time.Unix(now.Unix(), 0).UTC(), time.Second); zoned != plain {
		t.Errorf("%v and %v differ", zoned, plain)
	}
}

// Delta, Time and FirstDelta agree with each other on both sides of the epoch.
func TestTimeBaseArithmetic(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, unit := range []time.Duration{time.Millisecond, 8 * time.Millisecond, 250 * time.Millisecond, time.Second} {
		b := timeBase(t, epoch, unit)
		if b.Epoch() != epoch || b.Unit() != unit || b.UnitsPerSecond() != int64(time.Second/unit) || b.IsZero() {
			t.Errorf("%v: %v, %v, %d", b, b.Epoch(), b.Unit(), b.UnitsPerSecond())
		}
		const maxDelta = 1<<28 - 1
		for _, delta := range []int64{-1001, -1, 0, 1, 999, 1000, 1001, 86_400_123, maxDelta - 1, maxDelta} {
			start := b.Time(delta)
			if want := epoch.Add(time.Duration(delta) * unit); !start.Equal(want) || start.Location() != time.UTC {
				t.Errorf("unit %v: Time(%d) = %v, want %v", unit, delta, start, want)
			}
			for _, tt := range []struct {
				at    time.Time
				delta int64
				first int64
			}{
				{start, delta, delta},
				{start.Add(1), delta, delta + 1},
				{start.Add(unit - 1), delta, delta + 1},
				{start.Add(-1), delta - 1, delta},
			} {
				if got := b.Delta(tt.at); got != tt.delta {
					t.Errorf("unit %v: Delta(%v) = %d, want %d", unit, tt.at, got, tt.delta)
				}
				if got, want := b.FirstDelta(tt.at, maxDelta), min(max(tt.first, 0), maxDelta+1); got != want {
					t.Errorf("unit %v: FirstDelta(%v) = %d, want %d", unit, tt.at, got, want)
				}
			}
		}
		// As far off as a time can be.
		if got := b.FirstDelta(time.Unix(math.MinInt64, 0), maxDelta); got != 0 {
			t.Errorf("FirstDelta of the earliest time is %d", got)
		}
		if got := b.FirstDelta(time.Unix(math.MaxInt64, 999_999_999), maxDelta); got != maxDelta+1 {
			t.Errorf("FirstDelta of the latest time is %d", got)
		}
	}
}

// The time of a delta has that delta, for random deltas of 40 bits.
func TestTimeOfADelta(t *testing.T) {
	for _, unit := range []time.Duration{time.Second, 10 * time.Millisecond, time.Millisecond} {
		b := timeBase(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), unit)
		const maxDelta = 1<<41 - 1
		if err := quick.Check(func(n int64) bool {
			delta := n & (1<<40 - 1)
			at := b.Time(delta)
			return b.Delta(at) == delta && b.Delta(at.Add(unit-1)) == delta && b.Delta(at.Add(unit)) == delta+1 &&
				b.FirstDelta(at, maxDelta) == delta && b.FirstDelta(at.Add(1), maxDelta) == delta+1
		}, nil); err != nil {
			t.Errorf("unit %v: %v", unit, err)
		}
	}
}

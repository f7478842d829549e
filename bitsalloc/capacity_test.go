package bitsalloc_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

func TestEnd(t *testing.T) {
	date := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, tt := range []struct {
		layout, epoch string
		unit          time.Duration
		want          string
	}{
		// The original's default, whose epoch is read in the local zone: in China's, services
		// broke at 2024-11-20T13:24:16Z; in UTC it is eight hours later.
		{"1-28-22-13", "2016-05-20T00:00:00+08:00", time.Second, "2024-11-20T13:24:16Z"},
		{"1-28-22-13", "2016-05-20T00:00:00Z", time.Second, "2024-11-20T21:24:16Z"},
		{"1-28-22-13", "2026-01-01T00:00:00Z", time.Second, "2034-07-04T21:24:16Z"},
		{"1-29-21-13", "2016-09-20T00:00:00Z", time.Second, "2033-09-24T18:48:32Z"},
		{"1-31-23-9", "2016-05-20T00:00:00Z", time.Second, "2084-06-07T03:14:08Z"},
		{"1-30-27-6", "2016-05-20T00:00:00Z", time.Second, "2050-05-29T13:37:04Z"},
		{"1-41-10-12", "2010-11-04T01:42:54Z", time.Millisecond, "2080-07-10T17:30:29.552Z"}, // Twitter's, but for 657 ms
		{"1-39-16-8", "2014-09-01T00:00:00Z", 10 * time.Millisecond, "2188-11-16T03:28:58.88Z"},
		{"1-1-1-1", "2026-01-01T00:00:00Z", time.Second, "2026-01-01T00:00:02Z"},
		{"1-28-22-13", "9991-06-30T02:35:43Z", time.Second, "9999-12-31T23:59:59Z"},
		{"1-28-22-13", "9991-06-30T02:35:44Z", time.Second, "9999-12-31T23:59:59.999999999Z"},
		{"1-61-1-1", "2026-01-01T00:00:00Z", time.Second, "9999-12-31T23:59:59.999999999Z"},
		{"1-61-1-1", "2026-01-01T00:00:00Z", time.Millisecond, "9999-12-31T23:59:59.999999999Z"},
	} {
		l, err := bitsalloc.ParseLayout(tt.layout)
		if err != nil {
			t.Fatal(err)
		}
		got := l.End(timeBase(t, date(tt.epoch), tt.unit))
		if !got.Equal(date(tt.want)) || got.Location() != time.UTC {
			t.Errorf("%s from %s in units of %v ends at %v, want %s", tt.layout, tt.epoch, tt.unit, got.Format(time.RFC3339Nano), tt.want)
		}
	}
}

// timeBase returns a time base that must be valid.
func timeBase(tb testing.TB, epoch time.Time, unit time.Duration) bitsalloc.TimeBase {
	tb.Helper()
	b, err := bitsalloc.NewTimeBase(epoch, unit)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// D8: for all widths, units and epochs, the end is after the epoch, and not after the year 9999.
func TestD8EndDoesNotOverflow(t *testing.T) {
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for _, epoch := range []time.Time{time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), last.Truncate(time.Second)} {
		for bits := 1; bits <= 61; bits++ {
			l, before := mustNew(t, bits, 1, 1), epoch
			for _, unit := range []time.Duration{time.Millisecond, 500 * time.Millisecond, time.Second} {
				end := l.End(timeBase(t, epoch, unit))
				if !end.After(epoch) || end.Before(before) || end.After(last) {
					t.Fatalf("%v from %v in units of %v ends at %v", l, epoch, unit, end)
				}
				before = end
			}
		}
	}
}

// End is the start of the first delta that Allocate refuses.
func TestEndAgreesWithAllocate(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, unit := range []time.Duration{time.Millisecond, 8 * time.Millisecond, time.Second} {
		l, base := mustNew(t, 20, 3, 3), timeBase(t, epoch, unit)
		end := l.End(base)
		if _, err := l.Allocate(base.Delta(end.Add(-1)), 1, 0); err != nil {
			t.Errorf("the instant before the end: %v", err)
		}
		if _, err := l.Allocate(base.Delta(end), 1, 0); !errors.Is(err, bitsalloc.ErrRange) {
			t.Errorf("the end: %v, want ErrRange", err)
		}
	}
}

func TestCapacity(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c, err := bitsalloc.Default().Capacity(timeBase(t, epoch.In(time.FixedZone("UTC+8", 8*3600)), time.Second))
	if want := (bitsalloc.Capacity{
		Begin: epoch, End: epoch.Add(1 << 28 * time.Second), WorkerStarts: 4_194_303, PerUnit: 8192, PerSecond: 8192,
	}); err != nil || c != want {
		t.Errorf("the default layout's capacity is %+v, %v; want %+v", c, err, want)
	}
	if got, want := c.String(), "from 2026-01-01T00:00:00Z to 2034-07-04T21:24:16Z, 4194303 worker starts, 8192 UIDs per second and worker"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	l := mustNew(t, 41, 10, 12)
	if c, err = l.Capacity(timeBase(t, epoch, time.Millisecond)); err != nil || c.PerUnit != 4096 || c.PerSecond != 4_096_000 || c.WorkerStarts != 1023 {
		t.Errorf("the capacity of Twitter's layout is %+v, %v", c, err)
	}
	if c, err := l.Capacity(bitsalloc.TimeBase{}); c != (bitsalloc.Capacity{}) || !errors.Is(err, bitsalloc.ErrUnit) {
		t.Errorf("with the zero time base: %v, %v; want ErrUnit", c, err)
	}
}

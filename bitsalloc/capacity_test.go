package bitsalloc_test

import (
	"errors"
	"math"
	"strings"
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
		{"1-41-10-12", "2010-11-04T01:42:54.657Z", time.Millisecond, "2080-07-10T17:30:30.209Z"}, // Twitter's
		{"1-39-16-8", "2014-09-01T00:00:00Z", 10 * time.Millisecond, "2188-11-16T03:28:58.88Z"},
		{"1-1-1-1", "2026-01-01T00:00:00Z", time.Minute, "2026-01-01T00:02:00Z"},
		{"1-61-1-1", "2026-01-01T00:00:00Z", time.Second, "9999-12-31T23:59:59.999999999Z"},
		{"1-61-1-1", "2026-01-01T00:00:00Z", time.Nanosecond, "2099-01-25T23:56:49.213693952Z"},
		{"1-61-1-1", "2026-01-01T00:00:00Z", 1000 * time.Hour, "9999-12-31T23:59:59.999999999Z"},
		{"1-28-22-13", "2026-01-01T00:00:00Z", 0, "2026-01-01T00:00:00Z"},
		{"1-28-22-13", "2026-01-01T00:00:00Z", -time.Second, "2026-01-01T00:00:00Z"},
		{"1-28-22-13", "2026-01-01T00:00:00Z", 7 * time.Millisecond, "2026-01-22T17:57:28.192Z"},
		{"1-28-22-13", "2026-01-01T00:00:00Z", 1500 * time.Millisecond, "2038-10-05T08:06:24Z"},
	} {
		l, err := bitsalloc.ParseLayout(tt.layout)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.End(date(tt.epoch), tt.unit); !got.Equal(date(tt.want)) || got.Location() != time.UTC {
			t.Errorf("%s from %s in units of %v ends at %v, want %s", tt.layout, tt.epoch, tt.unit, got.Format(time.RFC3339Nano), tt.want)
		}
	}
}

// D8: whatever the widths, the unit and the epoch, the end is not before the epoch.
func TestD8EndDoesNotOverflow(t *testing.T) {
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for _, epoch := range []time.Time{{}, time.Unix(math.MinInt64/2, 0), time.Unix(0, 1), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), last.Add(-time.Nanosecond), last} {
		for bits := 1; bits <= 61; bits++ {
			l, before := mustNew(t, bits, 1, 1), epoch
			for _, unit := range []time.Duration{1, time.Millisecond, 999_999_999, time.Second, time.Hour, math.MaxInt64} {
				end := l.End(epoch, unit)
				if end.Before(before) || end.After(last) {
					t.Fatalf("%v from %v in units of %v ends at %v", l, epoch, unit, end)
				}
				before = end
			}
		}
	}
	if got := bitsalloc.Default().End(last.Add(time.Second), time.Second); !got.Equal(last) {
		t.Errorf("an epoch in the year 10000 ends at %v", got)
	}
}

// End is the first delta that Allocate refuses.
func TestEndAgreesWithAllocate(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, unit := range []time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second, time.Minute} {
		l := mustNew(t, 20, 3, 3)
		end := l.End(epoch, unit)
		if _, err := l.Allocate(int64(end.Add(-1).Sub(epoch)/unit), 1, 0); err != nil {
			t.Errorf("the instant before the end: %v", err)
		}
		if _, err := l.Allocate(int64(end.Sub(epoch)/unit), 1, 0); !errors.Is(err, bitsalloc.ErrRange) {
			t.Errorf("the end: %v, want ErrRange", err)
		}
	}
}

func TestCapacity(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c, err := bitsalloc.Default().Capacity(epoch.In(time.FixedZone("UTC+8", 8*3600)), time.Second)
	if want := (bitsalloc.Capacity{
		Begin: epoch, End: epoch.Add(1 << 28 * time.Second), WorkerStarts: 4_194_303, PerUnit: 8192, PerSecond: 8192,
	}); err != nil || c != want {
		t.Errorf("the default layout carries %+v, %v; want %+v", c, err, want)
	}
	if got, want := c.String(), "from 2026-01-01T00:00:00Z to 2034-07-04T21:24:16Z, 4194303 worker starts, 8192 UIDs a second and worker"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	l := mustNew(t, 41, 10, 12)
	if c, err = l.Capacity(epoch, time.Millisecond); err != nil || c.PerUnit != 4096 || c.PerSecond != 4_096_000 || c.WorkerStarts != 1023 {
		t.Errorf("Twitter's layout carries %+v, %v", c, err)
	}
	for _, unit := range []time.Duration{0, -time.Second, time.Millisecond - 1} {
		if c, err := l.Capacity(epoch, unit); c != (bitsalloc.Capacity{}) || !errors.Is(err, bitsalloc.ErrUnit) || !strings.Contains(err.Error(), unit.String()) {
			t.Errorf("in units of %v: %v, %v; want ErrUnit", unit, c, err)
		}
	}
}

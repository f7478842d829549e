package segment_test

import (
	"sync/atomic"
	"testing"
	"time"
	_ "time/tzdata" // so that the test does not depend on the host

	"github.com/ringuid/ringuid/segment"
)

// newDaily returns a Daily with six digits that is closed at the end of the test.
func newDaily(tb testing.TB, src segment.Creator, zone *time.Location, opts ...segment.DailyOption) *segment.Daily {
	tb.Helper()
	d, err := segment.NewDaily(tb.Context(), src, "orders", 6, zone, append([]segment.DailyOption{quietOption()}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return d
}

// zone returns a time zone.
func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return loc
}

// dateOf returns the date of a time in a zone, as a number.
func dateOf(t time.Time, zone *time.Location) int64 {
	y, m, d := t.In(zone).Date()
	return int64(y)*10000 + int64(m)*100 + int64(d)
}

// testClock is a clock that is set by hand.
type testClock struct{ offset atomic.Int64 }

func (c *testClock) now() time.Time {
	return time.Now().Add(time.Duration(c.offset.Load()))
}

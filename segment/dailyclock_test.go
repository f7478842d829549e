package segment_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// Clocks that are set forward and back.
func TestDailyClockSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock testClock
		m := segmenttest.NewMemory()
		var seen uniq.Set
		d := newDaily(t, m, time.UTC, segment.WithClock(clock.now))
		next := func(want int64) {
			t.Helper()
			v, err := d.Next()
			if err != nil || v/1_000_000 != want || !seen.Writer().Add(v) {
				t.Errorf("Next = %d, %v; want a new number of %d", v, err, want)
			}
		}
		next(20000101)
		clock.offset.Store(int64(-2 * time.Hour))
		next(20000101)
		clock.offset.Store(int64(-2*time.Hour - 1))
		if v, err := d.Next(); v != 0 || !errors.Is(err, segment.ErrClockBack) || d.Health().OK() {
			t.Errorf("Next with a clock that is too far back = %d, %v; want ErrClockBack; Health = %+v", v, err, d.Health())
		}
		clock.offset.Store(0)
		next(20000101)
		for _, days := range []int{1, 2, 40, 5000} {
			clock.offset.Store(int64(days) * 24 * int64(time.Hour))
			next(dateOf(clock.now(), time.UTC))
		}
		clock.offset.Store(0)
		if _, err := d.Next(); !errors.Is(err, segment.ErrClockBack) {
			t.Errorf("Next after the clock was years ahead = %v, want ErrClockBack", err)
		}
		// A restart continues the present day.
		d = newDaily(t, m, time.UTC, segment.WithClock(clock.now))
		next(20000101)
	})
}

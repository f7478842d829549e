package segment_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// A panic of the clock is one of the call that reads it. A caller that recovers goes on with a Daily that is whole.
func TestDailyClockPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which the goroutine that opens days ahead does not run during these calls
		var broken atomic.Bool
		d := newDaily(t, segmenttest.NewMemory(), time.UTC, segment.WithClock(func() time.Time {
			if broken.Load() {
				panic("no battery")
			}
			return time.Now()
		}))
		synctest.Wait() // that goroutine has read the clock
		for n := range int64(3) {
			if v, err := d.Next(); v != 20000101_000001+n || err != nil {
				t.Errorf("Next = %d, %v; want number %d of the day", v, err, n+1)
			}
			broken.Store(true)
			for name, call := range map[string]func(){"Next": func() { d.Next() }, "NextN": func() { d.NextN(make([]int64, 2)) }, "Claim": func() { d.Claim(t.Context(), 2) }, "Health": func() { d.Health() }} {
				func() {
					defer func() {
						if v := recover(); v != "no battery" {
							t.Errorf("%s: recover() = %v", name, v)
						}
					}()
					call()
				}()
			}
			broken.Store(false)
		}
	})
}

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

// A day that was opened while the clock was wrong does not hinder the days before it.
func TestDailyClockAheadForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock testClock
		m := segmenttest.NewMemory()
		d := newDaily(t, m, time.UTC, segment.WithClock(clock.now))
		m.SetFaults(func(segmenttest.Op) segmenttest.Fault { time.Sleep(time.Second); return segmenttest.NoFault })
		clock.offset.Store(int64(5 * 24 * time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := d.NextContext(ctx); err == nil {
			t.Error("NextContext did not wait")
		}
		clock.offset.Store(0)
		time.Sleep(24*time.Hour - time.Second) // the next day is prepared
		before := m.Writes()
		time.Sleep(time.Second)
		for want := int64(20000102_000001); want < 20000102_000004; want++ {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if v, err := d.NextContext(ctx); err != nil || v != want {
				t.Errorf("NextContext = %d, %v; want %d", v, err, want)
			}
			cancel()
		}
		if after := m.Writes(); after != before {
			t.Errorf("%d more requests after the day was prepared", after-before)
		}
	})
}

// What a clock that was a day ahead has opened, without a call, is not used when that day comes: the store may have lost the tag
// meanwhile. Nor does its failure remain in Health.
func TestDailyClockAheadWithoutCalls(t *testing.T) {
	for _, down := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var clock testClock
			m := segmenttest.NewMemory()
			d := newDaily(t, m, time.UTC, segment.WithClock(clock.now))
			time.Sleep(12 * time.Hour)
			if down {
				m.Kill()
			}
			clock.offset.Store(int64(24 * time.Hour))
			time.Sleep(20 * time.Second)
			clock.offset.Store(0)
			m.Start()
			opened := m.Counter("orders.20000102")
			time.Sleep(20 * time.Second)
			if h := d.Health(); (opened == 0) != down || !h.OK() || h.LastError != nil {
				t.Errorf("down: %v, the counter of the next day is %d, Health = %+v", down, opened, h)
			}
			time.Sleep(12 * time.Hour)
			if v, err := d.Next(); err != nil || v != 20000102_000000+max(opened, 1) {
				t.Errorf("down: %v, Next on the next day = %d, %v; want the first number that no range in memory had then, %d", down, v, err, max(opened, 1))
			}
		})
	}
}

package segment_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// Days that are opened concurrently, the earlier one last, and a source that ends the goroutine that opens a day, as a test's FailNow
// does.
func TestDailyBadSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock testClock
		m := segmenttest.NewMemory()
		d := newDaily(t, hookedSource{m, func(_ context.Context, r segment.Request) error {
			if r.Tag == "orders.20000102" {
				runtime.Goexit()
			}
			return nil
		}}, time.UTC, segment.WithClock(clock.now))
		time.Sleep(24 * time.Hour)
		if v, err := d.Next(); err == nil {
			t.Errorf("Next of the day = %d", v)
		}
		time.Sleep(24 * time.Hour)
		if v, err := d.Next(); v != 20000103_000001 || err != nil {
			t.Errorf("Next a day later = %d, %v", v, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var clock testClock
		m := segmenttest.NewMemory()
		d := newDaily(t, m, time.UTC, segment.WithClock(clock.now), segment.WithTryTimeout(time.Hour))
		m.SetFaults(func(op segmenttest.Op) segmenttest.Fault {
			if op.Tag == "orders.20000102" {
				time.Sleep(2 * time.Second)
			}
			if op.Tag == "orders.20000103" {
				time.Sleep(time.Second)
			}
			return segmenttest.NoFault
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		for days := range 2 { // the callers do not wait until the days are open
			clock.offset.Store(int64(days+1) * 24 * int64(time.Hour))
			if _, err := d.NextContext(ctx); err == nil {
				t.Error("NextContext did not wait")
			}
		}
		time.Sleep(time.Minute)
		writes := m.Writes()
		if v, err := d.Next(); err != nil || v != 20000103_000001 || m.Writes() != writes {
			t.Errorf("Next of a day that was opened before an earlier one = %d, %v, with %d more requests", v, err, m.Writes()-writes)
		}
	})
}

package segment_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// Many goroutines of several processes take numbers over midnights: none comes twice, each has the date of the time
// when its call began.
func TestDailyMidnight(t *testing.T) {
	leaktest.Check(t)
	for name, year := range map[string]int{"UTC": 2000, "America/Sao_Paulo": 2000, "Asia/Beirut": 2000, "Africa/Cairo": 2000, "Pacific/Apia": 2011, "Antarctica/Troll": 2010, "Australia/Lord_Howe": 2000} {
		if (testing.Short() || testkit.Race && !testkit.IsFull()) && name != "Africa/Cairo" && name != "Pacific/Apia" {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			loc := zone(t, name)
			var clock testClock
			if year > 2000 {
				clock.offset.Store(int64(time.Until(time.Date(year, 12, 28, 0, 0, 0, 0, time.UTC))))
			}
			m := segmenttest.NewMemory()
			var seen uniq.Set
			var wg sync.WaitGroup
			for p := range 2 {
				d := newDaily(t, m.Client(fmt.Sprint(p)), loc, segment.WithClock(clock.now), segment.WithDailyStep(5))
				for range 4 {
					wg.Go(func() {
						w := seen.Writer()
						for range 3000 {
							at := clock.now()
							v, err := d.Next()
							if err != nil || !w.Add(v) || v/1_000_000 != dateOf(at, loc) || v%1_000_000 == 0 {
								t.Errorf("Next at %v in %s = %d, %v; want a new number of that day", at.In(loc), name, v, err)
								return
							}
							time.Sleep(97 * time.Second) // 3.4 days
						}
					})
				}
			}
			wg.Wait()
		})
	}
}

// The tag of a day is created and its first ranges are requested before the day begins.
func TestDailyPrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock testClock
		m := segmenttest.NewMemory()
		d := newDaily(t, m, time.UTC, segment.WithClock(clock.now))
		time.Sleep(23*time.Hour + 49*time.Minute)
		if m.Counter("orders.20000102") != 0 {
			t.Error("the tag of the next day was created 11 minutes before")
		}
		time.Sleep(2 * time.Minute)
		if m.Counter("orders.20000102") < 1000 {
			t.Error("9 minutes before the next day its first ranges were not requested")
		}
		m.Kill()
		time.Sleep(9 * time.Minute)
		begin := time.Now()
		if v, err := d.Next(); err != nil || v != 20000102_000001 || time.Since(begin) > 0 {
			t.Errorf("Next at midnight with a store that is down since 9 minutes = %d, %v after %v", v, err, time.Since(begin))
		}
		if s := d.Stats(); s.Tag != "orders.20000102" || !d.Health().OK() {
			t.Errorf("Stats = %+v", s)
		}
	})
}

// A Daily for which no call comes opens each day nevertheless, also one that could not be opened in time. While it
// cannot, Health says so before the day begins, and the log once.
func TestDailyWithoutCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out testkit.Buffer
		m := segmenttest.NewMemory()
		d := newDaily(t, m, time.UTC, segment.WithLogger(slog.New(slog.NewTextHandler(&out, nil))))
		for range 5 * 24 {
			time.Sleep(time.Hour)
			if h := d.Health(); !h.OK() || !h.FailingSince.IsZero() {
				t.Fatalf("Health at %v without calls = %+v", time.Now(), h)
			}
		}
		time.Sleep(23*time.Hour + 55*time.Minute)
		if m.Counter("orders.20000107") == 0 {
			t.Error("the next day was not prepared")
		}
		time.Sleep(23*time.Hour + 50*time.Minute) // 23:45
		m.Kill()
		time.Sleep(10 * time.Minute)
		if h := d.Health(); !h.OK() || !errors.Is(h.LastError, segmenttest.ErrDown) || time.Since(h.FailingSince) > 6*time.Minute {
			t.Errorf("Health 5 minutes before a day that cannot be opened = %+v", h)
		}
		time.Sleep(10 * time.Minute)
		if h := d.Health(); !errors.Is(h.Err, segmenttest.ErrDown) || !errors.Is(h.LastError, segmenttest.ErrDown) {
			t.Errorf("Health on the day that cannot be opened = %+v", h)
		}
		m.Start()
		time.Sleep(time.Minute)
		if h := d.Health(); !h.OK() || h.LastError != nil {
			t.Errorf("Health when the store is up again = %+v", h)
		}
		if log := out.String(); strings.Count(log, "cannot be opened") != 1 || strings.Count(log, "is open again") != 1 || strings.Count(log, "\n") != 2 {
			t.Errorf("the log is\n%s", log)
		}
		if v, err := d.Next(); err != nil || v != 20000108_000001 {
			t.Errorf("Next = %d, %v", v, err)
		}
	})
}

// The day before, whose numbers WithYesterday allows, is not in Health any more when the present day is open.
func TestDailyHealthAfterYesterday(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		d := newDaily(t, m, time.UTC, segment.WithYesterday(time.Hour))
		time.Sleep(23 * time.Hour)
		m.SetCounter("orders.20000101", 1e6)
		for range d.All(t.Context()) { // until the day has no numbers left
		}
		if h := d.Health(); !errors.Is(h.Err, segment.ErrExhausted) {
			t.Errorf("Health of a day without numbers = %+v", h)
		}
		time.Sleep(time.Hour + time.Minute)
		if h := d.Health(); !h.OK() {
			t.Errorf("Health of the next day = %+v", h)
		}
	})
}

// If the store is down from long before midnight, calls wait and fail, or have the date of yesterday with
// WithYesterday, and the next day's soon after the store is up.
func TestDailyStoreDownAtMidnight(t *testing.T) {
	for _, how := range []string{"down", "paused"} {
		for _, yesterday := range []time.Duration{0, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				m := segmenttest.NewMemory()
				d := newDaily(t, m, time.UTC, segment.WithYesterday(yesterday))
				if _, err := d.Next(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(23 * time.Hour)
				if how == "down" {
					m.Kill()
				} else {
					m.Pause()
				}
				time.Sleep(time.Hour + time.Minute)
				begin := time.Now()
				v, err := d.Next()
				took := time.Since(begin)
				switch {
				case yesterday == 0 && (!errors.Is(err, segment.ErrEmpty) || took != 3*time.Second):
					t.Errorf("Next with a store that is %s = %d, %v after %v; want ErrEmpty after 3s", how, v, err, took)
				case yesterday > 0 && (v != 20000101_000002 || took > 0):
					t.Errorf("Next with a store that is %s and WithYesterday = %d, %v after %v", how, v, err, took)
				}
				if d.Health().OK() != (yesterday > 0) {
					t.Errorf("Health = %+v with WithYesterday(%v)", d.Health(), yesterday)
				}
				if yesterday > 0 {
					dst := make([]int64, 5000) // more than there are in memory
					if n, err := d.NextN(dst); n == 0 || n == len(dst) || !errors.Is(err, segment.ErrEmpty) {
						t.Errorf("NextN = %d, %v; want the numbers in memory and ErrEmpty", n, err)
					}
					time.Sleep(time.Hour)
					if v, err := d.Next(); err == nil {
						t.Errorf("Next after the time of WithYesterday = %d", v)
					}
				}
				m.Start()
				m.Resume()
				begin = time.Now()
				if v, err := d.Next(); err != nil || v != 20000102_000001 || time.Since(begin) > 2*time.Second {
					t.Errorf("Next when the store is up again = %d, %v after %v", v, err, time.Since(begin))
				}
			})
		}
	}
}

// A call that waits over midnight returns a number of the new day, or of the old one with WithYesterday.
func TestDailyWaitOverMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		d := newDaily(t, m, time.UTC, segment.WithDailyStep(1), segment.WithMaxWait(time.Minute), segment.WithTryTimeout(5*time.Minute), segment.WithStepPolicy(segment.FixedStep{}))
		time.Sleep(24*time.Hour - 10*time.Second)
		m.SetFaults(func(op segmenttest.Op) segmenttest.Fault { // all replies come 10 seconds after midnight
			if strings.HasSuffix(op.Tag, "0101") {
				time.Sleep(20 * time.Second)
			}
			return segmenttest.NoFault
		})
		var wg sync.WaitGroup
		var yesterday atomic.Int64
		for range 10 {
			wg.Go(func() {
				v, err := d.Next()
				if err != nil {
					t.Error(err)
				}
				if v/1_000_000 == 20000101 {
					yesterday.Add(1)
				}
			})
		}
		wg.Wait()
		if n := yesterday.Load(); n != 2 {
			t.Errorf("%d calls returned a number of the day before, want 2, which was in memory", n)
		}
		time.Sleep(time.Minute) // until the last reply has come
	})
}

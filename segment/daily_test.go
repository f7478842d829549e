package segment_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // so that the test does not depend on the host

	"github.com/ringuid/ringuid/internal/leaktest"
	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// newDaily returns a Daily with six digits that is closed at the end of the test.
func newDaily(tb testing.TB, src segment.Source, zone *time.Location, opts ...segment.DailyOption) *segment.Daily {
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
type testClock struct{ offset, bad atomic.Int64 }

const (
	clockPanics = 1 + iota
	clockExits
)

func (c *testClock) now() time.Time {
	switch c.bad.Load() {
	case clockPanics:
		panic("no time")
	case clockExits:
		runtime.Goexit()
	}
	return time.Now().Add(time.Duration(c.offset.Load()))
}

// NewDaily refuses invalid arguments, and a Daily that it has not made returns errors.
func TestDailyArguments(t *testing.T) {
	m := segmenttest.NewMemory()
	for name, opt := range map[string]segment.DailyOption{
		"nil": nil, "clock": segment.WithClock(nil), "step": segment.WithDailyStep(0), "yesterday": segment.WithYesterday(-1), "long yesterday": segment.WithYesterday(13 * time.Hour),
		"option": segment.WithCapacity(3), "zero clock": segment.WithClock(func() time.Time { return time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC) }),
		"panic": segment.WithClock(func() time.Time { panic("no time") }), "late clock": segment.WithClock(func() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }),
	} {
		if _, err := segment.NewDaily(t.Context(), m, "x", 6, time.UTC, opt); !errors.Is(err, segment.ErrOption) {
			t.Errorf("%s: NewDaily = %v, want ErrOption", name, err)
		}
	}
	for _, digits := range []int{-1, 0, segment.MaxDigits + 1} {
		if _, err := segment.NewDaily(t.Context(), m, "x", digits, time.UTC); !errors.Is(err, segment.ErrOption) {
			t.Errorf("NewDaily with %d digits = %v, want ErrOption", digits, err)
		}
	}
	for _, src := range []segment.Source{nil, rangeSource{}} {
		if _, err := segment.NewDaily(t.Context(), src, "x", 6, time.UTC); !errors.Is(err, segment.ErrOption) {
			t.Errorf("NewDaily with the source %v = %v, want ErrOption", src, err)
		}
	}
	if _, err := segment.NewDaily(t.Context(), m, "x", 6, nil); !errors.Is(err, segment.ErrOption) {
		t.Errorf("NewDaily without a zone = %v, want ErrOption", err)
	}
	if _, err := segment.NewDaily(t.Context(), m, strings.Repeat("x", 120), 6, time.UTC); !errors.Is(err, segment.ErrTag) {
		t.Errorf("NewDaily with a tag that is too long with the date = %v, want ErrTag", err)
	}
	for _, d := range []*segment.Daily{nil, {}} {
		if _, err := d.Next(); !errors.Is(err, segment.ErrOption) {
			t.Errorf("Next = %v, want ErrOption", err)
		}
		if _, _, _, _, err := d.Parse(1); !errors.Is(err, segment.ErrOption) {
			t.Errorf("Parse = %v, want ErrOption", err)
		}
		if h := d.Health(); h.OK() || d.Stats() != (segment.Stats{}) || d.Close() != nil {
			t.Errorf("Health = %+v", h)
		}
	}
}

// time.Local depends on the host, and is refused unless it is UTC.
func TestDailyLocal(t *testing.T) {
	old := time.Local
	t.Cleanup(func() { time.Local = old })
	time.Local = zone(t, "Europe/Berlin")
	if _, err := segment.NewDaily(t.Context(), segmenttest.NewMemory(), "x", 6, time.Local); !errors.Is(err, segment.ErrOption) {
		t.Errorf("NewDaily with time.Local = %v, want ErrOption", err)
	}
	time.Local = time.UTC
	newDaily(t, segmenttest.NewMemory(), time.Local)
}

// Many goroutines of several processes take numbers over midnights: none comes twice, each has the date of the time when its call began.
func TestDailyMidnight(t *testing.T) {
	leaktest.Check(t)
	for name, year := range map[string]int{"UTC": 2000, "America/Sao_Paulo": 2000, "Asia/Beirut": 2000, "Africa/Cairo": 2000, "Pacific/Apia": 2011, "Antarctica/Troll": 2010, "Australia/Lord_Howe": 2000} {
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
	for _, bad := range []int64{0, clockPanics, clockExits} {
		synctest.Test(t, func(t *testing.T) {
			var clock testClock
			m := segmenttest.NewMemory()
			d := newDaily(t, m, time.UTC, segment.WithClock(clock.now))
			time.Sleep(time.Hour)
			clock.bad.Store(bad)
			if bad == clockPanics {
				if _, err := d.Next(); !errors.Is(err, segment.ErrOption) || d.Health().OK() {
					t.Errorf("Next with a clock that panics = %v, want ErrOption", err)
				}
			}
			time.Sleep(time.Hour)
			clock.bad.Store(0)
			time.Sleep(21*time.Hour + 49*time.Minute)
			if m.Counter("orders.20000102") != 0 {
				t.Error("the tag of the next day was created 11 minutes before")
			}
			time.Sleep(2 * time.Minute)
			if m.Counter("orders.20000102") < 1000 {
				t.Errorf("bad clock %d: 9 minutes before the next day its first ranges were not requested", bad)
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
}

// If the store is down from long before midnight, calls wait and fail, or have the date of yesterday with WithYesterday, and the next day's
// soon after the store is up.
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
				case yesterday == 0 && (!errors.Is(err, segment.ErrEmpty) || took != segment.DefaultMaxWait):
					t.Errorf("Next with a store that is %s = %d, %v after %v; want ErrEmpty after %v", how, v, err, took, segment.DefaultMaxWait)
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

// Nothing beyond the digits is handed out, and the next day begins again.
func TestDailyOverflow(t *testing.T) {
	for _, digits := range []int{1, 3} {
		for _, count := range []int{1, 3} {
			synctest.Test(t, func(t *testing.T) {
				var clock testClock
				g, stores := stripes(count)
				d, err := segment.NewDaily(t.Context(), g, "orders", digits, time.UTC, quietOption(), segment.WithDailyStep(4), segment.WithClock(clock.now))
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				scale := int64(1)
				for range digits {
					scale *= 10
				}
				for day := int64(20000101); day < 20000103; day++ {
					seen := map[int64]bool{}
					for {
						v, err := d.Next()
						if errors.Is(err, segment.ErrExhausted) {
							break
						}
						if err != nil || v/scale != day || v%scale == 0 || seen[v] {
							t.Fatalf("Next with %d digits and %d stripes = %d, %v", digits, count, v, err)
						}
						seen[v] = true
					}
					if want := scale - 1; count == 1 && int64(len(seen)) != want {
						t.Errorf("%d numbers on a day with %d digits, want %d", len(seen), digits, want)
					}
					if d.Health().OK() {
						t.Error("Health is OK although there are no numbers left")
					}
					time.Sleep(time.Minute)
					tag := segment.StripeTag(fmt.Sprint("orders.", day), 0, count)
					before := stores[0].Counter(tag)
					time.Sleep(10 * time.Minute)
					if after := stores[0].Counter(tag); after != before {
						t.Errorf("the counter of a day that has no numbers left rose from %d to %d", before, after)
					}
					clock.offset.Add(int64(24 * time.Hour))
				}
			})
		}
	}
}

// A burst does not reserve more than a hundredth of a day's numbers at a time.
func TestDailyBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		d := newDaily(t, m, time.UTC)
		for range 200_000 {
			if _, err := d.Next(); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if c := m.Counter("orders.20000101"); c > 230_000 {
			t.Errorf("after 200,000 numbers, the counter is %d", c)
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

// Days that are opened concurrently, the earlier one last, and code of the source that panics or exits.
func TestDailyBadSource(t *testing.T) {
	for name, bad := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			var clock testClock
			m := segmenttest.NewMemory()
			d := newDaily(t, hookedSource{m, func(_ context.Context, r segment.Request) error {
				if r.Tag == "orders.20000102" {
					bad()
				}
				return nil
			}}, time.UTC, segment.WithClock(clock.now))
			time.Sleep(24 * time.Hour)
			if v, err := d.Next(); err == nil {
				t.Errorf("Next with %s of the source = %d", name, v)
			}
			time.Sleep(24 * time.Hour)
			if v, err := d.Next(); v != 20000103_000001 || err != nil {
				t.Errorf("Next a day after %s of the source = %d, %v", name, v, err)
			}
		})
	}
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

// Close races with the switch to the next day. Nothing is left.
func TestDailyClose(t *testing.T) {
	leaktest.Check(t)
	for round := range 300 {
		var clock testClock
		clock.offset.Store(int64(time.Until(time.Now().Truncate(24*time.Hour)) + 12*time.Hour))
		d, err := segment.NewDaily(t.Context(), segmenttest.NewMemory(), "orders", 6, time.UTC, quietOption(), segment.WithClock(clock.now))
		if err != nil {
			t.Fatal(err)
		}
		clock.offset.Add(int64(24 * time.Hour))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					if _, err := d.Next(); errors.Is(err, segment.ErrClosed) {
						return
					} else if err != nil {
						t.Errorf("Next while Close runs: %v", err)
						return
					}
				}
			})
		}
		for range round % 23 {
			runtime.Gosched()
		}
		if err := d.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		wg.Wait()
		if d.Health().OK() || d.Close() != nil {
			t.Error("the Daily is not closed")
		}
	}
}

// Parse splits numbers, and refuses those that are none.
func TestDailyParse(t *testing.T) {
	d := newDaily(t, segmenttest.NewMemory(), time.UTC)
	v, err := d.Next()
	if err != nil {
		t.Fatal(err)
	}
	if y, m, day, n, err := d.Parse(v); err != nil || n != 1 || int64(y)*10000+int64(m)*100+int64(day) != v/1_000_000 {
		t.Errorf("Parse(%d) = %d, %d, %d, %d, %v", v, y, m, day, n, err)
	}
	for _, v := range []int64{0, -1, 1, 20261121_000000, 20261131_000001, 20260229_000001, 20261301_000001, 20260001_000001, 20260100_000001, -20261121_000001,
		100000101_000001, 1<<63 - 1, -1 << 63} {
		if _, _, _, n, err := d.Parse(v); !errors.Is(err, segment.ErrOption) || n != 0 {
			t.Errorf("Parse(%d) = %d, %v; want ErrOption", v, n, err)
		}
	}
	if y, m, day, n, err := d.Parse(20240229_999999); err != nil || y != 2024 || m != 2 || day != 29 || n != 999999 {
		t.Errorf("Parse of 29 February = %d, %d, %d, %d, %v", y, m, day, n, err)
	}
	if tag := segment.DailyTag("orders", 2026, 3, 5); tag != "orders.20260305" {
		t.Errorf("DailyTag = %q", tag)
	}
}

func BenchmarkDailyNext(b *testing.B) {
	d := newDaily(b, segmenttest.NewMemory(), zone(b, "America/Sao_Paulo"))
	for b.Loop() {
		if _, err := d.Next(); err != nil && !errors.Is(err, segment.ErrExhausted) {
			b.Fatal(err)
		}
	}
}

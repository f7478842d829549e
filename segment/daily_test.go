package segment_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// NewDaily refuses invalid arguments, and a Daily that it has not made returns errors.
func TestDailyArguments(t *testing.T) {
	m := segmenttest.NewMemory()
	for name, opt := range map[string]segment.DailyOption{
		"nil": nil, "clock": segment.WithClock(nil), "step": segment.WithDailyStep(0), "yesterday": segment.WithYesterday(-1), "long yesterday": segment.WithYesterday(12*time.Hour + 1),
		"option": segment.WithCapacity(3), "zero clock": segment.WithClock(func() time.Time { return time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC) }),
		"late clock": segment.WithClock(func() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }),
	} {
		if _, err := segment.NewDaily(t.Context(), m, "x", 6, time.UTC, opt); !errors.Is(err, segment.ErrOption) {
			t.Errorf("%s: NewDaily = %v, want ErrOption", name, err)
		}
	}
	for _, digits := range []int{-1, 0, 11} {
		if _, err := segment.NewDaily(t.Context(), m, "x", digits, time.UTC); !errors.Is(err, segment.ErrOption) {
			t.Errorf("NewDaily with %d digits = %v, want ErrOption", digits, err)
		}
	}
	if _, err := segment.NewDaily(t.Context(), nil, "x", 6, time.UTC); !errors.Is(err, segment.ErrOption) {
		t.Errorf("NewDaily without a source = %v, want ErrOption", err)
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
		if h := d.Health(); h.OK() || d.Stats() != (segment.Stats{}) || d.Tag() != "" || d.Close() != nil {
			t.Errorf("Health = %+v", h)
		}
	}
}

// time.Local depends on the host, and is refused unless it is UTC. A process of its own has the time zone, because
// timers of other tests read time.Local.
func TestDailyLocal(t *testing.T) {
	if testkit.ChildArg() != "" {
		d, err := segment.NewDaily(t.Context(), segmenttest.NewMemory(), "x", 6, time.Local, quietOption())
		fmt.Println(err == nil, errors.Is(err, segment.ErrOption))
		d.Close()
		return
	}
	for zone, want := range map[string]string{"Europe/Berlin": "false true", "UTC": "true false"} {
		if got := testkit.StartChild(t, zone, "TZ="+zone).Line(); got != want {
			t.Errorf("NewDaily with time.Local = %s: %s; want %s", zone, got, want)
		}
	}
}

// The greatest value of WithYesterday is allowed.
func TestDailyLongYesterday(t *testing.T) {
	if _, err := newDaily(t, segmenttest.NewMemory(), time.UTC, segment.WithYesterday(12*time.Hour)).Next(); err != nil {
		t.Error(err)
	}
}

// Close races with the switch to the next day. Nothing is left.
func TestDailyClose(t *testing.T) {
	leaktest.Check(t)
	for round := range 300 {
		var clock testClock
		clock.offset.Store(int64(time.Until(time.Now().Truncate(24*time.Hour)) + 12*time.Hour))
		d, err := segment.NewDaily(t.Context(), segmenttest.NewMemory(), "orders", 10, time.UTC, quietOption(), segment.WithClock(clock.now),
			segment.WithMaxWait(longWait))
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
					runtime.Gosched() // on one CPU, Close would wait for the end of a time slice
				}
			})
		}
		for range round % 23 {
			runtime.Gosched()
		}
		testkit.Close(t, d.Close, segment.ErrBusy)
		wg.Wait()
		if d.Health().OK() || d.Close() != nil {
			t.Error("the Daily is not closed")
		}
	}
}

// All yields numbers of the present day.
func TestDailyAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaily(t, segmenttest.NewMemory(), time.UTC)
		want := []int64{20000101_000001, 20000101_000002, 20000102_000001, 20000102_000002}
		for v, err := range d.All(t.Context()) {
			if v != want[0] || err != nil {
				t.Fatalf("%d, %v; want %d", v, err, want[0])
			}
			if want = want[1:]; len(want) == 0 {
				break
			}
			time.Sleep(12 * time.Hour)
		}
		for _, err := range (*segment.Daily)(nil).All(t.Context()) {
			if !errors.Is(err, segment.ErrOption) {
				t.Errorf("All of a nil *Daily yields %v", err)
			}
		}
	})
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
	for v, year := range map[int64]int{10101_000001: 1, 99991231_000001: 9999} {
		if y, _, _, n, err := d.Parse(v); err != nil || y != year || n != 1 {
			t.Errorf("Parse(%d) = year %d, %d, %v; want year %d", v, y, n, err, year)
		}
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

package bitsalloc_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

func mustNew(tb testing.TB, time, worker, sequence int) bitsalloc.Layout {
	tb.Helper()
	l, err := bitsalloc.New(time, worker, sequence)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// testdata/allocate.csv holds what the original makes of parts, in 15 layouts.
func TestAllocateAgreesWithTheOriginal(t *testing.T) {
	file, err := os.Open("testdata/allocate.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 991 {
		t.Fatalf("%d rows, want 991 with the heading", len(rows))
	}
	layouts := map[bitsalloc.Layout]bool{}
	for _, row := range rows[1:] {
		var n [7]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(row[i], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		l := mustNew(t, int(n[0]), int(n[1]), int(n[2]))
		layouts[l] = true
		if uid, err := l.Allocate(n[3], n[4], n[5]); err != nil || uid != n[6] {
			t.Errorf("%v: Allocate(%d, %d, %d) = %d, %v; want %d", l, n[3], n[4], n[5], uid, err, n[6])
		}
		if d, w, s := l.Split(n[6]); d != n[3] || w != n[4] || s != n[5] {
			t.Errorf("%v: Split(%d) = %d, %d, %d; want %v", l, n[6], d, w, s, n[3:6])
		}
		if !l.Contains(n[6]) {
			t.Errorf("%v does not contain %d", l, n[6])
		}
	}
	if len(layouts) != 15 {
		t.Errorf("%d layouts, want 15", len(layouts))
	}
}

// D11: widths of 0 or less are refused, by name; D8: the sum of great ones does not
// overflow into one that fits.
func TestD8D11Widths(t *testing.T) {
	for _, tt := range []struct {
		time, worker, sequence int
		ok                     bool
	}{
		{28, 22, 13, true}, {1, 1, 1, true}, {61, 1, 1, true}, {1, 61, 1, true}, {1, 1, 61, true}, {20, 20, 12, true},
		{28, 22, 14, false}, {62, 1, 1, false}, {0, 22, 13, false}, {28, 0, 13, false}, {28, 22, 0, false},
		{-1, 22, 13, false}, {28, -22, 57, false}, {28, 22, math.MinInt, false},
		{math.MaxInt, math.MaxInt, 5, false}, {math.MaxInt, 1, math.MinInt, false}, {256 + 28, 22, 13, false},
	} {
		l, err := bitsalloc.New(tt.time, tt.worker, tt.sequence)
		if tt.ok {
			if err != nil || l.TimeBits() != tt.time || l.WorkerBits() != tt.worker || l.SequenceBits() != tt.sequence {
				t.Errorf("New(%d, %d, %d) = %v, %v", tt.time, tt.worker, tt.sequence, l, err)
			}
			continue
		}
		if !errors.Is(err, bitsalloc.ErrLayout) || !l.IsZero() || !strings.HasPrefix(err.Error(), "bitsalloc: ") {
			t.Errorf("New(%d, %d, %d) = %v, %v; want ErrLayout", tt.time, tt.worker, tt.sequence, l, err)
			continue
		}
		for _, n := range []int{tt.time, tt.worker, tt.sequence} {
			if !strings.Contains(err.Error(), fmt.Sprint(n)) {
				t.Errorf("the error does not name %d: %v", n, err)
			}
		}
	}
}

// Invariant 5: what does not fit is an error that names the field, the value and the bound.
// Its part for time is D2, where the original's UIDs turn negative; its part for worker IDs
// below 0 is D11.
func TestInvariant5D2D11OutOfRange(t *testing.T) {
	for _, l := range []bitsalloc.Layout{bitsalloc.Default(), mustNew(t, 1, 1, 1), mustNew(t, 61, 1, 1), mustNew(t, 1, 61, 1), mustNew(t, 1, 1, 61), mustNew(t, 10, 9, 8)} {
		top := [3]int64{l.MaxDelta(), l.MaxWorkerID(), l.MaxSequence()}
		for field, name := range []string{"delta", "worker ID", "sequence"} {
			for _, bad := range []int64{top[field] + 1, -1, math.MinInt64, math.MaxInt64, -top[field]} {
				if bad == 0 {
					continue
				}
				for _, others := range [][3]int64{{}, top} {
					parts := others
					parts[field] = bad
					uid, err := l.Allocate(parts[0], parts[1], parts[2])
					var e *bitsalloc.RangeError
					if uid != 0 || !errors.Is(err, bitsalloc.ErrRange) || !errors.As(err, &e) ||
						e.Field != name || e.Value != bad || e.Max != top[field] || e.Layout != l {
						t.Fatalf("%v: Allocate%v = %d, %v", l, parts, uid, err)
					}
					want := fmt.Sprintf("bitsalloc: out of range: %s %d is not from 0 to %d (layout %v)", name, bad, top[field], l)
					if err.Error() != want {
						t.Errorf("the error is %q, want %q", err, want)
					}
				}
			}
		}
		if uid, err := l.Allocate(top[0], top[1], top[2]); err != nil || uid != l.MaxUID() || uid < 0 {
			t.Errorf("%v: the greatest UID is %d, %v", l, uid, err)
		}
	}
}

// Invariant 5, of small layouts wholly: each UID comes from just one set of parts.
func TestInvariant5Bijection(t *testing.T) {
	for _, w := range [][3]int{{1, 1, 1}, {3, 2, 1}, {1, 2, 3}, {4, 4, 4}} {
		l := mustNew(t, w[0], w[1], w[2])
		seen := map[int64]bool{}
		last := int64(-1)
		for d := range l.MaxDelta() + 1 {
			for w := range l.MaxWorkerID() + 1 {
				for s := range l.MaxSequence() + 1 {
					uid, err := l.Allocate(d, w, s)
					if err != nil || seen[uid] || uid != last+1 || !l.Contains(uid) {
						t.Fatalf("%v: Allocate(%d, %d, %d) = %d, %v after %d", l, d, w, s, uid, err, last)
					}
					seen[uid], last = true, uid
				}
			}
		}
		if l.Contains(last+1) || l.Contains(-1) || l.Contains(math.MinInt64) || last != l.MaxUID() {
			t.Errorf("%v: the last UID is %d", l, last)
		}
	}
}

func TestZeroLayoutRefusesEverything(t *testing.T) {
	var l bitsalloc.Layout
	if uid, err := l.Allocate(0, 0, 0); uid != 0 || !errors.Is(err, bitsalloc.ErrLayout) {
		t.Errorf("Allocate = %d, %v; want ErrLayout", uid, err)
	}
	if d, w, s := l.Split(math.MaxInt64); d != 0 || w != 0 || s != 0 {
		t.Errorf("Split = %d, %d, %d", d, w, s)
	}
	if l.Contains(0) || !l.IsZero() || l.String() != "1-0-0-0" {
		t.Errorf("%v contains 0, or is not zero", l)
	}
	if text, err := l.MarshalText(); !errors.Is(err, bitsalloc.ErrLayout) {
		t.Errorf("MarshalText = %q, %v; want ErrLayout", text, err)
	}
	if epoch := time.Unix(5, 0).UTC(); !l.End(epoch, time.Second).Equal(epoch) {
		t.Error("the zero layout ends later than it begins")
	}
}

var badTexts = []string{"", "1", "28-22-13", "1-28-22", "1-28-22-13-", "1-28-22-13-1", "-1-28-22-13", "0-28-22-13", "2-28-22-13",
	"1-28-22-14", "1-0-22-13", "1-28--22-13", "1-+28-22-13", "1-028-22-13", "1- 28-22-13", "1-28-22-13\n", "1-28-22-x", "1-284-22-13",
	"1-99999999999999999999-1-1", "1–28–22–13", "01-28-22-13"}

func TestParseLayout(t *testing.T) {
	for _, s := range []string{"1-28-22-13", "1-1-1-1", "1-61-1-1", "1-1-1-61", "1-41-10-12", "1-30-12-10"} {
		l, err := bitsalloc.ParseLayout(s)
		if err != nil || l.String() != s {
			t.Errorf("ParseLayout(%q) = %v, %v", s, l, err)
		}
	}
	for _, s := range badTexts {
		l, err := bitsalloc.ParseLayout(s)
		if !l.IsZero() || !errors.Is(err, bitsalloc.ErrLayout) || !strings.Contains(err.Error(), strconv.Quote(s)) {
			t.Errorf("ParseLayout(%q) = %v, %v; want ErrLayout with the text", s, l, err)
		}
	}
}

func TestLayoutInAConfigurationFile(t *testing.T) {
	type config struct{ Layout bitsalloc.Layout }
	in := config{mustNew(t, 30, 27, 6)}
	text, err := json.Marshal(in)
	if err != nil || string(text) != `{"Layout":"1-30-27-6"}` {
		t.Fatalf("Marshal = %s, %v", text, err)
	}
	var out config
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		t.Errorf("Unmarshal = %v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"Layout":"1-99-1-1"}`), &out); !errors.Is(err, bitsalloc.ErrLayout) || out != in {
		t.Errorf("a bad text left %v, %v; want what was there", out, err)
	}
}

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
		{"1-28-22-13", "2026-01-01T00:00:00Z", 7 * time.Millisecond, "2026-01-01T00:00:00Z"},
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

func TestCapacity(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got, want := bitsalloc.Default().Capacity(epoch, time.Second).String(),
		"from 2026-01-01T00:00:00Z to 2034-07-04T21:24:16Z, 4194303 worker starts, 8192 UIDs a second and worker"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c := mustNew(t, 41, 10, 12).Capacity(epoch, time.Millisecond)
	if c.PerUnit != 4096 || c.PerSecond != 4_096_000 || c.WorkerStarts != 1023 {
		t.Errorf("Twitter's layout carries %+v", c)
	}
}

func TestNothingAllocates(t *testing.T) {
	l := bitsalloc.Default()
	if n := testing.AllocsPerRun(1000, func() {
		uid, _ := l.Allocate(1, 2, 3)
		l.Split(uid)
	}); n != 0 {
		t.Errorf("Allocate and Split allocate %v times", n)
	}
}

func FuzzAllocateSplit(f *testing.F) {
	f.Add(28, 22, 13, int64(1), int64(2), int64(3))
	f.Add(28, 22, 13, int64(1<<28), int64(0), int64(0))
	f.Add(28, 22, 13, int64(-1), int64(-1), int64(-1))
	f.Add(61, 1, 1, int64(math.MaxInt64), int64(1), int64(1))
	f.Add(1, 1, 61, int64(1), int64(1), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, tb, wb, sb int, delta, worker, sequence int64) {
		l, err := bitsalloc.New(tb, wb, sb)
		if err != nil {
			if tb >= 1 && wb >= 1 && sb >= 1 && tb <= 61 && wb <= 61 && sb <= 61 && tb+wb+sb <= 63 {
				t.Fatalf("New(%d, %d, %d) = %v", tb, wb, sb, err)
			}
			return
		}
		fits := delta >= 0 && worker >= 0 && sequence >= 0 &&
			delta>>tb == 0 && worker>>wb == 0 && sequence>>sb == 0
		uid, err := l.Allocate(delta, worker, sequence)
		if fits != (err == nil) || uid < 0 || uid>>(tb+wb+sb) != 0 || err != nil && uid != 0 {
			t.Fatalf("%v: Allocate(%d, %d, %d) = %d, %v", l, delta, worker, sequence, uid, err)
		}
		if d, w, s := l.Split(uid); fits && (d != delta || w != worker || s != sequence) {
			t.Fatalf("%v: Split(%d) = %d, %d, %d; want %d, %d, %d", l, uid, d, w, s, delta, worker, sequence)
		}
		// Any number at all, taken apart and put together, is its bits within the layout.
		d, w, s := l.Split(delta)
		if back, err := l.Allocate(d, w, s); err != nil || back != delta&l.MaxUID() {
			t.Fatalf("%v: %d became %d, %v", l, delta, back, err)
		}
	})
}

func FuzzParseLayout(f *testing.F) {
	for _, s := range append(badTexts, "1-28-22-13", "1-61-1-1", "1-1-1-1") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := bitsalloc.ParseLayout(s)
		if err != nil {
			if !l.IsZero() || !errors.Is(err, bitsalloc.ErrLayout) {
				t.Fatalf("ParseLayout(%q) = %v, %v", s, l, err)
			}
			return
		}
		if l.String() != s {
			t.Fatalf("ParseLayout(%q) = %v", s, l)
		}
		if again, err := bitsalloc.New(l.TimeBits(), l.WorkerBits(), l.SequenceBits()); err != nil || again != l {
			t.Fatalf("ParseLayout(%q) made a layout that New does not: %v", s, err)
		}
	})
}

func BenchmarkAllocate(b *testing.B) {
	l := bitsalloc.Default()
	for b.Loop() {
		if _, err := l.Allocate(1<<27, 1<<21, 1<<12); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	l := bitsalloc.Default()
	for b.Loop() {
		l.Split(1<<62 + 1<<34)
	}
}

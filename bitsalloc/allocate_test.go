package bitsalloc_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/ringuid/ringuid/bitsalloc"
)

// vector is a row of testdata/allocate.csv: parts, and the UID that the original allocates for them.
type vector struct {
	layout                       bitsalloc.Layout
	delta, worker, sequence, uid int64
}

// vectors reads all rows, for 15 layouts.
func vectors(tb testing.TB) []vector {
	tb.Helper()
	file, err := os.Open("testdata/allocate.csv")
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	if len(rows) != 991 {
		tb.Fatalf("%d rows, want 991 with the heading", len(rows))
	}
	var all []vector
	for _, row := range rows[1:] {
		var n [7]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(row[i], 10, 64); err != nil {
				tb.Fatal(err)
			}
		}
		all = append(all, vector{mustNew(tb, int(n[0]), int(n[1]), int(n[2])), n[3], n[4], n[5], n[6]})
	}
	return all
}

func TestAllocateAgreesWithTheOriginal(t *testing.T) {
	layouts := map[bitsalloc.Layout]bool{}
	for _, v := range vectors(t) {
		layouts[v.layout] = true
		if uid, err := v.layout.Allocate(v.delta, v.worker, v.sequence); err != nil || uid != v.uid {
			t.Errorf("%v: Allocate(%d, %d, %d) = %d, %v; want %d", v.layout, v.delta, v.worker, v.sequence, uid, err, v.uid)
		}
		if uid := v.layout.AllocateUnchecked(v.delta, v.worker, v.sequence); uid != v.uid {
			t.Errorf("%v: AllocateUnchecked(%d, %d, %d) = %d; want %d", v.layout, v.delta, v.worker, v.sequence, uid, v.uid)
		}
		if d, w, s := v.layout.Split(v.uid); d != v.delta || w != v.worker || s != v.sequence {
			t.Errorf("%v: Split(%d) = %d, %d, %d; want %d, %d, %d", v.layout, v.uid, d, w, s, v.delta, v.worker, v.sequence)
		}
		if !v.layout.Contains(v.uid) {
			t.Errorf("%v does not contain %d", v.layout, v.uid)
		}
	}
	if len(layouts) != 15 {
		t.Errorf("%d layouts, want 15", len(layouts))
	}
}

// Invariant 5: a part that does not fit is an error that names the field, the value and the bound.
func TestInvariant5OutOfRange(t *testing.T) {
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
					want := fmt.Sprintf("bitsalloc: out of range: %s is %d; must be 0 to %d (layout %v)", name, bad, top[field], l)
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

// Invariant 5, exhaustively for small layouts: each UID has exactly one set of parts.
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

// D2: a time after the end of the time bits, where the original's UIDs become negative, is an error.
func TestD2DeltaPastTheEnd(t *testing.T) {
	for _, l := range []bitsalloc.Layout{bitsalloc.Default(), mustNew(t, 29, 21, 13), mustNew(t, 20, 20, 12)} {
		last := l.MaxDelta()
		if uid, err := l.Allocate(last, l.MaxWorkerID(), l.MaxSequence()); err != nil || uid <= 0 {
			t.Errorf("%v: the last UID is %d, %v", l, uid, err)
		}
		for _, delta := range []int64{last + 1, last + 2, 2 * (last + 1), 1 << 40, math.MaxInt64} {
			if uid, err := l.Allocate(delta, 1, 0); uid != 0 || !errors.Is(err, bitsalloc.ErrRange) {
				t.Errorf("%v: Allocate(%d, 1, 0) = %d, %v; want ErrRange", l, delta, uid, err)
			}
		}
	}
}

func TestD11WorkerIDBelowZero(t *testing.T) {
	for _, worker := range []int64{-1, -4_194_303, math.MinInt64} {
		if uid, err := bitsalloc.Default().Allocate(1, worker, 0); uid != 0 || !errors.Is(err, bitsalloc.ErrRange) {
			t.Errorf("Allocate(1, %d, 0) = %d, %v; want ErrRange", worker, uid, err)
		}
	}
}

// For a number that is not a UID of the layout, Split returns what the fields contain, and Contains reports false.
func TestSplitOfForeignNumbers(t *testing.T) {
	l := mustNew(t, 20, 20, 12)
	for _, uid := range []int64{-1, math.MinInt64, 1 << 52, 1<<52 | 7, math.MaxInt64} {
		if l.Contains(uid) {
			t.Errorf("%v contains %d", l, uid)
		}
		d, w, s := l.Split(uid)
		if back, err := l.Allocate(d, w, s); err != nil || back != uid&l.MaxUID() {
			t.Errorf("%v: Split(%d) = %d, %d, %d, which make %d, %v", l, uid, d, w, s, back, err)
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	l := bitsalloc.Default()
	if n := testing.AllocsPerRun(1000, func() {
		uid, err := l.Allocate(1, 2, 3)
		if d, w, s := l.Split(uid); err != nil || d != 1 || w != 2 || s != 3 {
			t.Error("the parts do not come back")
		}
	}); n != 0 {
		t.Errorf("Allocate and Split allocate %v times", n)
	}
}

func FuzzAllocateSplit(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.layout.TimeBits(), v.layout.WorkerBits(), v.layout.SequenceBits(), v.delta, v.worker, v.sequence)
	}
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

package bitsalloc_test

import (
	"errors"
	"fmt"
	"math"
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

// wantNoLayout checks that New refuses widths, and names all three.
func wantNoLayout(t *testing.T, w [3]int) error {
	t.Helper()
	l, err := bitsalloc.New(w[0], w[1], w[2])
	if !errors.Is(err, bitsalloc.ErrLayout) || !l.IsZero() || !strings.HasPrefix(err.Error(), "bitsalloc: ") {
		t.Fatalf("New%v = %v, %v; want ErrLayout", w, l, err)
	}
	for _, n := range w {
		if !strings.Contains(err.Error(), fmt.Sprint(n)) {
			t.Errorf("the error does not name %d: %v", n, err)
		}
	}
	return err
}

func TestNew(t *testing.T) {
	for _, w := range [][3]int{{28, 22, 13}, {1, 1, 1}, {61, 1, 1}, {1, 61, 1}, {1, 1, 61}, {20, 20, 12}} {
		l := mustNew(t, w[0], w[1], w[2])
		if l.TimeBits() != w[0] || l.WorkerBits() != w[1] || l.SequenceBits() != w[2] || l.IsZero() {
			t.Errorf("New%v = %v", w, l)
		}
		if l.MaxDelta() != 1<<w[0]-1 || l.MaxWorkerID() != 1<<w[1]-1 || l.MaxSequence() != 1<<w[2]-1 ||
			l.MaxUID() != int64(uint64(1)<<(w[0]+w[1]+w[2])-1) {
			t.Errorf("%v: the greatest are %d, %d, %d and %d", l, l.MaxDelta(), l.MaxWorkerID(), l.MaxSequence(), l.MaxUID())
		}
	}
	if bitsalloc.Default() != mustNew(t, 28, 22, 13) {
		t.Errorf("the default is %v", bitsalloc.Default())
	}
}

// A width that fits no layout is named, and 61, which fits one, is not.
func TestD11WidthsOutOfRange(t *testing.T) {
	for field, name := range []string{"time", "worker", "sequence"} {
		for _, bad := range []int{0, -1, -22, math.MinInt, 62, 63, math.MaxInt} {
			w := [3]int{28, 22, 13}
			w[field] = bad
			if err := wantNoLayout(t, w); !strings.HasSuffix(err.Error(), name+" bits must be from 1 to 61") {
				t.Errorf("the error does not say that it is the %s bits: %v", name, err)
			}
		}
		w := [3]int{28, 22, 13}
		w[field] = 61
		if err := wantNoLayout(t, w); !strings.Contains(err.Error(), "in all; must be at most 63") {
			t.Errorf("the error does not say that the sum is too great: %v", err)
		}
	}
	wantNoLayout(t, [3]int{28, -22, 57}) // the sum is 63
}

// D8: large widths are neither truncated to a byte, nor is their sum.
func TestD8WidthsDoNotOverflow(t *testing.T) {
	for _, w := range [][3]int{
		{28, 22, 14}, {62, 1, 1}, {1, 1, 62}, {64, 1, 1}, {256 + 28, 22, 13},
		{math.MaxInt, math.MaxInt, 5}, {math.MaxInt, 1, math.MinInt}, {math.MaxInt, math.MaxInt, math.MaxInt},
	} {
		wantNoLayout(t, w)
	}
}

func TestZeroLayoutRefusesEverything(t *testing.T) {
	var l bitsalloc.Layout
	if uid, err := l.Allocate(0, 0, 0); uid != 0 || !errors.Is(err, bitsalloc.ErrLayout) {
		t.Errorf("Allocate = %d, %v; want ErrLayout", uid, err)
	}
	for _, uid := range []int64{math.MaxInt64, math.MinInt64, -1} {
		if d, w, s := l.Split(uid); d != 0 || w != 0 || s != 0 {
			t.Errorf("Split(%d) = %d, %d, %d", uid, d, w, s)
		}
	}
	if l.Contains(0) || !l.IsZero() || l.String() != "1-0-0-0" {
		t.Errorf("%v contains 0, or is not zero", l)
	}
	if text, err := l.MarshalText(); !errors.Is(err, bitsalloc.ErrLayout) {
		t.Errorf("MarshalText = %q, %v; want ErrLayout", text, err)
	}
	epoch := time.Unix(5, 0).UTC()
	base := timeBase(t, epoch, time.Second)
	if !l.End(base).Equal(epoch) {
		t.Error("the zero layout ends later than it begins")
	}
	if c, err := l.Capacity(base); c != (bitsalloc.Capacity{}) || !errors.Is(err, bitsalloc.ErrLayout) {
		t.Errorf("Capacity = %v, %v; want ErrLayout", c, err)
	}
}

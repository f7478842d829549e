package segment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
)

func TestNextOfOneSource(t *testing.T) {
	for _, step := range []int64{1, 2, 3, 1000} {
		s := newTestSequence(t, newMemorySource(step), WithMaxWait(longWait))
		if s.Tag() != testTag {
			t.Errorf("Tag() = %q", s.Tag())
		}
		for v := int64(1); v <= 3000; v += 10 {
			mustNext(t, s, v)
			if got, err := s.NextContext(context.Background()); err != nil || got != v+1 {
				t.Fatalf("NextContext() = %d, %v; want %d", got, err, v+1)
			}
			dst := make([]int64, 8)
			if n, err := s.NextN(dst); err != nil || n != 8 || !slices.Equal(dst, []int64{v + 2, v + 3, v + 4, v + 5, v + 6, v + 7, v + 8, v + 9}) {
				t.Fatalf("NextN() = %d, %v: %v", n, err, dst)
			}
		}
	}
}

func TestNextWithStride(t *testing.T) {
	s := newTestSequence(t, stripesInMemory{newMemorySource(7), 5}, WithMaxWait(longWait))
	for q := int64(1); q < 100; q++ {
		mustNext(t, s, 5*q)
	}
	r, err := s.Claim(t.Context(), 3)
	if err != nil || r.First != 500 || r.Length < 1 || r.Length > 3 || r.Stride != 5 {
		t.Errorf("Claim() = %+v, %v", r, err)
	}
}

// Sources may return ranges of another residue each time, as a Group does.
func TestNextWithChangingResidues(t *testing.T) {
	n := int64(0)
	s := newTestSequence(t, sourceFunc(func(context.Context, Request) (Range, error) {
		n++
		return Range{First: n*30 + n%3, Length: 10, Stride: 3}, nil
	}), WithCapacity(8), WithMaxWait(longWait))
	for i := int64(1); i < 50; i++ {
		for k := range int64(10) {
			mustNext(t, s, i*30+i%3+3*k)
		}
	}
}

// NextN returns the numbers that it found before an error. It fills all of dst from several ranges.
func TestNextN(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newMemorySource(10)
		s := newTestSequence(t, src, WithMaxWait(0))
		src.fail(down)
		dst := make([]int64, 25)
		n, err := s.NextN(dst)
		if n != 20 || !errors.Is(err, ErrEmpty) || dst[0] != 1 || dst[19] != 20 || dst[20] != 0 {
			t.Errorf("NextN() = %d, %v: %v", n, err, dst)
		}
		src.fail(nil)
		time.Sleep(2 * time.Second)
		for _, empty := range [][]int64{nil, {}} {
			if n, err := s.NextN(empty); n != 0 || err != nil {
				t.Errorf("NextN of no numbers = %d, %v", n, err)
			}
		}
		s2 := newTestSequence(t, newMemorySource(10))
		dst = make([]int64, 100_000)
		if n, err := s2.NextN(dst); n != len(dst) || err != nil {
			t.Errorf("NextN() = %d, %v", n, err)
		}
		for i, v := range dst {
			if v != int64(i+1) {
				t.Fatalf("number %d is %d", i, v)
			}
		}
	})
}

func TestClaim(t *testing.T) {
	s := newTestSequence(t, newMemorySource(10))
	for _, test := range []struct {
		n    int64
		want Range
	}{{4, Range{1, 4, 1, 0}}, {4, Range{5, 4, 1, 0}}, {4, Range{9, 2, 1, 0}}, {1 << 62, Range{11, 10, 1, 0}}} {
		if r, err := s.Claim(t.Context(), test.n); err != nil || r != test.want {
			t.Errorf("Claim(%d) = %+v, %v; want %+v", test.n, r, err, test.want)
		}
	}
	for _, n := range []int64{0, -1} {
		if r, err := s.Claim(t.Context(), n); !errors.Is(err, ErrOption) || r != (Range{}) {
			t.Errorf("Claim(%d) = %+v, %v; want ErrOption", n, r, err)
		}
	}
	if st := s.Stats(); st.Issued != 20 {
		t.Errorf("%d were taken, want 20", st.Issued)
	}
}

// A context that has ended does not matter while a number is in memory.
func TestEndedContext(t *testing.T) {
	s := newTestSequence(t, newMemorySource(1000))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := s.NextContext(ctx); v != 1 || err != nil {
		t.Errorf("NextContext() = %d, %v", v, err)
	}
	if n, err := s.NextNContext(ctx, make([]int64, 10)); n != 10 || err != nil {
		t.Errorf("NextNContext() = %d, %v", n, err)
	}
}

// nil and zero values return errors.
func TestNilAndZeroSequence(t *testing.T) {
	for name, s := range map[string]*Sequence{"nil": nil, "zero": new(Sequence)} {
		calls := map[string]func() error{
			"Next":        func() error { _, err := s.Next(); return err },
			"NextContext": func() error { _, err := s.NextContext(t.Context()); return err },
			"NextN":       func() error { _, err := s.NextN(make([]int64, 1)); return err },
			"Claim":       func() error { _, err := s.Claim(t.Context(), 1); return err },
			"Local":       func() error { _, err := s.Local().Next(); return err },
			"Health":      func() error { return s.Health().Err },
			"All": func() error {
				n := 0
				var last error
				for _, err := range s.All(t.Context()) {
					n++
					last = err
				}
				if n != 1 {
					t.Errorf("%s: All yields %d elements, want 1", name, n)
				}
				return last
			},
		}
		for call, f := range calls {
			if err := f(); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "created by New") {
				t.Errorf("%s: %s: %v, want ErrOption", name, call, err)
			}
		}
		if s.Tag() != "" || s.Stats() != (Stats{}) || s.Close() != nil {
			t.Errorf("%s: Tag() = %q, Stats() = %+v, Close() = %v", name, s.Tag(), s.Stats(), s.Close())
		}
	}
	for name, l := range map[string]*Local{"nil": nil, "zero": new(Local)} {
		if _, err := l.Next(); !errors.Is(err, ErrOption) {
			t.Errorf("%s Local: %v", name, err)
		}
		if _, err := l.NextContext(t.Context()); !errors.Is(err, ErrOption) {
			t.Errorf("%s Local: %v", name, err)
		}
	}
}

// After Close, all calls return ErrClosed, and nothing runs on.
func TestClose(t *testing.T) {
	leaktest.Check(t)
	s := newTestSequence(t, newMemorySource(10))
	l := s.Local()
	if _, err := l.Next(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	for name, call := range map[string]func() error{
		"Next":        func() error { _, err := s.Next(); return err },
		"NextContext": func() error { _, err := s.NextContext(t.Context()); return err },
		"NextN":       func() error { _, err := s.NextN(make([]int64, 1)); return err },
		"Claim":       func() error { _, err := s.Claim(t.Context(), 1); return err },
		"Local":       func() error { _, err := s.Local().Next(); return err },
		"Health":      func() error { return s.Health().Err },
		"All": func() error {
			for _, err := range s.All(t.Context()) {
				return err
			}
			return nil
		},
	} {
		if err := call(); err != ErrClosed {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
	for v := int64(2); v <= 10; v++ { // the block of the Local
		if got, err := l.Next(); got != v || err != nil {
			t.Errorf("Local.Next() = %d, %v; want %d", got, err, v)
		}
	}
	if _, err := l.Next(); err != ErrClosed {
		t.Errorf("Local.Next() = %v, want ErrClosed", err)
	}
	if h := s.Health(); h.OK() || h.Buffered != 0 || h.For != 0 {
		t.Errorf("Health() = %+v", h)
	}
	if st := s.Stats(); st.Issued != 10 {
		t.Errorf("Stats() = %+v", st)
	}
}

// Close ends waiting calls and a call of the source.
func TestCloseEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newEmptySequence(t, hang, WithMaxWait(longWait), WithTryTimeout(time.Hour))
		var waiting sync.WaitGroup
		for range 8 {
			waiting.Go(func() {
				if _, err := s.Next(); err != ErrClosed {
					t.Errorf("Next() = %v, want ErrClosed", err)
				}
			})
		}
		synctest.Wait()
		begin := time.Now()
		if err := s.Close(); err != nil || time.Since(begin) != 0 {
			t.Errorf("Close() = %v after %v", err, time.Since(begin))
		}
		waiting.Wait()
		if st := s.Stats(); st.FailedTries != 0 || st.LastError != nil {
			t.Errorf("Stats() = %+v: Close is no failure of the source", st)
		}
	})
}

// Close while numbers are taken: each call returns a number or ErrClosed.
func TestCloseWhileTaking(t *testing.T) {
	leaktest.Check(t)
	rounds := 50
	if testing.Short() {
		rounds = 10
	}
	for range rounds {
		s := newTestSequence(t, newMemorySource(5), WithMaxWait(longWait))
		var takers sync.WaitGroup
		var taken atomic.Int64
		for range 4 {
			takers.Go(func() {
				for {
					_, err := s.Next()
					if err != nil {
						if err != ErrClosed {
							t.Errorf("Next() = %v, want ErrClosed", err)
						}
						return
					}
					taken.Add(1)
				}
			})
		}
		for taken.Load() < 100 && !t.Failed() {
			s.Health()
		}
		testkit.Close(t, s.Close, ErrBusy)
		takers.Wait()
		if st := s.Stats(); st.Issued != uint64(taken.Load()) {
			t.Errorf("%d numbers were taken, Stats counts %d", taken.Load(), st.Issued)
		}
	}
}

// A New that fails leaves nothing behind.
func TestNewThatFailsLeaksNothing(t *testing.T) {
	leaktest.Check(t)
	for range 20 {
		if _, err := New(t.Context(), sourceFunc(func(context.Context, Request) (Range, error) { return Range{}, errDown }), testTag); !errors.Is(err, errDown) {
			t.Errorf("New() = %v", err)
		}
	}
}

func TestNewChecksTag(t *testing.T) {
	for _, tag := range []string{"", " a", "a\n"} {
		if _, err := New(t.Context(), newMemorySource(1), tag); !errors.Is(err, ErrTag) {
			t.Errorf("New with tag %q = %v, want ErrTag", tag, err)
		}
	}
}

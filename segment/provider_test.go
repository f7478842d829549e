package segment

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/ringbuffer"
)

// A range that is wrong is refused, and nothing of it is handed out.
func TestWrongRanges(t *testing.T) {
	const ok = "" // the range is right
	for _, test := range []struct {
		name string
		r    Range
		want string // a part of the error
	}{
		{"as requested", Range{First: 11, Length: 10, Stride: 1, Step: 10}, ok},
		{"stride and step are not set", Range{First: 11, Length: 10}, ok},
		{"the last number", Range{First: MaxNumber, Length: 1}, ok},
		{"the last numbers", Range{First: MaxNumber - 9, Length: 10, Step: 10}, ok},
		{"with a gap", Range{First: 12, Length: 1, Step: 10}, ok},
		{"a greatest step", Range{First: 11, Length: 10, Step: MaxStep}, ok},
		{"the zero value", Range{}, "a range of 0 numbers from 0"},
		{"negative first", Range{First: -1, Length: 1}, "from -1"},
		{"no numbers", Range{First: 11, Length: 0}, "a range of 0 numbers"},
		{"negative length", Range{First: 11, Length: -1}, "a range of -1 numbers"},
		{"negative stride", Range{First: 11, Length: 1, Stride: -1}, "stride -1"},
		{"negative step", Range{First: 11, Length: 1, Step: -1}, "step -1"},
		{"too great a step", Range{First: 11, Length: 1, Step: MaxStep + 1}, "step 1099511627777"},
		{"too great a first", Range{First: math.MaxInt64, Length: 1}, "from 9223372036854775807"},
		{"too great a first, with a stride", Range{First: math.MaxInt64, Length: 1, Stride: 2}, "from 9223372036854775807"},
		{"overflow of the length", Range{First: 11, Length: math.MaxInt64}, "a range of 9223372036854775807 numbers"},
		{"overflow of the last", Range{First: MaxNumber, Length: 2}, "a range of 2 numbers"},
		{"overflow of the product", Range{First: 11, Length: 3, Stride: math.MaxInt64 / 2}, "stride 4611686018427387903"},
		{"another stride", Range{First: 11, Length: 1, Stride: 2}, "with stride 2, and with stride 1 before"},
		{"a great stride", Range{First: 11, Length: 1, Stride: math.MaxInt64}, "with stride 9223372036854775807"},
		{"overlap", Range{First: 10, Length: 10}, "numbers below 11 were received before"},
		{"the same again", Range{First: 1, Length: 10, Step: 10}, "numbers below 11 were received before"},
		{"0 again", Range{First: 0, Length: 1}, "numbers below 11 were received before"},
		{"longer than requested", Range{First: 11, Length: 11, Step: 10}, "a range of 11 numbers, although 10 were requested"},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls := 0
			p := newTestProvider(t, sourceFunc(func(context.Context, Request) (Range, error) {
				if calls++; calls == 1 {
					return Range{First: 1, Length: 10, Step: 10}, nil
				}
				return test.r, nil
			}))
			if _, err := p.NextRun(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := p.NextRun(t.Context())
			switch {
			case test.want == ok && err != nil:
				t.Errorf("NextRun() = %v", err)
			case test.want != ok && (!errors.Is(err, ErrSource) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("NextRun() = %v, want ErrSource and %q", err, test.want)
			case test.want != ok && p.snapshot().AtLeast != 11:
				t.Errorf("AtLeast is %d, want 11", p.snapshot().AtLeast)
			case test.want != ok && !p.snapshot().Hopeless:
				t.Error("waiting for a wrong source is not hopeless")
			}
		})
	}
}

// newTestProvider returns a provider without a Sequence, which requests the tag's own step.
func newTestProvider(tb testing.TB, src Source, opts ...Option) *provider {
	tb.Helper()
	cfg, err := newConfig(opts)
	if err != nil {
		tb.Fatal(err)
	}
	members, err := membersOf(src)
	if err != nil {
		tb.Fatal(err)
	}
	return &provider{tag: testTag, sources: members, cfg: &cfg, log: safelog.NewQueue(discardLogger()), ring: func() ringbuffer.Stats { return ringbuffer.Stats{CapacityRuns: 2} }}
}

// A range of the tag's own step has no more than MaxStep numbers if the source keeps no step.
func TestFirstRangeIsTooLong(t *testing.T) {
	for length, ok := range map[int64]bool{MaxStep: true, MaxStep + 1: false} {
		p := newTestProvider(t, sourceFunc(func(context.Context, Request) (Range, error) { return Range{First: 1, Length: length}, nil }))
		if _, err := p.NextRun(t.Context()); (err == nil) != ok {
			t.Errorf("%d numbers: %v", length, err)
		}
	}
}

// The number 0 is not handed out, even if it is the only one of a range.
func TestZeroIsNotHandedOut(t *testing.T) {
	for _, step := range []int64{1, 2, 3} {
		src := newMemorySource(step)
		src.next = 0
		s := newTestSequence(t, src, WithMaxWait(longWait))
		for want := int64(1); want <= 10; want++ {
			mustNext(t, s, want)
		}
	}
	calls := 0
	_, err := New(t.Context(), sourceFunc(func(context.Context, Request) (Range, error) {
		calls++
		return Range{First: 0, Length: 1}, nil
	}), testTag, WithLogger(discardLogger()))
	if !errors.Is(err, ErrSource) || calls != 2 {
		t.Errorf("a source that returns only 0: %v after %d calls; want ErrSource after 2", err, calls)
	}
}

// With a stride, 0 is not handed out either.
func TestZeroWithStride(t *testing.T) {
	next := int64(0)
	s := newTestSequence(t, sourceFunc(func(_ context.Context, r Request) (Range, error) {
		first, length := next, cmp.Or(r.Size, 2)
		next += length
		return Range{First: first * 3, Length: length, Stride: 3}, nil
	}), WithMaxWait(longWait))
	for want := int64(3); want < 30; want += 3 {
		mustNext(t, s, want)
	}
}

// A counter that was set back is refused. When it was raised again, the Sequence continues by itself.
func TestSetBackCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newMemorySource(10)
		s := newTestSequence(t, src)
		seen := new(uniq.Set).Writer()
		take(t, s, seen, 5)
		synctest.Wait()
		src.set(3)
		last := take(t, s, seen, 15) // what is in memory
		if last != 20 {
			t.Fatalf("the last number in memory is %d", last)
		}
		for range 3 {
			_, err := s.Next()
			var setBack *SetBackError
			if !errors.Is(err, ErrEmpty) || !errors.Is(err, ErrSetBack) || !errors.As(err, &setBack) ||
				*setBack != (SetBackError{Tag: testTag, Counter: 3, AtLeast: 21}) {
				t.Fatalf("Next() = %v, want ErrSetBack", err)
			}
			time.Sleep(time.Minute)
		}
		if src.counter() != 3 {
			t.Errorf("the counter is %d; tries have changed it", src.counter())
		}
		src.set(20) // not enough
		time.Sleep(time.Minute)
		if _, err := s.Next(); !errors.Is(err, ErrSetBack) {
			t.Fatalf("Next() = %v, want ErrSetBack", err)
		}
		src.set(100)
		time.Sleep(2 * time.Second)
		if v := take(t, s, seen, 1); v != 100 {
			t.Errorf("Next() = %d, want 100", v)
		}
		for _, r := range src.calls() {
			if r.AtLeast > 21 && r.AtLeast < 100 {
				t.Errorf("request %+v", r)
			}
		}
	})
}

// A source that does not compare AtLeast hands out nothing twice.
func TestSetBackUnnoticedBySource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newMemorySource(10)
		s := newTestSequence(t, sourceFunc(func(ctx context.Context, r Request) (Range, error) {
			r.AtLeast = 0
			return src.Take(ctx, r)
		}))
		seen := new(uniq.Set).Writer()
		take(t, s, seen, 5)
		synctest.Wait()
		src.set(3)
		take(t, s, seen, 15)
		time.Sleep(time.Minute)
		if v := take(t, s, seen, 100); v < 21 || s.Stats().FailedTries == 0 {
			t.Errorf("Next() = %d, and %d tries failed", v, s.Stats().FailedTries)
		}
	})
}

func TestSourcesThatNewRefuses(t *testing.T) {
	for name, src := range map[string]Source{
		"nil":            nil,
		"a nil Striped":  (*Striped)(nil),
		"the zero Group": new(Group),
		"a nil Group":    (*Group)(nil),
	} {
		if s, err := New(t.Context(), src, testTag, WithLogger(discardLogger())); err == nil {
			t.Errorf("%s: no error", name)
			s.Close()
		} else if !strings.HasPrefix(err.Error(), "segment: ") {
			t.Errorf("%s: %v", name, err)
		}
		if creator, ok := src.(Creator); ok {
			if _, err := NewDaily(t.Context(), creator, testTag, 6, time.UTC); !errors.Is(err, ErrOption) {
				t.Errorf("NewDaily of %s: %v", name, err)
			}
		}
	}
}

// New returns the source's error if no range arrives.
func TestNewFails(t *testing.T) {
	for want, bad := range badSources() {
		src := newMemorySource(10)
		src.before = func(ctx context.Context, _ Request) error { return bad(ctx) }
		_, err := New(t.Context(), sourceFunc(src.Take), testTag, WithTryTimeout(time.Millisecond), WithLogger(discardLogger()))
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrClosed) {
			t.Errorf("New() = %v, want %q", err, want)
		}
	}
	if _, err := New(t.Context(), newMemorySource(1), "x", WithLogger(discardLogger())); !errors.Is(err, ErrNoTag) {
		t.Errorf("New() = %v, want ErrNoTag", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	src := newMemorySource(1)
	src.before = hang
	if _, err := New(ctx, src, testTag, WithLogger(discardLogger())); !errors.Is(err, context.Canceled) {
		t.Errorf("New() = %v, want context.Canceled", err)
	}
}

// New succeeds if the first range arrives. The others come later.
func TestNewWithOneRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newMemorySource(10)
		var calls atomic.Int32
		src.before = func(context.Context, Request) error {
			if calls.Add(1) > 1 && calls.Load() < 5 {
				return errDown
			}
			return nil
		}
		s := newTestSequence(t, src)
		if st := s.Stats(); st.Ring.Fill != 10 || !errors.Is(st.LastError, errDown) {
			t.Errorf("Stats() = %+v", st)
		}
		time.Sleep(time.Second)
		if st := s.Stats(); st.Ring.Fill != 20 || st.LastError != nil || st.FailedTries != 3 || st.Ranges != 2 {
			t.Errorf("Stats() = %+v", st)
		}
	})
}

// The end of 63 bits: the last numbers are handed out, and then the error is ErrExhausted.
func TestEndOfNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newMemorySource(10)
		src.next = MaxNumber - 24
		s := newTestSequence(t, src)
		for i := range int64(25) {
			mustNext(t, s, MaxNumber-24+i)
		}
		time.Sleep(time.Second)
		if _, err := s.Next(); !errors.Is(err, ErrExhausted) || !errors.Is(err, ErrEmpty) {
			t.Errorf("Next() = %v, want ErrExhausted", err)
		}
		if st := s.Stats(); st.End != math.MaxInt64 {
			t.Errorf("End is %d", st.End)
		}
	})
}

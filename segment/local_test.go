package segment

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A Local hands out all numbers of its blocks, in order, with strides and at the end of 63 bits.
func TestLocal(t *testing.T) {
	for _, test := range []struct{ stride, step, start, count int64 }{
		{1, 1, 1, 50}, {1, 2, 1, 50}, {1, 10, 1, 300}, {1, 127, 1, 1000}, {1, 128, 1, 1000}, {1, 129, 1, 1000}, {1, 100_000, 1, 1000},
		{7, 1, 1, 50}, {7, 129, 1, 1000}, {3, 1000, 1, 1000},
		{1, 1000, MaxNumber - 299, 300}, {1, 1, MaxNumber - 9, 10}, {2, 1000, MaxNumber/2 - 299, 300},
	} {
		memory := newMemorySource(test.step)
		memory.next = test.start
		var src Source = memory
		if test.stride > 1 {
			src = stripesInMemory{memory, test.stride}
		}
		l := newTestSequence(t, src, WithMaxWait(longWait)).Local()
		for i := range test.count {
			next := l.Next
			if i%2 == 1 {
				next = func() (int64, error) { return l.NextContext(context.Background()) }
			}
			if v, err := next(); err != nil || v != (test.start+i)*test.stride {
				t.Errorf("%+v: number %d is %d, %v; want %d", test, i, v, err, (test.start+i)*test.stride)
				break
			}
		}
	}
}

// Locals of one Sequence claim different blocks.
func TestLocalsInterleave(t *testing.T) {
	s := newTestSequence(t, newMemorySource(1000))
	a, b := s.Local(), s.Local()
	for i := int64(1); i <= 128; i++ {
		va, _ := a.Next()
		vb, _ := b.Next()
		if va != i || vb != 128+i {
			t.Fatalf("numbers %d and %d, want %d and %d", va, vb, i, 128+i)
		}
	}
	mustNext(t, s, 257)
}

// After an error a Local works again.
func TestLocalAfterError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, src := newEmptySequence(t, down)
		l := s.Local()
		for range 2 {
			if v, err := l.Next(); v != 0 || !errors.Is(err, ErrEmpty) {
				t.Errorf("Next() = %d, %v", v, err)
			}
		}
		src.fail(nil)
		time.Sleep(2 * time.Second)
		if v, err := l.Next(); v != 21 || err != nil {
			t.Errorf("Next() = %d, %v; want 21", v, err)
		}
	})
}

// NextN and NextNContext of a Local take from its blocks, and return how many numbers they have before an error. After
// Close the block is still handed out.
func TestLocalNextN(t *testing.T) {
	s := newTestSequence(t, newMemorySource(1000))
	l := s.Local()
	dst, want := make([]int64, 100), int64(1)
	for _, next := range []func([]int64) (int, error){l.NextN, func(dst []int64) (int, error) { return l.NextNContext(t.Context(), dst) }} {
		if n, err := next(dst); n != len(dst) || err != nil || dst[0] != want || dst[99] != want+99 {
			t.Errorf("%d, %v, %d to %d; want %d to %d", n, err, dst[0], dst[99], want, want+99)
		}
		want += 100
	}
	if n, err := l.NextN(nil); n != 0 || err != nil {
		t.Errorf("NextN(nil) = %d, %v", n, err)
	}
	s.Close()
	if n, err := l.NextN(dst); n != 2*localBlock-200 || err != ErrClosed || dst[n-1] != 2*localBlock {
		t.Errorf("after Close: %d, %v; want the rest of the block", n, err)
	}
	for _, l := range []*Local{nil, {}} {
		if n, err := l.NextN(dst); n != 0 || !errors.Is(err, ErrOption) {
			t.Errorf("NextN of a Local without a Sequence = %d, %v", n, err)
		}
	}
}

// All of a Local yields its numbers, and ends with its context and with an error of Next.
func TestLocalAll(t *testing.T) {
	s := newTestSequence(t, newMemorySource(1000))
	l := s.Local()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	want := int64(1)
	for v, err := range l.All(ctx) {
		if want == 301 {
			if v != 0 || !errors.Is(err, cause) {
				t.Errorf("%d, %v; want the cause", v, err)
			}
			continue
		}
		if v != want || err != nil {
			t.Fatalf("%d, %v; want %d", v, err, want)
		}
		if want++; want == 301 {
			cancel(cause)
		}
	}
	for v, err := range l.All(t.Context()) {
		if v != 301 || err != nil {
			t.Errorf("%d, %v; want 301: the rest of the block is not lost", v, err)
		}
		break
	}
	n := 0
	for _, err := range (*Local)(nil).All(t.Context()) {
		if n++; !errors.Is(err, ErrOption) {
			t.Errorf("All of a nil *Local yields %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d elements, want 1", n)
	}
}

func TestAll(t *testing.T) {
	s := newTestSequence(t, newMemorySource(1000))
	want := int64(1)
	for v, err := range s.All(t.Context()) {
		if v != want || err != nil {
			t.Fatalf("%d, %v; want %d", v, err, want)
		}
		if want++; want > 300 {
			break
		}
	}
	mustNext(t, s, 3*localBlock+1) // the rest of the last block is a gap
}

// All ends soon after its context, with the cause of its end.
func TestAllEndsWithContext(t *testing.T) {
	s := newTestSequence(t, newMemorySource(1000))
	cause := errors.New("enough")
	for _, after := range []int{0, 1, 15, 16, 17, 127, 128, 129} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if after == 0 {
			cancel(cause)
		}
		n, failed := 0, 0
		for v, err := range s.All(ctx) {
			if err != nil {
				if failed++; !errors.Is(err, cause) || v != 0 {
					t.Errorf("%d, %v; want the cause", v, err)
				}
				continue
			}
			if n++; n == after {
				cancel(cause)
			}
		}
		if failed != 1 || n < after || n > after+16 {
			t.Errorf("%d numbers and %d errors after the context had ended at %d", n, failed, after)
		}
		cancel(nil)
	}
}

// All yields an error of Next as its last element.
func TestAllEndsWithError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newEmptySequence(t, down)
		n := 0
		for v, err := range s.All(t.Context()) {
			if n++; v != 0 || !errors.Is(err, errDown) {
				t.Errorf("%d, %v", v, err)
			}
		}
		if n != 1 {
			t.Errorf("%d elements, want 1", n)
		}
	})
}

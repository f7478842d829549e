package segment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// All ways to take a number return the same numbers of a source with a stride.
func TestNextContextWithStride(t *testing.T) {
	s := newTestSequence(t, stripesInMemory{newMemorySource(7), 5}, WithMaxWait(longWait))
	for q := int64(1); q < 100; q++ {
		if v, err := s.NextContext(t.Context()); err != nil || v != 5*q {
			t.Fatalf("NextContext = %d, %v; want %d", v, err, 5*q)
		}
	}
}

// The error for numbers that have no encoding names the last one that has one.
func TestEncodingNamesLastNumber(t *testing.T) {
	e := newEncoding(3)
	for residue := range int64(3) {
		last := e.mask*3 + residue
		if run, err := e.run(Range{First: last, Length: 1, Stride: 3}); err != nil || e.number(run.First) != last {
			t.Errorf("the run of %d = %+v, %v", last, run, err)
		}
		if _, err := e.run(Range{First: last + 3, Length: 1, Stride: 3}); !errors.Is(err, ErrExhausted) || !strings.Contains(err.Error(), fmt.Sprintf("end at %d", last)) {
			t.Errorf("the run of %d: %v; want ErrExhausted with %d", last+3, err, last)
		}
	}
}

// For is the greatest Duration if the numbers last longer than that, and never negative.
func TestHealthForIsNoOverflow(t *testing.T) {
	s := newTestSequence(t, newMemorySource(500))
	exact := 0
	rate := 1000 * 1e9 / float64(1<<63)
	for range 200 {
		rate = math.Nextafter(rate, 0)
	}
	for range 400 {
		rate = math.Nextafter(rate, 1)
		s.provider.mu.Lock()
		s.provider.state.Rate = rate
		s.provider.mu.Unlock()
		h := s.Health()
		if float64(h.Buffered)/rate*float64(time.Second) == 1<<63 {
			exact++
		}
		if h.Buffered != 1000 || h.Known != (float64(h.Buffered)/rate*float64(time.Second) < 1<<63) || h.Known && h.For < math.MaxInt64-1<<20 {
			t.Fatalf("Health = %+v with a rate of %v", h, rate)
		}
	}
	if exact == 0 {
		t.Error("no rate has met the bound")
	}
}

// A call that waits counts all tries that have failed since it began, also if the entry of its tag was replaced.
func TestAwaitCountsTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackground()
		defer b.close()
		begin := time.Now()
		starts := 0
		_, err := b.await(t.Context(), time.Second, EmptyError{Tag: "x"}, func() (*opening, error) {
			starts++
			o := nextOpening(nil) // as for a new entry
			o.err = errDown
			o.failed()
			close(o.done)
			return o, nil
		})
		var empty *EmptyError
		if !errors.As(err, &empty) || empty.Tries != starts || starts < 2 || !empty.Since.Equal(begin) || !errors.Is(empty.Cause, errDown) {
			t.Errorf("await = %#v after %d tries", err, starts)
		}
	})
}

// A source that keeps no step has the length of its first range as the step.
func TestSourceWithoutStep(t *testing.T) {
	next := int64(1)
	var states []StepState
	src := sourceFunc(func(_ context.Context, r Request) (Range, error) {
		got := Range{First: next, Length: 7, Stride: 1}
		if r.Size > 0 {
			got.Length = r.Size
		}
		next += got.Length
		return got, nil
	})
	synctest.Test(t, func(t *testing.T) {
		s := newTestSequence(t, src, WithStepPolicy(stepFunc(func(s StepState) int64 { states = append(states, s); return 3 })))
		for v := int64(1); v <= 40; v++ {
			mustNext(t, s, v)
			synctest.Wait()
		}
		for _, st := range states {
			if st.Step != 7 {
				t.Errorf("a step policy was asked with the step %d, want 7", st.Step)
			}
		}
		if st := s.Stats(); st.Step != 7 || st.LastSize != 3 || len(states) == 0 {
			t.Errorf("Stats = %+v, want the step 7", st)
		}
	})
}

// Errors name the bounds.
func TestStripeErrorsNameBounds(t *testing.T) {
	if _, err := Stripe(3, 3, newMemorySource(1)).Take(t.Context(), Request{Tag: "x"}); err == nil || !strings.Contains(err.Error(), "is 3; must be 0 to 2") {
		t.Errorf("Take of stripe 3 of 3 = %v", err)
	}
}

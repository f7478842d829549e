package segment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// All ways to take a number return the same numbers of a source with a stride.
func TestNextContextWithStride(t *testing.T) {
	s := newTestSequence(t, stripesInMemory{newMemorySource(7), 5})
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
		if h.Buffered != 1000 || h.For < math.MaxInt64-1<<20 {
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

// RaiseTag does not write the file if it does not raise the counter.
func TestFileRaiseTagWritesNothing(t *testing.T) {
	path, f := newTagsFile(t, "orders")
	if err := f.RaiseTag(t.Context(), "orders", 500); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, next := range []int64{500, 499, 1} {
		if err := f.RaiseTag(t.Context(), "orders", next); err != nil {
			t.Fatal(err)
		}
		if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
			t.Errorf("RaiseTag to %d has written the file, whose counter is 500: %v", next, err)
		}
	}
}

// A tag that may have been created up to the time of a copy begins beyond the gap, and one that was certainly not
// begins at its start.
func TestFileUnusedBeforeCopy(t *testing.T) {
	path, _ := newTagsFile(t, "orders")
	if err := os.WriteFile(path+".copy", mustReadFile(t, path), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".copy", path); err != nil {
		t.Fatal(err)
	}
	f := NewFile(path, WithCopyGap(1000))
	if got := mustTakeFile(t, f, "orders"); got.First != 1001 {
		t.Fatalf("Take after the copy = %+v, want 1001", got)
	}
	c, err := decodeFile(mustReadFile(t, path))
	if err != nil {
		t.Fatal(err)
	}
	copied := time.UnixMilli(c.copied)
	for name, tt := range map[string]struct {
		unusedBefore time.Time
		first        int64
	}{"before": {copied.Add(-time.Millisecond), 1001}, "at": {copied, 1001}, "after": {copied.Add(time.Millisecond), 1}, "never": {time.Time{}, 1}} {
		if err := f.CreateTag(t.Context(), name, TagConfig{UnusedBefore: tt.unusedBefore}); err != nil {
			t.Fatal(err)
		}
		if got := mustTakeFile(t, f, name); got.First != tt.first {
			t.Errorf("%s: the first range is %+v, want %d", name, got, tt.first)
		}
	}
}

// The description of a Table has the name of its server, and never a password.
func TestTableString(t *testing.T) {
	db, err := sql.Open("mysql", "user:very-secret@tcp(127.0.0.1:3307)/leaf")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if s := NewTable(db, WithServerName("127.0.0.1:3307")).String(); s != "table leaf_alloc at 127.0.0.1:3307" {
		t.Errorf("String = %q", s)
	}
	if s := NewTable(db, WithTable("other"), WithAttemptTimeout(0)).String(); s != "table other" {
		t.Errorf("String with an invalid option = %q", s)
	}
}

// Errors name the bounds.
func TestStripeErrorsNameBounds(t *testing.T) {
	if _, err := Stripe(3, 3, newMemorySource(1)).Take(t.Context(), Request{Tag: "x"}); err == nil || !strings.Contains(err.Error(), "is 3; must be 0 to 2") {
		t.Errorf("Take of stripe 3 of 3 = %v", err)
	}
}

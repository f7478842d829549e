package tagrecord

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// A Take raises the counter by what it returns, and by the gap if the store's history is another.
func TestTake(t *testing.T) {
	const end = math.MaxInt64
	for _, tt := range []struct {
		next, step, size, atLeast int64
		newHistory                bool
		first, length             int64 // length 0: an error
		err                       error
	}{
		{next: 1, step: 20, first: 1, length: 20},
		{next: 1, step: 20, size: 7, first: 1, length: 7},
		{next: 100, step: 20, atLeast: 100, first: 100, length: 20},
		{next: 100, step: 20, atLeast: 101, err: segment.ErrSetBack},
		{next: 100, step: 20, newHistory: true, first: 1100, length: 20},
		{next: 100, step: 20, newHistory: true, atLeast: 1100, first: 1100, length: 20},
		{next: 100, step: 20, newHistory: true, atLeast: 1101, err: segment.ErrSetBack},
		{next: end - 5, step: 20, first: end - 5, length: 5},
		{next: end - 1, step: 1, first: end - 1, length: 1},
		{next: end, step: 1, err: segment.ErrExhausted},
		{next: end, step: 1, newHistory: true, err: segment.ErrExhausted},
		{next: end - 1000, step: 1, newHistory: true, err: segment.ErrExhausted},
		{next: end - 1001, step: 5, newHistory: true, first: end - 1, length: 1},
		{next: end, step: 1, atLeast: end, err: segment.ErrExhausted},
		{next: 1, step: segment.MaxStep, first: 1, length: segment.MaxStep},
	} {
		at := time.UnixMilli(7).UTC()
		r, p := Record{Tag: "a", Next: tt.next, Step: tt.step, Description: "d", History: "h"}, Pool{History: "h"}
		if tt.newHistory {
			p = Pool{History: "h2", Since: at, Skip: 1000}
		}
		after, got, err := r.Take(segment.Request{Tag: "a", Size: tt.size, AtLeast: tt.atLeast}, p, 1000)
		if tt.err != nil {
			if !errors.Is(err, tt.err) || after != r || got != (segment.Range{}) {
				t.Errorf("%+v: %+v, %+v, %v", tt, after, got, err)
			}
			continue
		}
		want := Record{Tag: "a", Next: tt.first + tt.length, Step: tt.step, Description: "d", History: p.History, Since: p.Since, Skip: p.Skip}
		if err != nil || got != (segment.Range{First: tt.first, Length: tt.length, Stride: 1, Step: tt.step}) || after != want {
			t.Errorf("%+v: %+v, %+v, %v; want %+v", tt, after, got, err, want)
		}
	}
}

// The error of a counter that was set back has the numbers.
func TestSetBackError(t *testing.T) {
	r := Record{Tag: "a", Next: 100, Step: 1, History: "h"}
	_, _, err := r.Take(segment.Request{Tag: "a", AtLeast: 2000}, Pool{History: "h2"}, 1000) // the pool was lost
	var e *segment.SetBackError
	if !errors.As(err, &e) || *e != (segment.SetBackError{Tag: "a", Counter: 1100, AtLeast: 2000}) {
		t.Errorf("%#v", err)
	}
}

// The pool's time is that of the last change of the history, and never earlier than the one before.
func TestFollow(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	for _, tt := range []struct {
		old     Pool
		history string
		now     time.Time
		want    Pool
	}{
		{Pool{"h", time.Time{}, 0}, "h", at(9), Pool{"h", time.Time{}, 0}},
		{Pool{"h", at(5), 0}, "h", at(9), Pool{"h", at(5), 0}},
		{Pool{"h", at(5), 70}, "h", at(9), Pool{"h", at(5), 70}},
		{Pool{"h", at(5), 0}, "h2", at(9), Pool{"h2", at(9), 100}},
		{Pool{"h", at(20), 70}, "h2", at(9), Pool{"h2", at(20), 170}},
		{Pool{"h", time.Time{}, 0}, "h2", at(9), Pool{"h2", at(9), 100}},
		{Pool{"h", at(5), math.MaxInt64 - 99}, "h2", at(9), Pool{"h2", at(9), math.MaxInt64}},
		{Pool{}, "h", at(9), Pool{"h", at(9), 100}},
	} {
		if got := tt.old.Follow(tt.history, tt.now, 100); got != tt.want {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}

// A tag that a program creates by itself begins beyond the gap if the history may have changed after the tag could have
// been created.
func TestNewRecord(t *testing.T) {
	changed := time.UnixMilli(1_795_000_000_000).UTC()
	for _, tt := range []struct {
		name         string
		unusedBefore time.Time
		since        time.Time
		start        int64
		want         int64 // 0: an error
	}{
		{"declared new", time.Time{}, changed, 1, 1},
		{"no change", changed, time.Time{}, 1, 1},
		{"created before the change", changed.Add(-time.Hour), changed, 5, 1005},
		{"clocks differ", changed.Add(createMargin - 1), changed, 5, 1005},
		{"created after the change", changed.Add(createMargin), changed, 5, 5},
		{"last start", changed, changed, segment.MaxNumber - 1000, segment.MaxNumber},
		{"beyond the end", changed, changed, segment.MaxNumber - 999, 0},
	} {
		c, err := segment.TagConfig{Start: tt.start, Step: 7, Description: "d", UnusedBefore: tt.unusedBefore}.Validate()
		if err != nil {
			t.Fatal(err)
		}
		got, err := newRecord("a", c, Pool{"h", tt.since, 0}, 1000)
		if tt.want == 0 {
			if !errors.Is(err, segment.ErrExhausted) {
				t.Errorf("%s: %+v, %v", tt.name, got, err)
			}
			continue
		}
		if want := (Record{"a", tt.want, 7, "d", "h", tt.since, 0}); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, want)
		}
	}
}

// A tag skips the gaps of all changes since its last write, and a tag that may have been lost those of all changes.
func TestSkip(t *testing.T) {
	at := time.UnixMilli(1_795_000_000_000).UTC()
	for _, tt := range []struct{ skip, poolSkip, want int64 }{
		{0, 1000, 1000},
		{0, 3000, 3000},
		{2000, 3000, 1000},
		{0, 0, 1000},                         // the pool was lost
		{5000, 1000, 1000},                   // the pool was lost
		{2000, 2700, 1000},                   // another process has a smaller gap
		{0, math.MaxInt64, 0},                // exhausted
		{math.MaxInt64, math.MaxInt64, 1000}, // the sum does not wrap
	} {
		p := Pool{History: "h2", Since: at, Skip: tt.poolSkip}
		r, got, err := Record{Tag: "a", Next: 5, Step: 1, History: "h", Skip: tt.skip}.Take(segment.Request{Tag: "a"}, p, 1000)
		if tt.want == 0 {
			if !errors.Is(err, segment.ErrExhausted) {
				t.Errorf("%+v: %+v, %v; want ErrExhausted", tt, got, err)
			}
			continue
		}
		if err != nil || got.First != 5+tt.want || r.Skip != tt.poolSkip {
			t.Errorf("%+v: %+v, %+v, %v", tt, r, got, err)
		}
	}
	for _, poolSkip := range []int64{0, 500, 1000, 7000} {
		c := segment.TagConfig{Start: 5, Step: 1, UnusedBefore: at}
		r, err := newRecord("a", c, Pool{History: "h", Since: at, Skip: poolSkip}, 1000)
		if err != nil || r.Next != 5+max(poolSkip, 1000) || r.Skip != poolSkip {
			t.Errorf("a new tag is %+v, %v; want it to skip %d", r, err, max(poolSkip, 1000))
		}
		c.UnusedBefore = time.Time{}
		if r, err = newRecord("a", c, Pool{History: "h", Since: at, Skip: poolSkip}, 1000); err != nil || r.Next != 5 || r.Skip != poolSkip {
			t.Errorf("a tag that is declared new is %+v, %v; want it to begin at 5", r, err)
		}
	}
}

// The error of a tag without numbers says whether it has handed them out.
func TestExhaustedError(t *testing.T) {
	for want, r := range map[string]Record{
		"has reached 9223372036854775807, the end":                          {Tag: "a", Next: math.MaxInt64, Step: 1, History: "h"},
		"is 9223372036854775800, and the numbers behind it must be skipped": {Tag: "a", Next: math.MaxInt64 - 7, Step: 1, History: "h"},
	} {
		_, _, err := r.Take(segment.Request{Tag: "a"}, Pool{History: "h2", Skip: 1000}, 1000)
		if !errors.Is(err, segment.ErrExhausted) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want ErrExhausted with %q", err, want)
		}
	}
}

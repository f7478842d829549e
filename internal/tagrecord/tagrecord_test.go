package tagrecord

import (
	"errors"
	"math"
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
			p = Pool{History: "h2", Since: at}
		}
		after, got, err := r.Take(segment.Request{Tag: "a", Size: tt.size, AtLeast: tt.atLeast}, p, 1000)
		if tt.err != nil {
			if !errors.Is(err, tt.err) || after != r || got != (segment.Range{}) {
				t.Errorf("%+v: %+v, %+v, %v", tt, after, got, err)
			}
			continue
		}
		want := Record{Tag: "a", Next: tt.first + tt.length, Step: tt.step, Description: "d", History: p.History, Since: p.Since}
		if err != nil || got != (segment.Range{First: tt.first, Length: tt.length, Stride: 1, Step: tt.step}) || after != want {
			t.Errorf("%+v: %+v, %+v, %v; want %+v", tt, after, got, err, want)
		}
	}
}

// The error of a counter that was set back has the numbers.
func TestSetBackError(t *testing.T) {
	r := Record{Tag: "a", Next: 100, Step: 1, History: "h"}
	_, _, err := r.Take(segment.Request{Tag: "a", AtLeast: 2000}, Pool{History: "h2"}, 1000)
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
		{Pool{"h", time.Time{}}, "h", at(9), Pool{"h", time.Time{}}},
		{Pool{"h", at(5)}, "h", at(9), Pool{"h", at(5)}},
		{Pool{"h", at(5)}, "h2", at(9), Pool{"h2", at(9)}},
		{Pool{"h", at(20)}, "h2", at(9), Pool{"h2", at(20)}},
		{Pool{"h", time.Time{}}, "h2", at(9), Pool{"h2", at(9)}},
		{Pool{}, "h", at(9), Pool{"h", at(9)}},
	} {
		if got := tt.old.Follow(tt.history, tt.now); got != tt.want {
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
		got, err := NewRecord("a", c, Pool{"h", tt.since}, 1000)
		if tt.want == 0 {
			if !errors.Is(err, segment.ErrExhausted) {
				t.Errorf("%s: %+v, %v", tt.name, got, err)
			}
			continue
		}
		if want := (Record{"a", tt.want, 7, "d", "h", tt.since}); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, want)
		}
	}
}

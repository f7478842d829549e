package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/ringuid/ringuid/segment"
)

// limitedSource is a Source that answers so many calls, and skips numbers with the next range.
type limitedSource struct{ counter, calls, skip int64 }

func (s *limitedSource) Take(_ context.Context, r segment.Request) (segment.Range, error) {
	if s.calls--; s.calls < 0 {
		return segment.Range{}, context.DeadlineExceeded
	}
	if counter := s.counter + s.skip; r.AtLeast > counter {
		return segment.Range{}, &segment.SetBackError{Tag: r.Tag, Counter: counter, AtLeast: r.AtLeast}
	}
	first := s.counter + s.skip
	s.counter, s.skip = first+r.Size, 0
	return segment.Range{First: first, Length: r.Size, Stride: 1}, nil
}

func (s *limitedSource) String() string { return "a limited source" }

// A counter that was raised in part is named: nobody knows otherwise that repeating the command ends at some time.
func TestRaiseTagInPart(t *testing.T) {
	const (
		far     = 1 + 2*segment.MaxStep + 5
		problem = "context deadline exceeded"
		advice  = ` at least, but each call raises it by 1099511627776 at most; repeat the command: ` + problem
	)
	for _, test := range []struct {
		calls, before, after int64
		err                  string
	}{
		{0, 0, 0, problem},
		{1, 1, 1, problem},
		{2, 1, 1 + segment.MaxStep, `the counter of the tag "orders" was raised from 1 to 1099511627777` + advice},
		{5, 1, 1 + 2*segment.MaxStep, `the counter of the tag "orders" was raised from 1 to 2199023255553` + advice},
		{6, 1, far, ""},
	} {
		before, after, err := raiseTag(t.Context(), &limitedSource{counter: 1, calls: test.calls}, "orders", far)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if before != test.before || after != test.after || text != test.err || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with %d calls: raised from %d to %d, %q; want %d, %d, %q", test.calls, before, after, text, test.before, test.after, test.err)
		}
	}
}

// What a store will skip counts only when it is recorded: until then it can become less, as a function of the time.
func TestRaiseTagRecordsWhatIsSkipped(t *testing.T) {
	s := &limitedSource{counter: 900_000, skip: 61_000_000, calls: 1 << 30}
	if before, after, err := raiseTag(t.Context(), s, "orders", 1); before != 61_900_000 || after != before || err != nil || s.counter != 900_000 {
		t.Errorf("the counter is shown as %d, %d, %v, and becomes %d; want 61900000, and no change", before, after, err, s.counter)
	}
	if before, after, err := raiseTag(t.Context(), s, "orders", 50_000_001); before != 61_900_000 || after != 61_900_001 || err != nil || s.counter != after {
		t.Errorf("raised from %d to %d, %v, and the store has %d; want 61900000 to 61900001, recorded", before, after, err, s.counter)
	}
}

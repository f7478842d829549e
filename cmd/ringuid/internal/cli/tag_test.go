package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/ringuid/ringuid/segment"
)

// limitedSource is a Source that answers so many calls.
type limitedSource struct{ counter, calls int64 }

func (s *limitedSource) Take(_ context.Context, r segment.Request) (segment.Range, error) {
	if s.calls--; s.calls < 0 {
		return segment.Range{}, context.DeadlineExceeded
	}
	if r.AtLeast > s.counter {
		return segment.Range{}, &segment.SetBackError{Tag: r.Tag, Counter: s.counter, AtLeast: r.AtLeast}
	}
	first := s.counter
	s.counter += r.Size
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
		before, after, err := raiseTag(t.Context(), &limitedSource{1, test.calls}, "orders", far)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if before != test.before || after != test.after || text != test.err || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with %d calls: raised from %d to %d, %q; want %d, %d, %q", test.calls, before, after, text, test.before, test.after, test.err)
		}
	}
}

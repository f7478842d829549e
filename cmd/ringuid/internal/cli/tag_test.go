package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/ringuid/ringuid/segment"
)

// limitedSource is a Source whose Takes fail when so many have raised the counter.
type limitedSource struct{ counter, takes int64 }

func (s *limitedSource) Take(_ context.Context, r segment.Request) (segment.Range, error) {
	if r.AtLeast > s.counter {
		return segment.Range{}, &segment.SetBackError{Tag: r.Tag, Counter: s.counter, AtLeast: r.AtLeast}
	}
	if s.takes--; s.takes < 0 {
		return segment.Range{}, context.DeadlineExceeded
	}
	first := s.counter
	s.counter += r.Size
	return segment.Range{First: first, Length: r.Size, Stride: 1}, nil
}

func (s *limitedSource) String() string { return "a limited source" }

// A counter that was raised in part is named: nobody knows otherwise that repeating the command ends at some time.
func TestRaiseTagInPart(t *testing.T) {
	const far = 1 + 2*segment.MaxStep + 5
	for _, test := range []struct {
		takes, after int64
		err          string
	}{
		{0, 1, "context deadline exceeded"},
		{2, 1 + 2*segment.MaxStep, `the counter of the tag "orders" was raised from 1 to 2199023255553 only, because each call raises it by 1099511627776 at most; ` +
			"repeat the command, with a greater --timeout: context deadline exceeded"},
		{3, far, ""},
	} {
		before, after, err := raiseTag(t.Context(), &limitedSource{1, test.takes}, "orders", far)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if before != 1 || after != test.after || text != test.err || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with %d calls: raised from %d to %d, %q; want 1, %d, %q", test.takes, before, after, text, test.after, test.err)
		}
	}
}

package segment_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// newTags returns a Tags that is closed at the end of the test.
func newTags(tb testing.TB, src segment.Source, opts ...segment.TagsOption) *segment.Tags {
	tb.Helper()
	t, err := segment.NewTags(src, append([]segment.TagsOption{quietOption()}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := t.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return t
}

// oneThread makes one thread execute the goroutines of a test with thousands of them, if the race detector is on. That of Go 1.26 ends
// the process if two goroutines of a bubble find at the same instant that a timer has expired.
func oneThread(t *testing.T) {
	if testkit.Race {
		before := runtime.GOMAXPROCS(1)
		t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	}
}

// hookedSource calls a function before each call of Take, which may fail the call.
type hookedSource struct {
	*segmenttest.Memory
	before func(ctx context.Context, r segment.Request) error
}

func (s hookedSource) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	if err := s.before(ctx, r); err != nil {
		return segment.Range{}, err
	}
	return s.Memory.Take(ctx, r)
}

// stripesWith returns a Group of so many stripes on stores in memory, and the stores. A function is called before
// each Take.
func stripesWith(count int, before func(context.Context, segment.Request) error) (*segment.Group, []*segmenttest.Memory) {
	stores := make([]*segmenttest.Memory, count)
	all := make([]*segment.Striped, count)
	for i := range all {
		stores[i] = segmenttest.NewMemory()
		all[i] = segment.Stripe(i, count, hookedSource{stores[i], before})
	}
	return segment.NewGroup(all...), stores
}

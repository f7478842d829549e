package segment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
)

// testTag is the tag of a memorySource.
const testTag = "orders"

// longWait is how long a take waits in tests: not longer, because a scheduled padding repairs a lost wake-up after 30 seconds.
const longWait = 20 * time.Second

// memorySource is a Source of one tag in memory that fulfills the contract of Source, unless before makes it fail.
type memorySource struct {
	before func(ctx context.Context, r Request) error // called by Take without a lock; nil: nothing is called

	mu       sync.Mutex
	next     int64
	step     int64
	maxRange int64     // Take returns at most so many numbers; 0: as many as requested
	requests []Request // all calls of Take
}

func newMemorySource(step int64) *memorySource { return &memorySource{next: 1, step: step} }

func (m *memorySource) Take(ctx context.Context, r Request) (Range, error) {
	if err := r.Validate(); err != nil {
		return Range{}, err
	}
	m.mu.Lock()
	before := m.before
	m.requests = append(m.requests, r)
	m.mu.Unlock()
	if before != nil {
		if err := before(ctx, r); err != nil {
			return Range{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case r.Tag != testTag:
		return Range{}, fmt.Errorf("%w: %q", ErrNoTag, r.Tag)
	case m.next < r.AtLeast:
		return Range{}, &SetBackError{Tag: r.Tag, Counter: m.next, AtLeast: r.AtLeast}
	case m.next > MaxNumber:
		return Range{}, fmt.Errorf("%w: %q", ErrExhausted, r.Tag)
	}
	n := r.Size
	if n == 0 {
		n = m.step
	}
	if m.maxRange > 0 {
		n = min(n, m.maxRange)
	}
	n = min(n, MaxNumber-m.next+1)
	got := Range{First: m.next, Length: n, Stride: 1, Step: m.step}
	m.next += n
	return got, nil
}

func (m *memorySource) String() string { return "memory" }

// set sets the counter.
func (m *memorySource) set(next int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = next
}

// counter returns the counter.
func (m *memorySource) counter() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.next
}

// calls returns the requests so far.
func (m *memorySource) calls() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Request(nil), m.requests...)
}

// fail sets what Take does before anything else.
func (m *memorySource) fail(before func(ctx context.Context, r Request) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = before
}

// errDown is the error of a source that is down.
var errDown = errors.New("connection refused")

// down is a memorySource.before of a source that is down, and hang is one of a source that does not answer.
func down(context.Context, Request) error { return errDown }

func hang(ctx context.Context, _ Request) error {
	<-ctx.Done()
	return ctx.Err()
}

// sourceFunc is a function that implements Source.
type sourceFunc func(ctx context.Context, r Request) (Range, error)

func (f sourceFunc) Take(ctx context.Context, r Request) (Range, error) { return f(ctx, r) }
func (f sourceFunc) String() string                                     { return "function" }

// newTestSequence returns a Sequence that is closed at the end of the test. It logs nothing unless an option says so.
func newTestSequence(tb testing.TB, src Source, opts ...Option) *Sequence {
	tb.Helper()
	s, err := New(tb.Context(), src, testTag, append([]Option{WithLogger(discardLogger())}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("Close() = %v", err)
		}
	})
	return s
}

// discardLogger returns a logger that discards all records.
func discardLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// handlerFunc is a function that implements slog.Handler.
type handlerFunc func(r slog.Record)

func (f handlerFunc) Enabled(context.Context, slog.Level) bool      { return true }
func (f handlerFunc) Handle(_ context.Context, r slog.Record) error { f(r); return nil }
func (f handlerFunc) WithAttrs([]slog.Attr) slog.Handler            { return f }
func (f handlerFunc) WithGroup(string) slog.Handler                 { return f }

// mustNext takes one number and fails the test unless it is want.
func mustNext(tb testing.TB, s *Sequence, want int64) {
	tb.Helper()
	if got, err := s.Next(); err != nil || got != want {
		tb.Fatalf("Next() = %d, %v; want %d", got, err, want)
	}
}

// take takes n numbers, fails the test if there is an error or one of them was taken before, and returns the last one.
func take(tb testing.TB, s *Sequence, seen *uniq.Writer, n int) int64 {
	tb.Helper()
	var last int64
	for range n {
		v, err := s.Next()
		if err != nil {
			tb.Fatalf("Next() = %v", err)
		}
		if !seen.Add(v) {
			tb.Fatalf("Next() = %d, which was taken before", v)
		}
		last = v
	}
	return last
}

// newTestTags returns a Tags that is closed at the end of the test, and the Sequence of testTag, which is open.
func newTestTags(tb testing.TB, src Source, opts ...TagsOption) (*Tags, *Sequence) {
	tb.Helper()
	tags, err := NewTags(src, append([]TagsOption{WithLogger(discardLogger())}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tags.Close() })
	s, err := tags.sequence(tb.Context(), testTag)
	if err != nil {
		tb.Fatal(err)
	}
	return tags, s
}

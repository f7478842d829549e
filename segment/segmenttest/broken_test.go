package segmenttest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/recordtest"
	"github.com/ringuid/ringuid/segment"
)

// runCase runs one test of a source.
func runCase(tb testing.TB, name string, h Harness) *recordtest.Recorder {
	for _, c := range sourceCases {
		if c.name == name {
			return recordtest.Run(tb, func(tb testing.TB) { c.test(tb, h) })
		}
	}
	tb.Fatalf("there is no test %s", name)
	return nil
}

// brokenSources are sources with one defect each, and the test that must find it, with a part of its message.
var brokenSources = []struct {
	name    string
	broken  brokenSource
	harness func(h *Harness, s *memoryHarness)
	test    string
	message string // or several, separated by |
}{
	{name: "a range twice after a lost reply", broken: brokenSource{onTake: returnedAgain()}, test: "RepliesLost", message: "handed out twice"},
	{name: "sent again after a lost reply", broken: brokenSource{onTake: func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		got, err := m.Take(ctx, r)
		for n := 0; n < 3 && errors.Is(err, ErrFault); n++ {
			got, err = m.Take(ctx, r)
		}
		return got, err
	}}, test: "RepliesLost", message: "sent more than once"},
	{name: "a lost reply taken for a missing tag", broken: brokenSource{onTake: changedError(func(err error) error {
		if errors.Is(err, ErrFault) {
			return segment.ErrNoTag
		}
		return err
	})}, test: "RepliesLost", message: "although the tag is as it must be"},
	{name: "a lost reply of CreateTag taken for an invalid tag", broken: brokenSource{onCreate: func(m *Memory, ctx context.Context, tag string, c segment.TagConfig) error {
		err := m.CreateTag(ctx, tag, c)
		if errors.Is(err, ErrFault) {
			return segment.ErrTag
		}
		return err
	}}, test: "RepliesOfCreateTagLost", message: "although the tag is as it must be"},
	{name: "AtLeast ignored", broken: brokenSource{onTake: changedRequest(func(r *segment.Request) { r.AtLeast = 0 })}, test: "AtLeast", message: "is below AtLeast"},
	{name: "AtLeast ignored after the counter was set back", broken: brokenSource{onTake: changedRequest(func(r *segment.Request) { r.AtLeast = 0 })}, test: "SetBack", message: "is below AtLeast"},
	{name: "AtLeast ignored after writes were lost", broken: brokenSource{onTake: changedRequest(func(r *segment.Request) { r.AtLeast = 0 })}, test: "WritesLostUnnoticed", message: "is below AtLeast"},
	{name: "AtLeast off by one", broken: brokenSource{onTake: changedRequest(func(r *segment.Request) { r.AtLeast = max(r.AtLeast-1, 0) })}, test: "SetBack", message: "want the tag and AtLeast of the request"},
	{name: "AtLeast compared as a floating-point number", broken: brokenSource{onTake: func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		if c := m.Counter(r.Tag); r.AtLeast > c && float64(r.AtLeast) == float64(c) {
			r.AtLeast = c
		}
		return m.Take(ctx, r)
	}}, test: "AtLeast", message: "is below AtLeast"},
	{name: "AtLeast compared after the raise", broken: brokenSource{onTake: checkedAfter}, test: "AtLeast", message: "returned the range"},
	{name: "AtLeast compared after the raise, of a counter that was set back", broken: brokenSource{onTake: checkedAfter}, test: "SetBack", message: "changes nothing"},
	{name: "AtLeast compared after the raise, of a store that lost writes", broken: brokenSource{onTake: checkedAfter}, test: "WritesLostUnnoticed", message: "changes nothing"},
	{name: "AtLeast compared before the raise", broken: brokenSource{onTake: checkedBefore}, test: "SetBackDuringTakes", message: "same atomic step"},
	{name: "numbers below AtLeast are skipped", broken: brokenSource{onTake: func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		got, err := m.Take(ctx, r)
		if errors.Is(err, segment.ErrSetBack) && r.AtLeast < segment.MaxNumber {
			m.SetCounter(r.Tag, r.AtLeast)
			return m.Take(ctx, r)
		}
		return got, err
	}}, test: "AtLeast", message: "want an error that wraps"},
	{name: "a counter set back is another error", broken: brokenSource{onTake: changedError(func(err error) error {
		if errors.Is(err, segment.ErrSetBack) {
			return segment.ErrSetBack
		}
		return err
	})}, test: "AtLeast", message: "want a *segment.SetBackError"},
	{name: "the counter of the error is AtLeast", broken: brokenSource{onTake: changedError(func(err error) error {
		var e *segment.SetBackError
		if errors.As(err, &e) {
			e.Counter, e.AtLeast = e.AtLeast, e.Counter
		}
		return err
	})}, test: "AtLeast", message: "a counter below that"},
	{name: "a closed interval", broken: brokenSource{onTake: changedRange(func(_ segment.Request, got *segment.Range) { got.Length++ })}, test: "Start", message: "its length must be at most"},
	{name: "an interval open at its beginning", broken: brokenSource{onTake: changedRange(func(_ segment.Request, got *segment.Range) { got.First++ })}, test: "Start", message: "as its first number"},
	{name: "an overlap of one", broken: brokenSource{onTake: changedRange(func(_ segment.Request, got *segment.Range) { got.First = max(got.First-1, 1) })}, test: "Concurrent", message: "twice"},
	{name: "a gap of one", broken: brokenSource{onTake: changedRange(func(_ segment.Request, got *segment.Range) { got.Length = max(got.Length-1, 1) })},
		harness: func(h *Harness, _ *memoryHarness) { h.MayReturnFewer = true }, test: "Sizes", message: "because no call failed"},
	{name: "the size ignored", broken: brokenSource{onTake: changedRequest(func(r *segment.Request) { r.Size = 0 })}, test: "Sizes", message: "at most the size"},
	{name: "the size ignored if it is greater than the step", broken: brokenSource{onTake: func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		if r.Size > 10 {
			r.Size = 0
		}
		return m.Take(ctx, r)
	}}, test: "Sizes", message: "want 1"},
	{name: "the step ignored", broken: brokenSource{onTake: changedRequest(func(r *segment.Request) {
		if r.Size == 0 {
			r.Size = segment.DefaultStep
		}
	})}, test: "Sizes", message: "want 1"},
	{name: "another step reported", broken: brokenSource{onTake: changedRange(func(_ segment.Request, got *segment.Range) { got.Step = got.Length })}, test: "Sizes", message: "the tag's step, or 0"},
	{name: "a length of 0", broken: brokenSource{onTake: changedRange(func(_ segment.Request, got *segment.Range) { got.Length = 0 })}, test: "Start", message: "at least 1"},
	{name: "a stride that was not reserved, concurrent", broken: brokenSource{onTake: changedRange(func(_ segment.Request, got *segment.Range) { got.Stride = 5 })}, test: "Concurrent", message: "twice"},
	{name: "read and written in two steps", broken: brokenSource{onTake: readThenWrite}, test: "Concurrent", message: "twice"},
	{name: "tags without case", broken: folded(strings.ToLower), test: "SimilarTags", message: `want an error that wraps "segment: no such tag"`},
	{name: "tags without case, and the store folds tags", broken: folded(strings.ToLower), harness: func(h *Harness, _ *memoryHarness) { h.FoldsTags = true },
		test: "SimilarTags", message: `want an error that wraps "segment: no such tag"`},
	{name: "tags that differ by case are refused", broken: brokenSource{onCreate: func(m *Memory, ctx context.Context, tag string, c segment.TagConfig) error {
		if tag == "ORDERS" {
			return segment.ErrTagExists
		}
		return m.CreateTag(ctx, tag, c)
	}}, test: "SimilarTags", message: "after tags with similar names"},
	{name: "tags that are paths", broken: folded(func(tag string) string { return strings.ReplaceAll(tag, "//", "/") }), test: "SimilarTags", message: "no such tag"},
	{name: "tags without spaces", broken: folded(func(tag string) string { return strings.ReplaceAll(tag, "  ", " ") }), test: "SimilarTags", message: "no such tag"},
	{name: "tags without accents", broken: folded(func(tag string) string { return strings.ReplaceAll(tag, "é", "e") }), test: "SimilarTags", message: "no such tag"},
	{name: "tags cut to 64 bytes", broken: folded(cut(64)), test: "LongTags", message: "exists"},
	{name: "tags cut to 127 bytes", broken: folded(cut(127)), test: "LongTags", message: "exists"},
	{name: "tags by their prefix", broken: folded(cut(5)), test: "SimilarTags", message: "no such tag"},
	{name: "unknown tags are created", broken: brokenSource{onTake: func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		m.CreateTag(ctx, r.Tag, segment.TagConfig{})
		return m.Take(ctx, r)
	}}, test: "UnknownTag", message: "no such tag"},
	{name: "an unknown tag is another error", broken: brokenSource{onTake: changedError(func(err error) error { return errors.New("no rows") })}, test: "UnknownTag", message: `returned the error "no rows"`},
	{name: "tags created twice", broken: brokenSource{onCreate: func(m *Memory, ctx context.Context, tag string, c segment.TagConfig) error {
		if err := m.CreateTag(ctx, tag, c); !errors.Is(err, segment.ErrTagExists) {
			return err
		}
		return nil
	}}, test: "CreateTwice", message: "returned <nil>"},
	{name: "tags overwritten", broken: brokenSource{onCreate: overwrites}, test: "CreateTwice", message: "twice"},
	{name: "tags created in two steps", broken: brokenSource{onCreate: checkThenCreate}, test: "CreateConcurrently", message: "two CreateTags"},
	{name: "Start ignored", broken: brokenSource{onCreate: func(m *Memory, ctx context.Context, tag string, c segment.TagConfig) error {
		c.Start = 1
		return m.CreateTag(ctx, tag, c)
	}}, test: "Start", message: "as its first number"},
	{name: "tags not checked", broken: brokenSource{onTake: func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		if segment.CheckTag(r.Tag) != nil {
			r.Tag = "unknown"
		}
		return m.Take(ctx, r)
	}}, test: "BadTags", message: "invalid tag"},
	{name: "sizes not checked", broken: brokenSource{onTake: func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		r.Size = min(max(r.Size, 0), segment.MaxStep)
		return m.Take(ctx, r)
	}}, test: "BadOptions", message: "invalid option"},
	{name: "starts not checked", broken: brokenSource{onCreate: func(m *Memory, ctx context.Context, tag string, c segment.TagConfig) error {
		c.Start = max(c.Start, 0)
		return m.CreateTag(ctx, tag, c)
	}}, test: "BadOptions", message: "invalid option"},
	{name: "an overflow at the end", broken: brokenSource{onTake: changedRange(func(r segment.Request, got *segment.Range) { got.Length = max(r.Size, got.Length) })}, test: "End", message: "is greater than"},
	{name: "the last numbers are not handed out", broken: brokenSource{onTake: withoutLastNumbers()}, test: "EndConcurrent", message: "the last number is"},
	{name: "the end is another error", broken: brokenSource{onTake: changedError(func(err error) error {
		if errors.Is(err, segment.ErrExhausted) {
			return errors.New("bigint out of range")
		}
		return err
	})}, test: "End", message: "bigint out of range"},
	{name: "contexts that have ended", broken: brokenSource{onTake: func(m *Memory, _ context.Context, r segment.Request) (segment.Range, error) {
		return m.Take(context.Background(), r)
	}},
		test: "ContextEnded", message: "with a context that has ended returned"},
	{name: "the end of a context taken for a missing tag", broken: brokenSource{onTake: changedError(func(err error) error { return fmt.Errorf("%w: %w", segment.ErrNoTag, err) })},
		test: "ContextEnded", message: "although the tag is as it must be"},
	{name: "contexts ignored while the server is paused", broken: brokenSource{onTake: func(m *Memory, _ context.Context, r segment.Request) (segment.Range, error) {
		ctx, cancel := context.WithTimeout(context.Background(), afterContext+time.Second)
		defer cancel()
		return m.Take(ctx, r)
	}}, test: "Paused", message: "has not returned"},
	{name: "ranges returned again when the context has ended", broken: brokenSource{onTake: func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		before := m.Counter(r.Tag)
		got, err := m.Take(ctx, r)
		end, _ := ctx.Deadline()
		if err == nil && m.name == "" && time.Until(end) < callTimeout/2 {
			<-ctx.Done() // the other clients return ranges meanwhile
			m.SetCounter(r.Tag, before)
			return got, ctx.Err()
		}
		time.Sleep(time.Millisecond)
		return got, err
	}}, test: "ContextEndsDuringTakes", message: "twice|was set back"},
	{name: "a goroutine for each call", broken: brokenSource{onTake: func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		go func() { time.Sleep(time.Hour) }()
		return m.Take(ctx, r)
	}}, test: "NoGoroutineLeak", message: "goroutines that do not end"},
	{name: "a description with a password", broken: brokenSource{onString: func(*Memory) string { return "memory://root:hunter2@here" }}, test: "String", message: "contains a secret"},
	{name: "no description", broken: brokenSource{onString: func(*Memory) string { return "" }}, test: "String", message: "must be one line"},
	{name: "an error with a password", broken: brokenSource{onTake: changedError(func(err error) error { return fmt.Errorf("root:hunter2: %w", err) })}, test: "UnknownTag", message: "contains a secret"},
	{name: "acknowledged writes lost at a restart", harness: func(h *Harness, s *memoryHarness) {
		h.Start = func(testing.TB) { s.last.LoseWrites(7); s.last.Start() }
	}, test: "Killed", message: ""},
	{name: "a failover that is not noticed", harness: func(h *Harness, s *memoryHarness) {
		h.LoseWrites = func(_ testing.TB, write func()) { s.lost(write, (*Memory).LoseWrites) }
	}, test: "WritesLost", message: "handed out twice"},
	{name: "a gap that is too small", harness: func(h *Harness, s *memoryHarness) { s.opts = []MemoryOption{WithGap(100)} }, test: "WritesLost", message: "handed out twice"},
	{name: "UnusedBefore ignored", broken: brokenSource{onCreate: func(m *Memory, ctx context.Context, tag string, c segment.TagConfig) error {
		c.UnusedBefore = time.Time{}
		return m.CreateTag(ctx, tag, c)
	}}, test: "TagsLost", message: "twice"},
	{name: "UnusedBefore refused always", broken: brokenSource{onCreate: func(m *Memory, ctx context.Context, tag string, c segment.TagConfig) error {
		if !c.UnusedBefore.IsZero() {
			return segment.ErrNoTag
		}
		return m.CreateTag(ctx, tag, c)
	}}, test: "UnusedBefore", message: "CreateTag"},
}

// Each broken source fails the test that is for its defect, with a message that describes it.
func TestBrokenSources(t *testing.T) {
	for _, tt := range brokenSources {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &memoryHarness{wrap: func(m *Memory) segment.Creator {
					broken := tt.broken
					broken.Memory = m
					return broken
				}}
				h := s.harness()
				h.Recovery = time.Second // nothing else fails for long
				if tt.harness != nil {
					tt.harness(&h, s)
				}
				r := runCase(t, tt.test, h)
				n := slices.IndexFunc(r.Failures, func(text string) bool {
					return slices.ContainsFunc(strings.Split(tt.message, "|"), func(message string) bool { return strings.Contains(text, message) })
				})
				if n < 0 {
					t.Errorf("%s reported %.2000q, skipped %q; want a failure with %q", tt.test, r.Failures, r.SkipReason, tt.message)
				} else {
					t.Log(r.Failures[n])
				}
				time.Sleep(2 * time.Hour) // until all that the source has started has ended
			})
		})
	}
}

// A fault without a function is a failure, unless the harness gives a reason: then its tests are skipped.
func TestFaultsRequire(t *testing.T) {
	h := (&memoryHarness{}).harness()
	h.Pause = nil
	if r := runCase(t, "Paused", h); len(r.Failures) != 1 || !strings.Contains(r.Failures[0], `Without["Pause"]`) {
		t.Errorf("without Pause: %q, want a failure that names it", r.Failures)
	}
	h.Without = map[string]string{"Pause": "it has no signals"}
	if r := runCase(t, "Paused", h); r.Failed() || r.SkipReason != "the harness has no fault Pause: it has no signals" {
		t.Errorf("with a reason: failures %q, skipped %q, want only the latter", r.Failures, r.SkipReason)
	}
	h.Without["Kill"] = "no signals"
	if r := runCase(t, "Killed", h); len(r.Failures) != 1 || !strings.Contains(r.Failures[0], "remove one of them") {
		t.Errorf("with Kill and a reason why there is none: %q, want a failure", r.Failures)
	}
	h.Without["pause"] = "a misspelt name"
	if r := runCase(t, "UnknownTag", h); len(r.Failures) != 1 || !strings.Contains(r.Failures[0], "name of a fault") {
		t.Errorf("with an unknown fault in Without: %q, want a failure", r.Failures)
	}
	if r := runCase(t, "UnknownTag", Harness{}); len(r.Failures) != 1 || !strings.Contains(r.Failures[0], "Harness.New") {
		t.Errorf("without New: %q, want a failure that names it", r.Failures)
	}
}

// withoutLastNumbers returns the Take of a source that does not hand out the last numbers.
func withoutLastNumbers() func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
	var mu sync.Mutex // else several calls together may hand them out
	return func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		mu.Lock()
		defer mu.Unlock()
		if m.Counter(r.Tag) > math.MaxInt64-max(r.Size, 10) {
			return segment.Range{}, segment.ErrExhausted
		}
		return m.Take(ctx, r)
	}
}

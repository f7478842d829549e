package segmenttest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// brokenSource is a source with a defect, around a Memory that has none.
type brokenSource struct {
	*Memory
	onTake   func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) // nil: no defect
	onCreate func(m *Memory, ctx context.Context, tag string, c segment.TagConfig) error    // nil: no defect
	onString func(m *Memory) string                                                         // nil: no defect
}

func (b brokenSource) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	time.Sleep(time.Millisecond) // in a bubble of synctest: so that its time passes
	if b.onTake == nil {
		return b.Memory.Take(ctx, r)
	}
	return b.onTake(b.Memory, ctx, r)
}

func (b brokenSource) CreateTag(ctx context.Context, tag string, c segment.TagConfig) error {
	if b.onCreate == nil {
		return b.Memory.CreateTag(ctx, tag, c)
	}
	return b.onCreate(b.Memory, ctx, tag, c)
}

func (b brokenSource) String() string {
	if b.onString == nil {
		return b.Memory.String()
	}
	return b.onString(b.Memory)
}

type takeFunc = func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error)

// changedRequest returns a Take that changes the request before it is sent.
func changedRequest(change func(r *segment.Request)) takeFunc {
	return func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		if err := r.Validate(); err != nil {
			return segment.Range{}, err
		}
		change(&r)
		return m.Take(ctx, r)
	}
}

// changedRange returns a Take that changes the range before it returns it.
func changedRange(change func(r segment.Request, got *segment.Range)) takeFunc {
	return func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		got, err := m.Take(ctx, r)
		if err == nil {
			change(r, &got)
		}
		return got, err
	}
}

// changedError returns a Take that changes errors.
func changedError(change func(err error) error) takeFunc {
	return func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		got, err := m.Take(ctx, r)
		if err != nil {
			err = change(err)
		}
		return got, err
	}
}

// folded returns a broken source that changes tags in the store.
func folded(change func(tag string) string) brokenSource {
	return brokenSource{
		onTake: func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
			if err := r.Validate(); err != nil {
				return segment.Range{}, err
			}
			tag := r.Tag
			r.Tag = change(r.Tag)
			got, err := m.Take(ctx, r)
			var e *segment.SetBackError
			if errors.As(err, &e) {
				e.Tag = tag
			}
			return got, err
		},
		onCreate: func(m *Memory, ctx context.Context, tag string, c segment.TagConfig) error {
			if err := segment.CheckTag(tag); err != nil {
				return err
			}
			return m.CreateTag(ctx, change(tag), c)
		},
	}
}

// returnedAgain returns a Take of the first client that takes back, before the next Take, what was reserved for one
// whose reply was lost, as if nobody else had taken anything meanwhile.
func returnedAgain() takeFunc {
	var before int64 // the counter before the Take whose reply was lost; 0 if there is none
	return func(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
		if m.name != "" {
			return m.Take(ctx, r)
		}
		if before > 0 {
			m.SetCounter(r.Tag, before)
			r.AtLeast = 0
		}
		before = m.Counter(r.Tag)
		got, err := m.Take(ctx, r)
		if err == nil {
			before = 0
		}
		return got, err
	}
}

// checkedBefore compares AtLeast in a step before the one that raises the counter, and afterwards again.
func checkedBefore(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
	atLeast := r.AtLeast
	if c := m.Counter(r.Tag); c < atLeast {
		return m.Take(ctx, r)
	}
	time.Sleep(rand.N(2 * time.Millisecond))
	r.AtLeast = 0
	got, err := m.Take(ctx, r)
	if err == nil && got.First < atLeast {
		return segment.Range{}, &segment.SetBackError{Tag: r.Tag, Counter: got.First, AtLeast: atLeast}
	}
	return got, err
}

// checkedAfter compares AtLeast after the counter was raised.
func checkedAfter(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
	atLeast := r.AtLeast
	if r.Validate() == nil {
		r.AtLeast = 0
	}
	got, err := m.Take(ctx, r)
	if err == nil && got.First < atLeast {
		return segment.Range{}, &segment.SetBackError{Tag: r.Tag, Counter: got.First, AtLeast: atLeast}
	}
	return got, err
}

// readThenWrite reads the counter, and writes it in another step.
func readThenWrite(m *Memory, ctx context.Context, r segment.Request) (segment.Range, error) {
	m.mu.Lock()
	tag, ok := m.tags[r.Tag]
	m.mu.Unlock()
	got, err := m.Take(ctx, r)
	if err != nil || !ok {
		return got, err
	}
	time.Sleep(time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	got.First = tag.next
	tag.next += got.Length
	m.tags[r.Tag] = tag
	return got, nil
}

// checkThenCreate looks whether the tag exists, and creates it in another step.
func checkThenCreate(m *Memory, ctx context.Context, tag string, c segment.TagConfig) error {
	m.mu.Lock()
	_, exists := m.tags[tag]
	m.mu.Unlock()
	if exists {
		return m.CreateTag(ctx, tag, c)
	}
	time.Sleep(time.Millisecond)
	m.RemoveTag(tag)
	return m.CreateTag(ctx, tag, c)
}

// overwrites creates a tag again.
func overwrites(m *Memory, ctx context.Context, tag string, c segment.TagConfig) error {
	err := m.CreateTag(ctx, tag, c)
	if errors.Is(err, segment.ErrTagExists) {
		m.RemoveTag(tag)
		return errors.Join(err, m.CreateTag(ctx, tag, c))
	}
	return err
}

// cut returns the first n bytes of a tag.
func cut(n int) func(string) string {
	return func(tag string) string { return strings.ToValidUTF8(tag[:min(n, len(tag))], "") }
}

package segmenttest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// A Memory is a source in memory, with faults, for tests of sequences. It is the store and a client of it;
// Client returns others. All methods are safe for concurrent use. Create one with NewMemory.
//
// Unless it has a fault, a Memory hands out ranges without gaps.
type Memory struct {
	*server
	name string
}

var _ segment.Creator = (*Memory)(nil)

// A MemoryOption configures a Memory.
type MemoryOption interface{ apply(*server) }

type memoryOption func(*server)

func (o memoryOption) apply(c *server) { o(c) }

// WithGap sets by how many numbers a tag continues beyond its counter after a Failover. The default is
// 1,000,000. It panics if n is less than 1.
func WithGap(n int64) MemoryOption {
	if n < 1 {
		panic(fmt.Sprintf("segmenttest: the gap is %d; must be at least 1", n))
	}
	return memoryOption(func(s *server) { s.gap = n })
}

// WithoutRecord makes a Memory that does not know whether it is new, like a store that may have been emptied:
// CreateTag refuses a TagConfig with an UnusedBefore until a tag without one was created.
func WithoutRecord() MemoryOption { return memoryOption(func(s *server) { s.recorded = false }) }

// server is the store of a Memory.
type server struct {
	mu       sync.Mutex
	gap      int64
	tags     map[string]memoryTag
	journal  []memoryWrite // the last writes, the oldest first
	writes   int
	recorded bool      // whether the store knows when its history began
	history  int64     // the number of failovers
	changed  time.Time // of the last failover; zero if there was none

	faults  func(Op) Fault
	down    bool
	resumed chan struct{} // closed by Resume; nil if the server is not paused
}

// memoryTag is a record of the store.
type memoryTag struct {
	next    int64 // the next number; math.MaxInt64 if there is none
	step    int64
	history int64
}

// memoryWrite is what a write replaced.
type memoryWrite struct {
	tag     string
	old     memoryTag
	existed bool
}

// journalLength is how many writes can be lost.
const journalLength = 4096

// NewMemory returns a source without tags.
func NewMemory(opts ...MemoryOption) *Memory {
	s := &server{gap: 1_000_000, tags: map[string]memoryTag{}, recorded: true}
	for _, o := range opts {
		o.apply(s)
	}
	return &Memory{server: s}
}

// Client returns another client of the same store. The name is that of the Ops of its calls.
func (m *Memory) Client(name string) *Memory { return &Memory{server: m.server, name: name} }

// String implements segment.Source.
func (m *Memory) String() string { return "memory" }

// Take implements segment.Source.
func (m *Memory) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	fault, err := m.reach(ctx, Op{Client: m.name, Tag: r.Tag, Take: &r})
	if err != nil {
		return segment.Range{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return segment.Range{}, ErrDown
	}
	got, err := m.take(r)
	if fault == LoseReply {
		return segment.Range{}, fmt.Errorf("%w: a reply was lost", ErrFault)
	}
	return got, err
}

// take is Take in the server. The caller must hold the lock.
func (s *server) take(r segment.Request) (segment.Range, error) {
	tag, ok := s.tags[r.Tag]
	if !ok {
		return segment.Range{}, fmt.Errorf("%w: %q: create it with CreateTag, beyond its numbers if it existed", segment.ErrNoTag, r.Tag)
	}
	if tag.history != s.history {
		tag.next, tag.history = beyond(tag.next, s.gap), s.history
	}
	switch {
	case tag.next < r.AtLeast:
		return segment.Range{}, &segment.SetBackError{Tag: r.Tag, Counter: tag.next, AtLeast: r.AtLeast}
	case tag.next > segment.MaxNumber:
		return segment.Range{}, fmt.Errorf("%w: tag %q has handed out all numbers up to %d", segment.ErrExhausted, r.Tag, int64(segment.MaxNumber))
	}
	got := segment.Range{First: tag.next, Length: min(cmp.Or(r.Size, tag.step), math.MaxInt64-tag.next), Step: tag.step}
	tag.next += got.Length
	s.write(r.Tag, tag)
	return got, nil
}

// beyond returns n + gap, or math.MaxInt64 if that is less.
func beyond(n, gap int64) int64 {
	if n > math.MaxInt64-gap {
		return math.MaxInt64
	}
	return n + gap
}

// CreateTag implements segment.Creator.
func (m *Memory) CreateTag(ctx context.Context, tag string, c segment.TagConfig) error {
	if err := segment.CheckTag(tag); err != nil {
		return err
	}
	c, err := c.Validate()
	if err != nil {
		return err
	}
	fault, err := m.reach(ctx, Op{Client: m.name, Tag: tag, Create: &c})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return ErrDown
	}
	err = m.create(tag, c)
	if fault == LoseReply {
		return fmt.Errorf("%w: a reply was lost", ErrFault)
	}
	return err
}

// create is CreateTag in the server. The caller must hold the lock.
func (s *server) create(tag string, c segment.TagConfig) error {
	if _, exists := s.tags[tag]; exists {
		return fmt.Errorf("%w: %q", segment.ErrTagExists, tag)
	}
	if !c.UnusedBefore.IsZero() {
		if !s.recorded {
			return fmt.Errorf("%w: %q, and the store has no record since when it exists: create a tag without UnusedBefore first", segment.ErrNoTag, tag)
		}
		if s.changed.After(c.UnusedBefore) {
			c.Start = beyond(c.Start, s.gap)
		}
	}
	s.recorded = true
	s.write(tag, memoryTag{next: c.Start, step: c.Step, history: s.history})
	return nil
}

// write writes a record. The caller must hold the lock.
func (s *server) write(tag string, t memoryTag) {
	old, existed := s.tags[tag]
	s.journal = append(s.journal, memoryWrite{tag, old, existed})
	if len(s.journal) > 2*journalLength {
		s.journal = append([]memoryWrite(nil), s.journal[len(s.journal)-journalLength:]...)
	}
	s.tags[tag] = t
	s.writes++
}

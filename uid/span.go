package uid

import (
	"context"
	"fmt"
)

// Sizes of the spans that are claimed by Local, All and package percpu, one after the other.
const (
	MinSpan = 1
	MaxSpan = 1024
)

// A Span is a piece of consecutive UIDs that was claimed from a Cached generator, at one
// atomic add for all of them. Taking from it needs no other, so it belongs to one goroutine
// at a time. It is good until the generator's next scheduled padding or its Close, and then
// says that it is spent: what is left of it would grow old, and is a gap.
//
// A copy of a Span hands out the same UIDs again, so it must not be copied: Move gives it away,
// and go vet finds copies. The zero value, and a nil *Span, is spent.
type Span struct {
	_           noCopy
	taken, last ID // what was taken last, and what may be; not a length, and not the end, which may not fit
	era         uint64
	size        int // how many it had
	from        *Cached
}

// Next takes the next UID of the span; false says that the span is spent. It never blocks.
func (s *Span) Next() (ID, bool) {
	if s != nil {
		// Nested, and read once: in this form the compiler emits the fewest instructions.
		if id := s.taken; id < s.last {
			if s.era == s.from.era.Load() {
				s.taken = id + 1
				return id + 1, true
			}
		}
	}
	return 0, false
}

// Move returns a span of what is left, and leaves this one spent.
func (s *Span) Move() Span {
	if s == nil {
		return Span{}
	}
	taken := s.taken
	s.taken = s.last
	return Span{taken: taken, last: s.last, era: s.era, size: s.size, from: s.from}
}

// replace puts what is left of another span in the place of a spent one.
func (s *Span) replace(by *Span) {
	s.taken, s.last, s.era, s.size, s.from = by.taken, by.last, by.era, by.size, by.from
}

// Len returns how many UIDs are left while the span is good.
func (s *Span) Len() int {
	if s == nil {
		return 0
	}
	return int(s.last - s.taken)
}

// NextSize returns how many UIDs to claim after this span: twice as many if it was used up,
// to MaxSpan; MinSpan if it grew old first. So the gaps of a consumer are no more than the UIDs
// that it took, be it slow or fast.
func (s *Span) NextSize() int {
	if s.Len() > 0 || s == nil || s.size == 0 {
		return MinSpan
	}
	return 2 * min(s.size, MaxSpan/2) // in this order: twice the size may not fit an int
}

// Claim claims n consecutive UIDs, or fewer, at least one, where the time unit ends first. n is
// any number from 1 on. When the ring is empty the take policy decides, and ctx bounds the wait. Its errors
// are Next's, and one that wraps ErrOption for an n below 1. It is safe for concurrent use.
func (c *Cached) Claim(ctx context.Context, n int) (Span, error) {
	if !c.made() {
		return Span{}, errNotMade
	}
	if n < 1 {
		return Span{}, fmt.Errorf("%w: a span of %d UIDs, at least 1 is needed", ErrOption, n)
	}
	// Read before the claim, so that a tick in between makes the span too old, not too young.
	era := c.era.Load()
	first, got, err := c.ring.Claim(ctx, int64(n))
	if err != nil {
		return Span{}, translate(err)
	}
	return Span{taken: ID(first) - 1, last: ID(first + (got - 1)), era: era, size: int(got), from: c}, nil
}

package uid

import (
	"context"
	"fmt"
	"iter"
)

// Local takes UIDs for one goroutine, at a fraction of the cost of Next: from spans that it
// claims of a Cached generator, without an atomic operation for each UID. It is not safe for
// concurrent use, and must not be copied. It needs no closing; when it is dropped, what is left
// of its span is a gap of at most MaxSpan UIDs.
//
// Its UIDs rise as the generator's do, and are no older where there is a schedule
// (WithScheduleInterval). But those of several Locals and of Next interleave: a UID of a Local may
// be less than any that others took since its span was claimed, which is a schedule interval ago
// at most.
//
// The zero value, and a nil *Local, has no generator: its Next returns an error that wraps
// ErrOption.
type Local struct {
	span Span // which go vet does not let copy
	from *Cached
}

// Local returns a handle for one goroutine.
func (c *Cached) Local() *Local { return &Local{from: c} }

// Next returns a UID. When the span is spent it claims another, and then waits for what the
// generator's Next waits for and returns its errors.
func (l *Local) Next() (ID, error) {
	if l != nil {
		if id, ok := l.span.Next(); ok {
			return id, nil
		}
	}
	return l.refill(context.Background())
}

// NextContext is Next with a bound on waiting. While there is a UID, ctx is not looked at.
func (l *Local) NextContext(ctx context.Context) (ID, error) {
	if l != nil {
		if id, ok := l.span.Next(); ok {
			return id, nil
		}
	}
	return l.refill(ctx)
}

// refill is the rest of Next.
//
//go:noinline
func (l *Local) refill(ctx context.Context) (ID, error) {
	if l == nil {
		return 0, errNotMade
	}
	return l.from.refill(ctx, &l.span)
}

// refill puts another span in the place of one that is spent, and takes from it.
func (c *Cached) refill(ctx context.Context, s *Span) (ID, error) {
	for {
		next, err := c.Claim(ctx, s.NextSize())
		if err != nil {
			return 0, err
		}
		s.replace(&next)
		if id, ok := s.Next(); ok {
			return id, nil
		}
	}
}

// All returns an iterator over the generator's UIDs. It does not end by itself: the loop
// breaks out of it, or it yields an error as its last, which is one of Next's, or ctx's soon
// after ctx ended. It claims UIDs as a Local does, and orders them so. The iterator may be
// used again, by other goroutines too, and leaves nothing behind when the loop's body panics.
//
// ctx is looked at before each UID of a loop that takes few, and at least once in maxUnlooked UIDs
// of one that takes many.
func (c *Cached) All(ctx context.Context) iter.Seq2[ID, error] {
	// With one call of yield, and without a defer, the compiler can inline this loop into its
	// user's function, and the user's body into the loop: a third of the cost. Without a defer
	// nothing can be undone when the body panics, so nothing is registered with ctx.
	return func(yield func(ID, error) bool) {
		var span Span
		var id, last ID // what was yielded last, and what may be before the next look at ctx
		for {
			var err error
			if id < last && span.era == c.era.Load() {
				id++
			} else {
				id, last, err = c.look(ctx, &span, id)
			}
			if !yield(id, err) || err != nil {
				return
			}
		}
	}
}

// maxUnlooked bounds how many UIDs an iterator yields between two looks at its context.
const maxUnlooked = 64

// look looks whether ctx has ended, even if there are UIDs. It returns the next UID of a span from
// which the UIDs up to one were taken, or of another span; and the last UID to be taken before the next
// look, which comes after a sixteenth of the span: a slow loop has small spans.
func (c *Cached) look(ctx context.Context, s *Span, taken ID) (next, last ID, err error) {
	if ctx.Err() != nil {
		return 0, 0, fmt.Errorf("uid: the iteration was ended: %w", context.Cause(ctx))
	}
	s.taken = taken
	next, ok := s.Next()
	if !ok {
		if next, err = c.refill(ctx, s); err != nil {
			return 0, 0, err
		}
	}
	return next, min(s.last, next+ID(min((s.size-1)/16, maxUnlooked-1))), nil
}

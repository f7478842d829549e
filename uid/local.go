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
		unlooked := 0 // how many UIDs may be yielded before the next look at ctx
		for {
			id, ok := span.Next()
			var err error
			if unlooked--; !ok || unlooked < 0 {
				id, unlooked, err = c.look(ctx, &span, id)
			}
			if !yield(id, err) || err != nil {
				return
			}
		}
	}
}

// maxUnlooked bounds how many UIDs an iterator yields between two looks at its context.
const maxUnlooked = 64

// look looks whether ctx has ended, even if the ring has UIDs. It returns the UID that was taken,
// or where that is 0, because the span is spent, one of another span; and how many UIDs may be
// yielded before the next look: a sixteenth of the span, which a slow loop has small ones of.
func (c *Cached) look(ctx context.Context, s *Span, id ID) (ID, int, error) {
	if ctx.Err() != nil {
		return 0, 0, fmt.Errorf("uid: the iteration was ended: %w", context.Cause(ctx))
	}
	var err error
	if id == 0 {
		id, err = c.refill(ctx, s)
	}
	return id, min((s.size-1)/16, maxUnlooked), err
}

package uid

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
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
type Local struct {
	span Span
	from *Cached
}

// Local returns a handle for one goroutine.
func (c *Cached) Local() *Local { return &Local{from: c} }

// Next returns a UID. When the span is spent it claims another, and then waits for what the
// generator's Next waits for and returns its errors.
func (l *Local) Next() (ID, error) {
	if id, ok := l.span.Next(); ok {
		return id, nil
	}
	return l.from.refill(context.Background(), &l.span)
}

// NextContext is Next with a bound on waiting. While there is a UID, ctx is not looked at.
func (l *Local) NextContext(ctx context.Context) (ID, error) {
	if id, ok := l.span.Next(); ok {
		return id, nil
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
		*s = next
		if id, ok := s.Next(); ok {
			return id, nil
		}
	}
}

// All returns an iterator over the generator's UIDs. It does not end by itself: the loop
// breaks out of it, or it yields an error as its last, which is one of Next's, or ctx's soon
// after ctx ended. It claims UIDs as a Local does, and orders them so. The iterator may be
// used again, by other goroutines too.
func (c *Cached) All(ctx context.Context) iter.Seq2[ID, error] {
	// With one call of yield, and without a defer, the compiler can inline this loop into its
	// user's function, and the user's body into the loop: a third of the cost.
	return func(yield func(ID, error) bool) {
		var span Span
		ended, stop := watch(ctx)
		for {
			id, ok := span.Next()
			var err error
			if !ok || ended.Load() {
				id, err = c.refillUntil(ctx, &span)
			}
			if !yield(id, err) || err != nil {
				stop()
				return
			}
		}
	}
}

// watch returns what becomes true when ctx ends: a look at it costs less than one at ctx.
func watch(ctx context.Context) (ended *atomic.Bool, stop func() bool) {
	ended = new(atomic.Bool)
	return ended, context.AfterFunc(ctx, func() { ended.Store(true) })
}

// refillUntil is refill unless ctx has ended, even if the ring has UIDs.
func (c *Cached) refillUntil(ctx context.Context, s *Span) (ID, error) {
	if ctx.Err() != nil {
		return 0, fmt.Errorf("uid: the iteration was ended: %w", context.Cause(ctx))
	}
	return c.refill(ctx, s)
}

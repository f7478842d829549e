package uid

import (
	"context"
	"fmt"
	"iter"
)

// Local takes UIDs for one goroutine, at a fraction of the cost of Next: from blocks that it claims
// from a Cached generator, without an atomic operation for each UID. It is not safe for concurrent
// use, and must not be copied. It need not be closed. When it is no longer used, the rest of its block
// is a gap of at most MaxBlock UIDs.
//
// Its UIDs increase as the generator's do, and are no older if there is scheduled padding
// (WithScheduleInterval). But the UIDs of several Locals and of Next interleave: a UID of a Local may be
// less than UIDs that others took since its block was claimed, which was at most a schedule interval
// ago.
//
// The zero value, and a nil *Local, has no generator: its Next returns an error that wraps ErrOption.
type Local struct {
	block Block // which go vet does not let copy
	from  *Cached
}

// Local returns a handle for one goroutine.
func (c *Cached) Local() *Local { return &Local{from: c} }

// Next returns a UID. When the block is used up, it claims another one. It then waits for what the
// generator's Next waits for, and returns its errors.
func (l *Local) Next() (ID, error) {
	if l != nil {
		if id, ok := l.block.Next(); ok {
			return id, nil
		}
	}
	return l.refill(context.Background())
}

// NextContext is like Next, but waits no longer than until ctx ends. While the block has a UID, ctx is
// not checked.
func (l *Local) NextContext(ctx context.Context) (ID, error) {
	if l != nil {
		if id, ok := l.block.Next(); ok {
			return id, nil
		}
	}
	return l.refill(ctx)
}

// NextN fills dst from its beginning, and returns how many UIDs it has written. It waits as Next does. If that is less than len(dst), the
// error says why.
func (l *Local) NextN(dst []ID) (int, error) { return l.NextNContext(context.Background(), dst) }

// NextNContext is like NextN, but waits no longer than until ctx ends. While the block has UIDs, ctx is not checked.
func (l *Local) NextNContext(ctx context.Context, dst []ID) (int, error) {
	return fill(ctx, dst, l.NextContext)
}

// fill fills dst with what next returns.
func fill(ctx context.Context, dst []ID, next func(context.Context) (ID, error)) (int, error) {
	for n := range dst {
		id, err := next(ctx)
		if err != nil {
			return n, err
		}
		dst[n] = id
	}
	return len(dst), nil
}

// All returns an iterator over the UIDs of Next, for the goroutine of the Local. It ends as Cached.All does, which is faster.
func (l *Local) All(ctx context.Context) iter.Seq2[ID, error] { return all(ctx, l.NextContext) }

// all returns an iterator over what next returns. It ends after an error, or when ctx has ended.
func all(ctx context.Context, next func(context.Context) (ID, error)) iter.Seq2[ID, error] {
	return func(yield func(ID, error) bool) {
		for {
			if ctx.Err() != nil {
				yield(0, iterationEnded(ctx))
				return
			}
			if id, err := next(ctx); !yield(id, err) || err != nil {
				return
			}
		}
	}
}

// iterationEnded returns the error of an iteration whose context has ended.
func iterationEnded(ctx context.Context) error {
	return fmt.Errorf("uid: the iteration was ended: %w", ended(ctx))
}

// refill is the slow path of Next.
//
//go:noinline
func (l *Local) refill(ctx context.Context) (ID, error) {
	if l == nil {
		return 0, errNotMade
	}
	return l.from.refill(ctx, &l.block)
}

// refill replaces a block that is used up, and takes a UID from the new one.
func (c *Cached) refill(ctx context.Context, b *Block) (ID, error) {
	for {
		next, err := c.Claim(ctx, b.NextSize())
		if err != nil {
			return 0, err
		}
		*b = next.Move()
		if id, ok := b.Next(); ok {
			return id, nil
		}
	}
}

// All returns an iterator over the generator's UIDs. It does not end by itself: the loop must break, or
// the iterator yields an error as its last element, which is an error of Next, or that of ctx soon
// after ctx ended. It claims UIDs as a Local does, and its UIDs are ordered as a Local's. The
// iterator may be used again, also by other goroutines. It needs no cleanup when the loop's body
// panics.
//
// The iterator checks ctx before each UID in a slow loop, unless scheduled padding is off, and at least once in 64 UIDs otherwise.
func (c *Cached) All(ctx context.Context) iter.Seq2[ID, error] {
	// With one call of yield, and without a defer, the compiler can inline this loop into the caller's
	// function, and the caller's loop body into this loop: that saves a third of the cost. Without a
	// defer nothing can be undone when the body panics, so nothing is registered with ctx.
	return func(yield func(ID, error) bool) {
		var block Block
		var id, last ID // the last UID that was yielded, and the last one before the next check of ctx
		for {
			var err error
			if id < last && block.generation == c.generation.Load() {
				id++
			} else {
				id, last, err = c.check(ctx, &block, id)
			}
			if !yield(id, err) || err != nil {
				return
			}
		}
	}
}

// maxUnchecked is how many UIDs an iterator yields at most for each check of its context. The comment
// of All has the number too.
const maxUnchecked = 64

// check checks whether ctx has ended, even if there are UIDs. b is a block from which the UIDs up to
// taken were taken. check returns the next UID, of b or of a new block, and the last UID before the next
// check, which comes after a sixteenth of the block: a slow loop has small blocks.
func (c *Cached) check(ctx context.Context, b *Block, taken ID) (next, last ID, err error) {
	if ctx.Err() != nil {
		return 0, 0, iterationEnded(ctx)
	}
	b.taken = taken
	next, ok := b.Next()
	if !ok {
		if next, err = c.refill(ctx, b); err != nil {
			return 0, 0, err
		}
	}
	return next, min(b.last, next+ID(min((b.size-1)/16, maxUnchecked-1))), nil
}

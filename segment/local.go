package segment

import (
	"context"
	"fmt"
	"iter"
)

// localBlock is how many numbers a Local claims at a time.
const localBlock = 128

// Local takes numbers for one goroutine at a fraction of the cost of Next: from blocks of up to 128 numbers that it
// claims from a Sequence, without an atomic operation for each number. It is not safe for concurrent use, and must
// not be copied. It need not be closed. When it is no longer used, the rest of its block is a gap.
//
// Its numbers rise as those of the Sequence do, but the numbers of several Locals and of Next interleave. After Close of
// the Sequence, it still hands out the rest of its block, and then returns ErrClosed. A uid.Local drops its block, because
// UIDs become stale; numbers do not.
//
// The zero value, and a nil *Local, has no Sequence: its Next and NextContext return errors that wrap ErrOption.
type Local struct {
	_            noCopy
	next, stride int64
	left         int64 // how many numbers of the block are left
	from         *Sequence
}

// Local returns a handle for one goroutine.
func (s *Sequence) Local() *Local { return &Local{from: s} }

// Next returns a number. When the block is used up, it claims another one, and waits as Next of the Sequence does.
// Its errors are those of Next.
func (l *Local) Next() (int64, error) {
	if l != nil && l.left > 0 {
		v := l.next
		l.next += l.stride
		l.left--
		return v, nil
	}
	return l.refill(context.Background())
}

// NextContext is like Next, but waits no longer than until ctx ends. While the block has a number, ctx is not checked.
func (l *Local) NextContext(ctx context.Context) (int64, error) {
	if l != nil && l.left > 0 {
		v := l.next
		l.next += l.stride
		l.left--
		return v, nil
	}
	return l.refill(ctx)
}

// NextN fills dst with numbers from the front, and returns how many it filled in: len(dst), or fewer and an error of
// Next.
func (l *Local) NextN(dst []int64) (int, error) { return l.NextNContext(context.Background(), dst) }

// NextNContext is like NextN, but waits no longer than until ctx ends. While the block has numbers, ctx is not checked.
func (l *Local) NextNContext(ctx context.Context, dst []int64) (int, error) {
	for n := range dst {
		v, err := l.NextContext(ctx)
		if err != nil {
			return n, err
		}
		dst[n] = v
	}
	return len(dst), nil
}

// All returns an iterator over the numbers of Next, for the goroutine of the Local. It ends as Sequence.All does.
func (l *Local) All(ctx context.Context) iter.Seq2[int64, error] { return all(ctx, l.NextContext) }

// all returns an iterator over what next returns. It ends after an error, or when ctx has ended.
func all(ctx context.Context, next func(context.Context) (int64, error)) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for {
			if ctx.Err() != nil {
				yield(0, iterationEnded(ctx))
				return
			}
			if v, err := next(ctx); !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// iterationEnded returns the error of an iteration whose context has ended.
func iterationEnded(ctx context.Context) error {
	return fmt.Errorf("segment: the iteration was ended: %w", ended(ctx))
}

// refill claims a block and takes its first number.
//
//go:noinline
func (l *Local) refill(ctx context.Context) (int64, error) {
	if l == nil {
		return 0, errNotMade
	}
	r, err := l.from.Claim(ctx, localBlock)
	if err != nil {
		return 0, err
	}
	l.stride, l.left = r.Stride, r.Length-1
	l.next = r.First + r.Stride // beyond the last number only if it is not used
	return r.First, nil
}

// All returns an iterator over the Sequence's numbers. It does not end by itself: the loop must break, or the iterator
// yields an error as its last element, which is an error of Next, or that of ctx soon after ctx ended. It takes
// numbers as a Local does.
func (s *Sequence) All(ctx context.Context) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		l := Local{from: s}
		for {
			if l.left%16 == 0 && ctx.Err() != nil {
				yield(0, iterationEnded(ctx))
				return
			}
			v, err := l.NextContext(ctx)
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

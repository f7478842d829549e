package uid

import (
	"context"
	"fmt"
	"sync/atomic"
)

// MinBlock and MaxBlock are the least and the greatest number of UIDs in a block that Local, All or
// package percpu claims.
const (
	MinBlock = 1
	MaxBlock = 1024
)

// A Block is a sequence of consecutive UIDs that were claimed from a Cached generator with one atomic
// add. Its methods use no further atomic add, so they are not safe for concurrent use. A Block is valid
// until the generator's next scheduled padding, its Renew, its Close or the loss of its lease. Then it is used up: its remaining UIDs are
// a gap, because they would become stale.
//
// A copy of a Block would return the same UIDs again, so it must not be copied: Move transfers it, and
// go vet finds copies. A zero Block and a nil *Block are used up.
type Block struct {
	_ noCopy
	// The last UID that was taken, and the last one that may be. The end is not stored, because it may
	// not fit, nor the length, because this is faster.
	taken, last ID
	generation  uint64
	size        int            // the number of UIDs that were claimed
	current     *atomic.Uint64 // the generator's generation
}

// Next takes the next UID of the block. It returns false if the block is used up. It never blocks.
func (b *Block) Next() (ID, bool) {
	if b != nil {
		// Nested, and read once: in this form the compiler emits the fewest instructions.
		if id := b.taken; id < b.last {
			if b.generation == b.current.Load() {
				b.taken = id + 1
				return id + 1, true
			}
		}
	}
	return 0, false
}

// TakeAll takes all remaining UIDs of the block. It returns the first one and how many there are: they are first, first+1 and so
// on. It returns 0, 0 if the block is used up. It never blocks. It is for users of ranges, such as an insert of many rows:
// unlike Next, it costs the same for any number of UIDs.
func (b *Block) TakeAll() (first ID, n int) {
	if b == nil || b.taken >= b.last || b.generation != b.current.Load() {
		return 0, 0
	}
	first, n = b.taken+1, int(b.last-b.taken)
	b.taken = b.last
	return first, n
}

// Move returns a block of the remaining UIDs, and leaves this one used up.
func (b *Block) Move() Block {
	if b == nil {
		return Block{}
	}
	taken := b.taken
	b.taken = b.last
	return Block{taken: taken, last: b.last, generation: b.generation, size: b.size, current: b.current}
}

// Len returns the number of remaining UIDs, which can be taken while the block is valid.
func (b *Block) Len() int {
	if b == nil {
		return 0
	}
	return int(b.last - b.taken)
}

// NextSize returns how many UIDs to claim after this block: twice as many, up to MaxBlock, if all its
// UIDs were taken; MinBlock if it became invalid before that. So a consumer, fast or slow, leaves
// gaps of no more UIDs than it takes.
func (b *Block) NextSize() int {
	if b.Len() > 0 || b == nil || b.size == 0 {
		return MinBlock
	}
	return 2 * min(b.size, MaxBlock/2) // in this order, because twice the size may not fit in an int
}

// Claim claims n consecutive UIDs, or fewer, but at least one, if the time unit ends before that or n is greater than 2^32. n may
// be any positive number. When the ring is empty, the take policy decides, and ctx limits the wait.
// Its errors are those of Next, and one that wraps ErrOption if n is less than 1. It is safe for
// concurrent use.
func (c *Cached) Claim(ctx context.Context, n int) (Block, error) {
	if !c.isConstructed() {
		return Block{}, errNotMade
	}
	if n < 1 {
		return Block{}, fmt.Errorf("%w: the size of a block is %d; must be at least 1", ErrOption, n)
	}
	// Read before the claim: if the generation changes in between, the block is invalid too early, not
	// too late. Read after a wait, because a scheduled padding during each wait would end each block.
	var generation uint64
	first, got, err := c.ring.ClaimAfter(ctx, int64(n), func() { generation = c.generation.Load() })
	if err != nil {
		return Block{}, translate(err)
	}
	return Block{taken: ID(first) - 1, last: ID(first + (got - 1)), generation: generation, size: int(got), current: &c.generation}, nil
}

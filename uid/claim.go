package uid

import (
	"context"
	"fmt"
)

// Claim claims n consecutive UIDs, or fewer, but at least one, if the time unit ends before that. n may
// be any positive number. When the ring is empty, the take policy decides, and ctx limits the wait.
// Its errors are those of Next, and one that wraps ErrOption if n is less than 1. It is safe for
// concurrent use.
func (c *Cached) Claim(ctx context.Context, n int) (Block, error) {
	if !c.isConstructed() {
		return Block{}, errNotMade
	}
	if n < 1 {
		return Block{}, fmt.Errorf("%w: the size of a block is %d, must be at least 1", ErrOption, n)
	}
	// Read before the claim: if the generation changes in between, the block is invalid too early, not
	// too late.
	generation := c.generation.Load()
	first, got, err := c.ring.Claim(ctx, int64(n))
	if err != nil {
		return Block{}, translate(err)
	}
	return Block{taken: ID(first) - 1, last: ID(first + (got - 1)), generation: generation, size: int(got), current: &c.generation}, nil
}

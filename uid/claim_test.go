package uid

import (
	"context"
	"errors"
	"math"
	"testing"
)

func TestClaimRejectsSizesBelowOne(t *testing.T) {
	c := newCached(t, new(disposableAssigner))
	for _, n := range []int{0, -1, math.MinInt} {
		if block, err := c.Claim(context.Background(), n); !errors.Is(err, ErrOption) || block.Len() != 0 {
			t.Errorf("Claim(%d): Len() = %d, %v", n, block.Len(), err)
		}
	}
}

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
		if s, err := c.Claim(context.Background(), n); !errors.Is(err, ErrOption) || s.Len() != 0 {
			t.Errorf("Claim(%d) has %d, %v", n, s.Len(), err)
		}
	}
}

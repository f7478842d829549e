package workerassign_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// A changedPool is a store whose pool somebody has changed.
type changedPool struct {
	workerassign.SlotStore
	change func(p *workerassign.Pool)
}

func (c changedPool) Read(ctx context.Context, q workerassign.SlotQuery) (workerassign.PoolState, error) {
	s, err := c.SlotStore.Read(ctx, q)
	if s.Pool.Revision != 0 {
		c.change(&s.Pool)
	}
	return s, err
}

// R6, R7: a pool whose times are impossible is refused. With a negative one, a floor or a lease would begin too early.
func TestDamagedPool(t *testing.T) {
	for _, d := range []time.Duration{-time.Millisecond, math.MinInt64, math.MaxInt64} {
		for name, change := range map[string]func(p *workerassign.Pool){
			"horizon":      func(p *workerassign.Pool) { p.Horizon = d },
			"fencing time": func(p *workerassign.Pool) { p.Fencing = d },
			"skew":         func(p *workerassign.Pool) { p.Skew = d },
		} {
			inFleet(t, func(f *fleet) {
				f.assign(f.assigner())
				_, err := f.assignerOn(changedPool{f.Memory, change}).Assign(f.Context(), f.request())
				if !errors.Is(err, workerassign.ErrPool) {
					f.Errorf("Assign from a pool whose %s is %v returned %v, want ErrPool", name, d, err)
				}
			})
		}
	}
}

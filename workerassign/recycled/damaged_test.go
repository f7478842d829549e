package recycled_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A changedPool is a store whose pool somebody has changed.
type changedPool struct {
	recycled.Store
	change func(p *recycled.Pool)
}

func (c changedPool) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	s, err := c.Store.Read(ctx, q)
	if s.Pool.Revision != 0 {
		c.change(&s.Pool)
	}
	return s, err
}

// R6, R7: a pool whose times are impossible is refused. With a negative one, a floor or a lease would begin too early.
func TestDamagedPool(t *testing.T) {
	for _, d := range []time.Duration{-time.Millisecond, math.MinInt64, math.MaxInt64} {
		for name, change := range map[string]func(p *recycled.Pool){
			"horizon":      func(p *recycled.Pool) { p.Horizon = d },
			"fencing time": func(p *recycled.Pool) { p.Fencing = d },
			"skew":         func(p *recycled.Pool) { p.Skew = d },
		} {
			inFleet(t, func(f *fleet) {
				f.assign(f.assigner())
				_, err := f.assignerOn(changedPool{f.Memory, change}).Assign(f.Context(), f.request())
				if !errors.Is(err, recycled.ErrPool) {
					f.Errorf("Assign from a pool whose %s is %v returned %v, want ErrPool", name, d, err)
				}
			})
		}
	}
}

// impossible is a horizon whose sum with others overflows.
const impossible = math.MaxInt64 / time.Millisecond * time.Millisecond

// A process that has seen such a pool does not create another one with these times after an operator has deleted it.
func TestDamagedPoolIsDeleted(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner())
		damaged := true
		a := f.assignerOn(changedPool{f.Memory, func(p *recycled.Pool) {
			if damaged {
				p.Horizon = impossible
			}
		}})
		if _, err := a.Assign(f.Context(), f.request()); !errors.Is(err, recycled.ErrPool) {
			t.Fatalf("Assign returned %v, want ErrPool", err)
		}
		f.Flush()
		damaged = false
		f.wantTime("NotBefore after the pool was deleted", f.assign(a).NotBefore(), f.Dump().Now.Add(poolFloor))
	})
}

// R7: nobody gives such a pool the history of another server, because the floor would lie in the past when an operator
// has corrected the times.
func TestDamagedPoolHasNoFloor(t *testing.T) {
	for name, note := range map[string]func(f *fleet, r *recycled.Assigner, l workerassign.Lease) error{
		"Reserve": func(f *fleet, r *recycled.Assigner, l workerassign.Lease) error {
			if _, err := l.Reserve(f.Context(), time.Now().Add(time.Minute)); !errors.Is(err, workerassign.ErrLeaseLost) {
				return errors.Join(errors.New("want ErrLeaseLost"), err)
			}
			return nil
		},
		"RaiseFloor": func(f *fleet, r *recycled.Assigner, l workerassign.Lease) error {
			// The sum that the documentation of RaiseFloor requires overflows too.
			if err := r.RaiseFloor(f.Context(), time.Now().Add(-time.Hour)); !errors.Is(err, recycled.ErrPool) {
				return errors.Join(errors.New("want ErrPool"), err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.createPool()
				damaged := false
				r := f.assignerOn(changedPool{f.Memory, func(p *recycled.Pool) {
					if damaged {
						p.Horizon = impossible
					}
				}})
				l := f.assign(r)
				f.Failover(0)
				damaged = true
				if err := note(f, r, l); err != nil {
					t.Error(err)
				}
				damaged = false
				if p := f.Dump().Pool; p.Horizon != poolH {
					p.Revision++
					p.Horizon = poolH
					if ok, err := f.Write(f.Context(), slottest.Swap(f.Dump(), &p)); !ok || err != nil {
						t.Fatalf("Write returned %v, %v", ok, err)
					}
				}
				f.wantTime("NotBefore after the repair", f.assign(r).NotBefore(), f.Dump().Now.Add(poolFloor))
			})
		})
	}
}

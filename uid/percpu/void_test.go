package percpu

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// copied is an assigner whose leases up to a worker ID are void. The worker IDs are 1, 2, 3 and so on.
type copied struct{ assigned, void atomic.Int64 }

func (a *copied) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	return copiedLease{a, a.assigned.Add(1)}, nil
}

type copiedLease struct {
	*copied
	id int64
}

func (l copiedLease) WorkerID() int64                          { return l.id }
func (l copiedLease) NotBefore() time.Time                     { return time.Time{} }
func (l copiedLease) Release(context.Context, time.Time) error { return nil }

func (l copiedLease) Reserve(_ context.Context, until time.Time) (workerassign.Grant, error) {
	if l.id <= l.void.Load() {
		return workerassign.Grant{}, workerassign.ErrVoid
	}
	return workerassign.Grant{Until: until}, nil
}

// Invariant 1: when the grant of a lease is void, the blocks of all Ps become invalid.
func TestInvariant1VoidGrantDropsBlocks(t *testing.T) {
	a := &copied{}
	// Without a schedule, only the drop begins another generation.
	c, err := uid.NewCached(t.Context(), a, uid.WithReserveAhead(3*time.Second), uid.WithScheduleInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	g := New(c)
	take := func() {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 3000 {
					id, err := g.Next()
					if err != nil {
						t.Error(err)
						return
					}
					if p := g.Parse(id); p.WorkerID <= a.void.Load() {
						t.Errorf("%v has a worker ID that is void", p)
						return
					}
				}
			})
		}
		all.Wait()
	}
	take()
	a.void.Store(a.assigned.Load())
	testkit.Eventually(t, "the lease is replaced", func() bool {
		c.Claim(t.Context(), 8192) // until Reserve is called
		return c.Stats().WorkerID > a.void.Load()
	})
	take()
}

// Invariant 1: after uid.Cached.Renew, the blocks of all Ps are invalid, while others take.
func TestInvariant1RenewDropsBlocks(t *testing.T) {
	a := &copied{}
	c, err := uid.NewCached(t.Context(), a, uid.WithScheduleInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	g := New(c)
	var dropped atomic.Int64
	var taken [8]atomic.Int64
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer all.Wait()
	defer cancel()
	for n := range taken {
		all.Go(func() {
			for ctx.Err() == nil {
				last := dropped.Load()
				id, err := g.Next()
				if err != nil {
					t.Error(err)
					return
				}
				taken[n].Add(1)
				if p := g.Parse(id); p.WorkerID <= last {
					t.Errorf("%v; all worker IDs up to %d were dropped", p, last)
					return
				}
			}
		})
	}
	for range testkit.Amount(10, 50, 1000) {
		for n := range taken {
			before := taken[n].Load()
			testkit.Eventually(t, "each taker takes", func() bool { return t.Failed() || taken[n].Load() > before })
		}
		last := a.assigned.Load()
		if err := c.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		dropped.Store(last)
	}
}

package percpu

import (
	"context"
	"errors"
	"runtime"
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
	var block uid.Block
	for block.Len() < 4000 { // the rest of a run may be less
		if block, err = c.Claim(t.Context(), 4000); err != nil {
			t.Fatal(err)
		}
	}
	a.void.Store(a.assigned.Load())
	isDropped := false // the next lease may be in use a moment before that
	testkit.Eventually(t, "blocks are dropped, and the lease is replaced", func() bool {
		c.Claim(t.Context(), 8192) // until Reserve is called
		_, ok := block.Next()
		isDropped = isDropped || !ok && block.Len() > 0
		return isDropped && c.Stats().WorkerID > a.void.Load()
	})
	take()
}

// Invariant 1: a call that begins after Renew has returned gets no UID of a former lease, however it takes, while 16 goroutines take.
// No call fails.
func TestInvariant1RenewDropsBlocks(t *testing.T) {
	a := &copied{}
	// Without a schedule, only Renew ends blocks.
	c, err := uid.NewCached(t.Context(), a, uid.WithScheduleInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	g := New(c)
	var dropped atomic.Int64 // the greatest worker ID that was dropped
	var taken [16]atomic.Int64
	var takers sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	defer takers.Wait()
	defer cancel()
	for n := range taken {
		takers.Go(func() {
			ids := make([]uid.ID, 3)
			for ctx.Err() == nil {
				last := dropped.Load()
				var err error
				k := 1
				switch n % 4 {
				case 0:
					ids[0], err = g.NextContext(context.Background())
				case 1:
					k, err = g.NextN(ids)
				default:
					ids[0], err = g.Next()
				}
				if err != nil {
					t.Error(err)
					return
				}
				if taken[n].Add(1)%64 == 0 {
					runtime.Gosched() // otherwise the renewal waits long for each taker
				}
				for _, id := range ids[:k] {
					if p := g.Parse(id); p.WorkerID <= last {
						t.Errorf("taker %d got %v; all worker IDs up to %d were dropped before", n, p, last)
						return
					}
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
		if err := g.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		dropped.Store(last)
	}
}

// A Renew that fails, and one of a Generator that has an invalid option, return the error. After the former no block has UIDs.
func TestInvariant1RenewFails(t *testing.T) {
	c := cached(t, "1-28-22-13", uid.WithScheduleInterval(0)) // File refuses renewals
	g := New(c)
	for range 100 { // so that blocks have more than one UID
		if _, err := g.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if err := New(c, WithMaxBlock(0)).Renew(t.Context()); !errors.Is(err, ErrOption) {
		t.Errorf("Renew() with an invalid option = %v", err)
	}
	if id, err := g.Next(); err != nil {
		t.Errorf("Next() = %v, %v: a Renew that does nothing has dropped the lease", id, err)
	}
	if err := g.Renew(t.Context()); !errors.Is(err, uid.ErrLease) || !errors.Is(err, workerassign.ErrRenewal) {
		t.Errorf("Renew() = %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for range 20 {
		if id, err := g.NextContext(ctx); err == nil {
			t.Errorf("NextContext() = %v after Renew", g.Parse(id))
		}
	}
	g.Close()
	if err := g.Renew(t.Context()); err != uid.ErrClosed {
		t.Errorf("Renew() after Close = %v", err)
	}
}

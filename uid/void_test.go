package uid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// copiedSource is an assigner whose store shows at some time that a copy of this process holds leases: those with a worker ID up
// to void. The worker IDs are 1, 2, 3 and so on.
type copiedSource struct {
	assigned, void atomic.Int64
	refuse         atomic.Bool   // Assign fails
	delay          time.Duration // of Assign
	mu             sync.Mutex
	released       []int64
	renewals       []bool // Request.Renewal of each Assign
}

var errCopied = fmt.Errorf("%w, %w: a copy of this process has extended it", workerassign.ErrVoid, workerassign.ErrLeaseLost)

// errRefused is an error of Assign.
var errRefused = errors.New("the store is down")

// Assign implements workerassign.Assigner.
func (s *copiedSource) Assign(_ context.Context, r workerassign.Request) (workerassign.Lease, error) {
	s.mu.Lock()
	s.renewals = append(s.renewals, r.Renewal)
	s.mu.Unlock()
	if s.refuse.Load() {
		return nil, errRefused
	}
	time.Sleep(s.delay)
	id := s.assigned.Add(1)
	return &fakeLease{id: id,
		reserve: func(_ context.Context, until time.Time) (time.Time, error) {
			if id <= s.void.Load() {
				return time.Time{}, errCopied
			}
			return until, nil
		},
		release: func(context.Context) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.released = append(s.released, id)
			return nil
		},
	}, nil
}

// newCopied returns a generator of 16 UIDs a second on a source.
func newCopied(t *testing.T, mode string, s workerassign.Assigner, opts ...any) Generator {
	t.Helper()
	opts = append([]any{WithLogger(slog.New(slog.DiscardHandler)), WithEpoch(recycledEpoch), WithLayout(layout(t, 35, 14, 4)),
		WithBoostPower(2), WithReserveAhead(10 * time.Second)}, opts...)
	var g Generator
	var err error
	if mode == "Cached" {
		g, err = NewCached(t.Context(), s, accepted[Option](opts)...)
	} else {
		g, err = NewDefault(t.Context(), s, accepted[DefaultOption](opts)...)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// Invariant 1: if Reserve of a lease is void, the generator drops it at once, with all UIDs that were generated and not
// taken, in the ring and in blocks, and with the next lease, which a copy of the process has too. It takes another lease. While
// there is none, takes fail as when a lease was lost.
func TestInvariant1VoidGrantIsDropped(t *testing.T) {
	for _, mode := range []string{"Cached", "Default"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &copiedSource{}
				g := newCopied(t, mode, s)
				if _, err := g.Next(); err != nil {
					t.Fatal(err)
				}
				var local *Local
				var blocks []*Block
				if c, ok := g.(*Cached); ok {
					local = c.Local()
					for range 3 {
						if _, err := local.Next(); err != nil {
							t.Fatal(err)
						}
					}
					b, err := c.Claim(t.Context(), 5)
					if err != nil {
						t.Fatal(err)
					}
					blocks = append(blocks, &b)
					c.runs.nextLease(c.runs.current.Load(), c.clock.Unit())
				} else {
					g.(*Default).leases.Ready((*leasing.HeldLease).First)
				}
				synctest.Wait()
				if n := s.assigned.Load(); n != 2 {
					t.Fatalf("%d leases were taken, want 2", n)
				}
				s.void.Store(1)
				s.refuse.Store(true)
				before := time.Now()
				for time.Since(before) < 8*time.Second { // Reserve is called when a quarter of 15 s is used
					if c, ok := g.(*Default); ok {
						c.Next()
					}
					time.Sleep(time.Second / 2)
				}
				for _, b := range blocks {
					if id, ok := b.Next(); ok {
						t.Errorf("a block returns %v", g.Parse(id))
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				id, err := g.NextContext(ctx)
				if !errors.Is(err, ErrLease) || !errors.Is(err, workerassign.ErrVoid) && !errors.Is(err, errRefused) {
					t.Errorf("NextContext() = %v, %v; want ErrLease with the reason", g.Parse(id), err)
				}
				if local != nil {
					if id, err := local.NextContext(ctx); !errors.Is(err, ErrLease) {
						t.Errorf("Local.Next() = %v, %v", g.Parse(id), err)
					}
				}
				if h := g.Health(); !errors.Is(h.Err, ErrLease) || h.For != 0 {
					t.Errorf("Health() = %+v", h)
				}
				s.refuse.Store(false)
				time.Sleep(20 * time.Second)
				synctest.Wait()
				if id, err := g.Next(); err != nil || g.Parse(id).WorkerID != 3 {
					t.Errorf("with another lease: %v, %v; want worker ID 3", g.Parse(id), err)
				}
				if h := g.Health(); h.Err != nil {
					t.Errorf("Health() = %+v", h)
				}
				if st := g.Stats(); st.WorkerID != 3 || st.LostLeases != 2 || st.VoidLeases != 1 {
					t.Errorf("Stats() = %+v; one lease was void, and the next one was dropped with it", st)
				}
				synctest.Wait()
				if fmt.Sprint(s.released) != "[1]" {
					t.Errorf("the worker IDs %v were released; want 1, which is void, and not 2, which the copy may hold", s.released)
				}
			})
		})
	}
}

// While the lease that replaces a dropped one is being taken, takes wait, as at a change of the lease.
func TestTakesWaitForReplacement(t *testing.T) {
	for _, mode := range []string{"Cached", "Default"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &copiedSource{}
				g := newCopied(t, mode, s)
				s.delay = time.Second
				s.void.Store(1)
				for before := time.Now(); time.Since(before) < 20*time.Second; time.Sleep(100 * time.Millisecond) {
					ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
					if _, err := g.NextContext(ctx); err != nil {
						t.Fatalf("after %v: %v", time.Since(before), err)
					}
					cancel()
				}
				if st := g.Stats(); st.LostLeases == 0 {
					t.Errorf("Stats() = %+v; the lease was not dropped", st)
				}
			})
		})
	}
}

// Invariant 1: a block that is claimed while the leases are dropped, of a run that was generated before, is invalid afterwards.
func TestInvariant1BlockClaimedDuringDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCopied(t, "Cached", &copiedSource{}).(*Cached)
		release := make(chan struct{})
		go c.ring.Drop(func() { <-release }) // the drop has to wait for this one
		synctest.Wait()
		go c.drop(c.runs.current.Load().held, ErrLease)
		synctest.Wait()
		b, err := c.Claim(t.Context(), 5)
		if err != nil || b.Len() != 5 {
			t.Fatalf("a block of %d UIDs, %v", b.Len(), err)
		}
		close(release)
		synctest.Wait()
		if id, ok := b.Next(); ok {
			t.Errorf("the block returns %v", c.Parse(id))
		}
	})
}

// Invariant 1: a take that begins after a drop gets no UID of the leases that were dropped, however it takes, while many take.
func TestInvariant1DropUnderLoad(t *testing.T) {
	for _, mode := range []string{"Cached", "Default"} {
		t.Run(mode, func(t *testing.T) {
			s := &copiedSource{}
			opts := []any{WithEpoch(time.Now().Add(-time.Hour).Truncate(time.Second)), WithTimeUnit(time.Millisecond),
				WithLayout(layout(t, 35, 22, 6)), WithReserveAhead(50 * time.Millisecond), WithMaxBorrow(100 * time.Millisecond)}
			if mode == "Default" { // a unit in which many UIDs are left after each drop, and for whose end each drop waits
				opts = []any{WithEpoch(DefaultEpoch()), WithTimeUnit(20 * time.Millisecond), WithLayout(layout(t, 32, 11, 20))}
			}
			g := newCopied(t, mode, s, opts...)
			var dropped, failed atomic.Int64 // the greatest worker ID that was dropped
			var taken [8]atomic.Int64
			var takers sync.WaitGroup
			ctx, cancel := context.WithCancel(t.Context())
			defer takers.Wait()
			defer cancel()
			for n := range taken {
				takers.Go(func() {
					takeOf := takesOf(g, n)
					for ctx.Err() == nil {
						last := dropped.Load()
						id, err := takeOf(ctx)
						if err != nil {
							if !errors.Is(err, ErrLease) && !errors.Is(err, context.Canceled) {
								t.Error(err)
							}
							failed.Add(1)
							time.Sleep(time.Millisecond) // not a busy loop
							continue
						}
						if taken[n].Add(1)%64 == 0 {
							runtime.Gosched() // otherwise the test's goroutine waits for all others at each step
						}
						if p := g.Parse(id); p.WorkerID <= last {
							t.Errorf("taker %d got a UID of worker ID %d; all up to %d were dropped before", n, p.WorkerID, last)
							return
						}
					}
				})
			}
			rounds := testkit.Amount(10, 40, 1000)
			for round := range rounds {
				for n := range taken {
					before := taken[n].Load()
					testkit.Eventually(t, "each taker takes", func() bool { return t.Failed() || taken[n].Load() > before })
				}
				if t.Failed() {
					return
				}
				if round%2 == 0 {
					s.void.Store(s.assigned.Load()) // and Reserve is called meanwhile
				}
				var h *leasing.HeldLease
				switch g := g.(type) {
				case *Cached:
					g.leases.RecordLoss(time.Hour) // otherwise the pause before the next lease would grow
					h = g.runs.current.Load().held
					g.drop(h, ErrLease)
				case *Default:
					g.leases.RecordLoss(time.Hour)
					h = g.lease.Load().held
					g.leaseChanger.drop(h, ErrLease)
				}
				dropped.Store(h.WorkerID())
			}
			t.Logf("%d drops, %d leases, %d failed takes", rounds, s.assigned.Load(), failed.Load())
		})
	}
}

// takesOf returns a way of taking UIDs.
func takesOf(g Generator, n int) func(context.Context) (ID, error) {
	c, isCached := g.(*Cached)
	switch n % 5 {
	case 0:
		if isCached {
			return c.Local().NextContext
		}
	case 1:
		if isCached {
			return takesOfBlocks(c)
		}
	case 2:
		return func(ctx context.Context) (ID, error) {
			var ids [3]ID
			_, err := g.NextNContext(ctx, ids[:])
			return slices.MinFunc(ids[:], func(a, b ID) int { return cmp.Compare(g.Parse(a).WorkerID, g.Parse(b).WorkerID) }), err // of the oldest lease
		}
	case 3:
		var next func() (ID, error, bool)
		var stop func()
		return func(ctx context.Context) (ID, error) {
			if next == nil {
				next, stop = iter.Pull2(g.All(ctx))
			}
			id, err, _ := next()
			if err != nil {
				stop()
				next = nil
			}
			return id, err
		}
	}
	return g.NextContext
}

// takesOfBlocks returns a function that takes UIDs from blocks of ten.
func takesOfBlocks(c *Cached) func(context.Context) (ID, error) {
	var block Block
	return func(ctx context.Context) (ID, error) {
		for {
			if id, ok := block.Next(); ok {
				return id, nil
			}
			b, err := c.Claim(ctx, 10)
			if err != nil {
				return 0, err
			}
			block = b.Move()
		}
	}
}

// Invariant 1: a copy of the process has extended a lease, and the generator rolls over to the next one before it extends that lease
// again. So its release finds that the lease is void. Then no UID of it comes any more, nor of the next lease, which the copy may
// have too.
func TestInvariant1ReplacedLeaseIsVoid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(recycledEpoch) + time.Hour)
		store := assigntest.NewMemory(assigntest.WithNoLoss())
		a := slottest.New(t, store)
		g := newCopied(t, "Cached", a, WithReserveAhead(30*time.Second), WithMaxBorrow(8*time.Second))
		c := g.(*Cached)
		first := c.Stats().WorkerID
		slot := store.Dump().Slots[first]
		extended := slot
		extended.Revision, extended.Token, extended.Until = slot.Revision+1, strings.SplitN(slot.Token, ".", 2)[0]+".copy", slot.Until.Add(10*time.Second)
		if ok, err := store.Write(t.Context(), recycled.Write{History: store.Dump().History, Slots: []recycled.Slot{extended},
			Replaced: []recycled.Slot{slot}}); !ok || err != nil {
			t.Fatalf("Write() = %t, %v", ok, err)
		}
		taken := 0
		for c.Stats().WorkerID == first {
			id, err := c.Next()
			w := c.Parse(id).WorkerID
			if err != nil || w == first+1 { // a third lease may be in use when Next returns
				t.Fatalf("Next() = %v, %v, want worker ID %d, or one after %d", c.Parse(id), err, first, first+1)
			}
			if w != first {
				break
			}
			taken++
			synctest.Wait()
		}
		for range taken {
			if id, err := c.Next(); err != nil || c.Parse(id).WorkerID <= first+1 {
				t.Fatalf("after a release that found that the lease is void: %v, %v; want a UID of a third lease", c.Parse(id), err)
			}
		}
		if slot := store.Dump().Slots[first]; slot != extended {
			t.Errorf("the slot is %+v; the copy has written %+v", slot, extended)
		}
		if st := c.Stats(); st.VoidLeases != 1 {
			t.Errorf("Stats() = %+v; one lease was void", st)
		}
	})
}

// A drop that comes late, of a lease that was dropped before, does not drop the lease that was taken since.
func TestInvariant1DropComesLate(t *testing.T) {
	for _, mode := range []string{"Cached", "Default"} {
		synctest.Test(t, func(t *testing.T) {
			s := &copiedSource{}
			g := newCopied(t, mode, s)
			var drop func()
			switch g := g.(type) {
			case *Cached:
				h := g.runs.current.Load().held
				drop = func() { g.drop(h, errCopied) }
			case *Default:
				h := g.lease.Load().held
				drop = func() { g.leaseChanger.drop(h, errCopied) }
			}
			for range 2 {
				drop()
				for range 3 { // until there is another lease
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					g.NextContext(ctx)
					cancel()
					time.Sleep(time.Second)
				}
			}
			if id, err := g.Next(); err != nil || g.Parse(id).WorkerID != 2 || s.assigned.Load() != 2 {
				t.Errorf("%s: %v, %v; %d leases were taken, want 2", mode, g.Parse(id), err, s.assigned.Load())
			}
		})
	}
}

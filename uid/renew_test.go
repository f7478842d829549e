package uid

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// eachKind runs a test with a generator of each kind, on a source of its own, in a bubble.
func eachKind(t *testing.T, test func(t *testing.T, g Generator, s *copiedSource)) {
	for _, mode := range []string{"Cached", "Default"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &copiedSource{}
				test(t, newCopied(t, mode, s), s)
			})
		})
	}
}

// takeNextLease has the next lease taken in advance.
func takeNextLease(g Generator) {
	switch g := g.(type) {
	case *Cached:
		g.runs.nextLease(g.runs.current.Load(), g.clock.Unit())
	case *Default:
		g.leases.Ready((*leasing.HeldLease).First)
	}
	synctest.Wait()
}

// wantWorkerID checks that Next returns a UID of a worker ID.
func wantWorkerID(t *testing.T, g Generator, want int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if id, err := g.NextContext(ctx); err != nil || g.Parse(id).WorkerID != want {
		t.Errorf("NextContext() = %v, %v; want a UID of worker ID %d", g.Parse(id), err, want)
	}
}

// Invariant 1: after Renew no way of taking returns a UID of the former lease, or of the next one, which was taken in advance. Neither
// is released: a copy of the process may hold both. Renew takes one lease, whose request says that it is a renewal, and that is not
// a loss.
func TestInvariant1RenewDropsLeases(t *testing.T) {
	eachKind(t, func(t *testing.T, g Generator, s *copiedSource) {
		wantWorkerID(t, g, 1)
		takeNextLease(g)
		var takes []func(context.Context) (ID, error)
		for _, n := range []int{0, 1, 2, 4} { // All has a test of its own
			takes = append(takes, takesOf(g, n))
		}
		for n, take := range takes {
			for range 3 { // so that blocks have more than one UID
				if id, err := take(t.Context()); err != nil || g.Parse(id).WorkerID != 1 {
					t.Fatalf("take %d: %v, %v", n, g.Parse(id), err)
				}
			}
		}
		if err := g.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st := g.Stats(); st.WorkerID != 3 || st.LostLeases != 0 || st.Rollovers != 1 {
			t.Errorf("Stats() = %+v; want worker ID 3, no lost lease, and one change", st)
		}
		if h := g.Health(); h.Err != nil {
			t.Errorf("Health() = %+v", h)
		}
		for n, take := range takes {
			if id, err := take(t.Context()); err != nil || g.Parse(id).WorkerID != 3 {
				t.Errorf("take %d: %v, %v; want worker ID 3", n, g.Parse(id), err)
			}
		}
		wantWorkerID(t, g, 3)
		synctest.Wait()
		takeNextLease(g)
		if want := "[false false true false]"; fmt.Sprint(s.renewals) != want {
			t.Errorf("Request.Renewal was %v, want %v", s.renewals, want)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.released) != 2 || s.released[0]+s.released[1] != 3+4 {
			t.Errorf("the worker IDs %v were released, want 3 and 4", s.released)
		}
	})
}

// Invariant 1: a block of each kind that was claimed before Renew has no UIDs after it, also if Renew fails.
func TestInvariant1RenewDropsBlocks(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &copiedSource{}
			c := newCopied(t, "Cached", s).(*Cached)
			first, err1 := c.Claim(t.Context(), 5)
			second, err2 := c.Claim(t.Context(), 5)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			moved := second.Move()
			s.refuse.Store(refuse)
			if err := c.Renew(t.Context()); (err != nil) != refuse {
				t.Errorf("Renew() = %v", err)
			}
			if id, ok := first.Next(); ok {
				t.Errorf("a block returns %v", c.Parse(id))
			}
			if id, n := moved.TakeAll(); n != 0 {
				t.Errorf("a block returns %d UIDs from %v", n, c.Parse(id))
			}
		})
	}
}

// While Renew takes another lease, takers wait, without an error, as at a rollover, also if the next lease could not be taken before.
func TestTakesWaitForRenew(t *testing.T) {
	eachKind(t, func(t *testing.T, g Generator, s *copiedSource) {
		wantWorkerID(t, g, 1)
		s.refuse.Store(true)
		takeNextLease(g) // a task that fails, and pauses before it tries again
		s.delay = time.Second
		before := time.Now()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for time.Since(before) < 3*time.Second {
					if _, err := g.Next(); err != nil {
						t.Errorf("after %v: %v", time.Since(before), err)
					}
					time.Sleep(time.Second / 10)
				}
			})
		}
		time.Sleep(time.Second / 2)
		s.refuse.Store(false)
		if err := g.Renew(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(before); took != 3*time.Second/2 {
			t.Errorf("Renew returned after %v, want 1.5s: it does not wait for the pause of an earlier task", took)
		}
		all.Wait()
		wantWorkerID(t, g, 2)
	})
}

// Invariant 1: a Renew that fails leaves the generator without a lease. It tries again in the background, with requests that are
// renewals, until it has another lease.
func TestInvariant1RenewFails(t *testing.T) {
	eachKind(t, func(t *testing.T, g Generator, s *copiedSource) {
		wantWorkerID(t, g, 1)
		takeNextLease(g)
		s.refuse.Store(true)
		if err := g.Renew(t.Context()); !errors.Is(err, ErrLease) || !errors.Is(err, errRefused) {
			t.Errorf("Renew() = %v; want ErrLease with the assigner's error", err)
		}
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if id, err := g.NextContext(ctx); !errors.Is(err, ErrLease) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("NextContext() = %v, %v", g.Parse(id), err)
			}
			cancel()
			time.Sleep(time.Second)
		}
		if _, err := g.Next(); !errors.Is(err, ErrLease) || !errors.Is(err, errRefused) {
			t.Errorf("Next() = %v; want ErrLease with the assigner's error", err)
		}
		if h := g.Health(); !errors.Is(h.Err, ErrLease) || !errors.Is(h.Err, errRefused) {
			t.Errorf("Health() = %+v", h)
		}
		s.refuse.Store(false)
		time.Sleep(leasing.MaxRetryPause) // nobody takes: the generator tries by itself
		synctest.Wait()
		if n := s.assigned.Load(); n != 3 {
			t.Errorf("%d leases were taken, want 3", n)
		}
		wantWorkerID(t, g, 3)
		for n, renewal := range s.renewals {
			if renewal != (n > 1) {
				t.Errorf("Request.Renewal was %v; want two that are not, and then renewals", s.renewals)
				break
			}
		}
		if h := g.Health(); h.Err != nil {
			t.Errorf("Health() = %+v", h)
		}
	})
}

// Invariant 1: Renew drops the leases also if its ctx has ended. The generator then takes another lease in the background.
func TestInvariant1RenewWithEndedContext(t *testing.T) {
	eachKind(t, func(t *testing.T, g Generator, s *copiedSource) {
		wantWorkerID(t, g, 1)
		s.delay = time.Second
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("shutting down")
		cancel(cause)
		if err := g.Renew(ctx); !errors.Is(err, cause) {
			t.Errorf("Renew() = %v; want the cause of ctx", err)
		}
		wantWorkerID(t, g, 2)
		limited, cancelLimited := context.WithTimeout(t.Context(), time.Second/2)
		defer cancelLimited()
		if err := g.Renew(limited); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Renew() = %v; want that of ctx", err)
		}
		wantWorkerID(t, g, 3)
	})
}

// Renew after Close, and during Close, returns ErrClosed. Generators that no constructor made return an error.
func TestRenewAfterClose(t *testing.T) {
	eachKind(t, func(t *testing.T, g Generator, s *copiedSource) {
		s.delay = 3 * time.Second
		result := make(chan error)
		go func() { result <- g.Renew(context.Background()) }()
		synctest.Wait()
		go g.Close()
		select {
		case err := <-result:
			if err != ErrClosed {
				t.Errorf("Renew() during Close = %v", err)
			}
		case <-time.After(time.Second):
			t.Error("Renew waits although the generator is closed")
		}
		g.Close()
		taken := len(s.renewals)
		if err := g.Renew(t.Context()); err != ErrClosed || len(s.renewals) != taken {
			t.Errorf("Renew() after Close = %v", err)
		}
	})
	eachKind(t, func(t *testing.T, g Generator, s *copiedSource) { // Close may be releasing the lease
		g.Close()
		g.Renew(t.Context())
		var held *leasing.HeldLease
		switch g := g.(type) {
		case *Cached:
			held = g.runs.current.Load().held
		case *Default:
			held = g.lease.Load().held
		}
		if held.IsDropped() {
			t.Error("Renew() after Close drops the lease")
		}
	})
	for _, g := range []Generator{(*Cached)(nil), new(Cached), (*Default)(nil), new(Default)} {
		if err := g.Renew(t.Context()); !errors.Is(err, ErrOption) {
			t.Errorf("Renew() of %T = %v", g, err)
		}
	}
}

// Invariant 1: each of several concurrent Renews replaces what was taken before it. All return when there is a lease that none of them
// has dropped.
func TestInvariant1ConcurrentRenews(t *testing.T) {
	eachKind(t, func(t *testing.T, g Generator, s *copiedSource) {
		wantWorkerID(t, g, 1)
		s.delay = time.Second
		begin := time.Now()
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				time.Sleep(time.Duration(n) * 100 * time.Millisecond)
				before := s.assigned.Load()
				if err := g.Renew(t.Context()); err != nil || time.Since(begin) != 1700*time.Millisecond {
					t.Errorf("Renew() = %v after %v; want 1.7s, when the last lease was taken", err, time.Since(begin))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				if id, err := g.NextContext(ctx); err != nil || g.Parse(id).WorkerID <= before {
					t.Errorf("NextContext() = %v, %v; want a worker ID greater than %d", g.Parse(id), err, before)
				}
			})
		}
		all.Wait()
		wantWorkerID(t, g, 9)
		if n := s.assigned.Load(); n != 9 {
			t.Errorf("%d leases were taken, want 9: one for each Renew", n)
		}
	})
}

// Invariant 1: Renew during a rollover. The lease that is being taken for it belongs to what is dropped, and its Assign, which hangs,
// delays nothing.
func TestInvariant1RenewDuringRollover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var renewals []bool
		s := &copiedSource{}
		a := assignFunc(func(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
			l, err := s.Assign(ctx, r)
			renewals = append(renewals, r.Renewal)
			if l.WorkerID() == 2 {
				<-release
			}
			return l, err
		})
		c := newCopied(t, "Cached", a, WithMaxBorrow(10*time.Second), WithReserveAhead(time.Second)).(*Cached)
		result := make(chan ID, 1)
		go func() {
			for {
				id, err := c.Next()
				if err != nil {
					t.Error(err)
				}
				if c.Parse(id).WorkerID != 1 {
					result <- id
					return
				}
			}
		}()
		synctest.Wait() // at the borrow limit, where the taker waits for the second lease
		if st := c.Stats(); st.Borrowed != 10*time.Second || s.assigned.Load() != 2 {
			t.Fatalf("Stats() = %+v; %d leases", st, s.assigned.Load())
		}
		if err := c.Renew(t.Context()); err != nil {
			t.Error(err)
		}
		if id := <-result; c.Parse(id).WorkerID != 3 {
			t.Errorf("the taker that waited got %v; want worker ID 3", c.Parse(id))
		}
		close(release) // the assigner grants the second lease
		synctest.Wait()
		wantWorkerID(t, c, 3)
		if next := c.leases.Next(); next != nil {
			t.Errorf("the next lease has worker ID %d, and was requested before Renew", next.WorkerID())
		}
		if fmt.Sprint(renewals) != "[false false true]" || len(s.released) != 0 {
			t.Errorf("Request.Renewal was %v; the worker IDs %v were released", renewals, s.released)
		}
	})
}

// assignFunc is an assigner.
type assignFunc func(context.Context, workerassign.Request) (workerassign.Lease, error)

func (f assignFunc) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	return f(ctx, r)
}

// Invariant 1: a lease that was replaced at a rollover, and is not released yet, is not released after Renew.
func TestInvariant1RenewAfterRollover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &copiedSource{}
		c := newCopied(t, "Cached", s, WithMaxBorrow(10*time.Second), WithReserveAhead(time.Second)).(*Cached)
		for c.Stats().WorkerID == 1 {
			if _, err := c.Next(); err != nil {
				t.Fatal(err)
			}
			if next := c.leases.Next(); next == nil {
				synctest.Wait()
			}
		}
		if err := c.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		last := s.assigned.Load()
		if id, err := c.Next(); err != nil || c.Parse(id).WorkerID != last {
			t.Errorf("Next() = %v, %v; want worker ID %d: what the first lease had left in the ring is dropped, too", c.Parse(id), err, last)
		}
	})
}

// A generator whose assigner refuses renewals has no lease after Renew, permanently: it never generates UIDs again, because a copy of
// the process may have the same worker ID.
func TestInvariant1RenewIsRefused(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := workerassign.Static(5)
				made, err := mode.make(t.Context(), a, discardLog(), WithEpoch(recycledEpoch))
				if err != nil {
					t.Fatal(err)
				}
				g := made
				if _, err := g.Next(); err != nil {
					t.Fatal(err)
				}
				if err := g.Renew(t.Context()); !errors.Is(err, ErrLease) || !errors.Is(err, workerassign.ErrRenewal) {
					t.Errorf("Renew() = %v", err)
				}
				for range 30 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					if id, err := g.NextContext(ctx); !errors.Is(err, ErrLease) && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("NextContext() = %v, %v", g.Parse(id), err)
					}
					cancel()
					time.Sleep(time.Second)
				}
				if h := g.Health(); !errors.Is(h.Err, workerassign.ErrRenewal) {
					t.Errorf("Health() = %+v", h)
				}
				if err := g.Close(); err != nil {
					t.Error(err)
				}
				if _, err := mode.make(t.Context(), a, discardLog(), WithEpoch(recycledEpoch)); !errors.Is(err, workerassign.ErrInUse) {
					t.Errorf("another generator with the worker ID: %v; want ErrInUse, because a copy may use it", err)
				}
			})
		})
	}
}

// Invariant 1: a take that begins after Renew has returned gets no UID of a lease that was taken before Renew, however it takes, while
// many take and two renew. No take fails.
func TestInvariant1RenewUnderLoad(t *testing.T) {
	for _, mode := range []string{"Cached", "Default"} {
		t.Run(mode, func(t *testing.T) {
			s := &copiedSource{}
			opts := []any{WithEpoch(time.Now().Add(-time.Hour).Truncate(time.Second)), WithTimeUnit(time.Millisecond),
				WithLayout(layout(t, 35, 22, 6)), WithReserveAhead(50 * time.Millisecond), WithMaxBorrow(100 * time.Millisecond)}
			if mode == "Default" { // a unit in which many UIDs are left after each Renew, and for whose end each Renew waits
				opts = []any{WithEpoch(DefaultEpoch()), WithTimeUnit(20 * time.Millisecond), WithLayout(layout(t, 32, 11, 20))}
			}
			g := newCopied(t, mode, s, opts...)
			var dropped atomic.Int64 // the greatest worker ID that was dropped
			var taken [8]atomic.Int64
			var takers, renewers sync.WaitGroup
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
							if !errors.Is(err, context.Canceled) {
								t.Errorf("taker %d: %v", n, err)
							}
							return
						}
						if taken[n].Add(1)%64 == 0 {
							runtime.Gosched() // otherwise the renewers wait for all others at each step
						}
						if p := g.Parse(id); p.WorkerID <= last {
							t.Errorf("taker %d got a UID of worker ID %d; all up to %d were dropped before", n, p.WorkerID, last)
							return
						}
					}
				})
			}
			rounds := testkit.Amount(10, 40, 1000)
			for range 2 {
				renewers.Go(func() {
					for range rounds {
						for n := range taken {
							before := taken[n].Load()
							testkit.Eventually(t, "each taker takes", func() bool { return t.Failed() || taken[n].Load() > before })
						}
						last := s.assigned.Load()
						if err := g.Renew(ctx); err != nil {
							t.Error(err)
						}
						for {
							greatest := dropped.Load()
							if last <= greatest || dropped.CompareAndSwap(greatest, last) {
								break
							}
						}
					}
				})
			}
			renewers.Wait()
			t.Logf("%d renewals, %d leases", 2*rounds, s.assigned.Load())
		})
	}
}

// Invariant 1: an iterator of All that is used after Renew yields UIDs of the new lease, although its block had more.
func TestInvariant1RenewDuringAll(t *testing.T) {
	eachKind(t, func(t *testing.T, g Generator, _ *copiedSource) {
		next, stop := iter.Pull2(g.All(t.Context()))
		defer stop()
		for range 5 { // the third block of a Cached one has four UIDs
			next()
		}
		if err := g.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if id, err, _ := next(); err != nil || g.Parse(id).WorkerID != 2 {
			t.Errorf("the iterator yields %v, %v; want worker ID 2", g.Parse(id), err)
		}
	})
}

// Invariant 1: a lease is lost, and the Assign of another one hangs. Renew does not wait for that, and wakes the takers that do.
func TestInvariant1RenewWhileAssignHangs(t *testing.T) {
	for _, mode := range []string{"Cached", "Default"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				var assigned atomic.Int64
				a := assignFunc(func(context.Context, workerassign.Request) (workerassign.Lease, error) {
					l := &fakeLease{id: assigned.Add(1)}
					switch l.id {
					case 1:
						end := time.Now().Add(5 * time.Second)
						l.reserve = func(context.Context, time.Time) (time.Time, error) { return end, nil }
					case 2:
						<-release
					}
					return l, nil
				})
				g := newCopied(t, mode, a)
				result := make(chan ID, 1)
				go func() {
					for {
						id, err := g.Next()
						switch {
						case err != nil && !errors.Is(err, ErrLease):
							t.Error(err)
						case err == nil && g.Parse(id).WorkerID != 1:
							result <- id
							return
						}
						time.Sleep(time.Second / 8)
					}
				}()
				time.Sleep(20 * time.Second)
				if n := assigned.Load(); n != 2 {
					t.Fatalf("%d leases were requested, want 2", n)
				}
				begin := time.Now()
				if err := g.Renew(t.Context()); err != nil {
					t.Error(err)
				}
				if id := <-result; g.Parse(id).WorkerID != 3 || time.Since(begin) > time.Second {
					t.Errorf("the taker got %v after %v; want worker ID 3 at once", g.Parse(id), time.Since(begin))
				}
				close(release)
				synctest.Wait()
				wantWorkerID(t, g, 3)
			})
		})
	}
}

// Invariant 1: the Assign of a Renew hangs, and takers wait for it. Another Renew gets a lease, and wakes them.
func TestInvariant1RenewAfterRenewThatHangs(t *testing.T) {
	for _, mode := range []string{"Cached", "Default"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				s := &copiedSource{}
				g := newCopied(t, mode, assignFunc(func(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
					l, err := s.Assign(ctx, r)
					if l.WorkerID() == 2 {
						<-release
					}
					return l, err
				}))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := g.Renew(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Renew() = %v", err)
				}
				result := make(chan ID, 1)
				go func() {
					id, err := g.Next()
					if err != nil {
						t.Error(err)
					}
					result <- id
				}()
				synctest.Wait()
				begin := time.Now()
				if err := g.Renew(t.Context()); err != nil {
					t.Error(err)
				}
				if id := <-result; g.Parse(id).WorkerID != 3 || time.Since(begin) > 0 {
					t.Errorf("the taker got %v after %v; want worker ID 3 at once", g.Parse(id), time.Since(begin))
				}
				close(release)
			})
		})
	}
}

// Renew does not wait until a lease begins that begins later. Takers do.
func TestRenewWithALeaseThatBeginsLater(t *testing.T) {
	for _, mode := range []string{"Cached", "Default"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &copiedSource{}
				g := newCopied(t, mode, assignFunc(func(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
					l, err := s.Assign(ctx, r)
					if r.Renewal {
						l.(*fakeLease).notBefore = time.Now().Add(2 * time.Hour) // beyond the borrow limit
					}
					return l, err
				}))
				begin := time.Now()
				if err := g.Renew(t.Context()); err != nil || time.Since(begin) > pollInterval {
					t.Errorf("Renew() = %v after %v", err, time.Since(begin))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
				defer cancel()
				if id, err := g.NextContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("NextContext() = %v, %v", g.Parse(id), err)
				}
				if h := g.Health(); !errors.Is(h.Err, ErrLease) {
					t.Errorf("Health() = %+v", h)
				}
				time.Sleep(2 * time.Hour)
				wantWorkerID(t, g, 2)
			})
		})
	}
}

// slowDone is a context whose Done returns after all other goroutines of a bubble have gone as far as they can.
type slowDone struct{ context.Context }

func (c slowDone) Done() <-chan struct{} {
	time.Sleep(time.Millisecond)
	return c.Context.Done()
}

// With a context that has ended, Renew returns its error, also if a try to take a lease has succeeded or failed before.
func TestRenewWithEndedContext(t *testing.T) {
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	for _, mode := range modes {
		for _, newAssigner := range []func() workerassign.Assigner{
			func() workerassign.Assigner { return new(disposableAssigner) },
			func() workerassign.Assigner { return workerassign.Static(5) }, // whose Renew fails
		} {
			synctest.Test(t, func(t *testing.T) {
				g, err := mode.make(t.Context(), newAssigner(), WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 10)))
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				for range 10 {
					if err := g.Renew(slowDone{ctx}); !errors.Is(err, cause) {
						t.Errorf("%s, %T: Renew() = %v, want the cause of the context", mode.name, newAssigner(), err)
					}
				}
			})
		}
	}
}

package uid

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// A Default generator never makes two calls of a lease concurrently, and pauses between calls that fail
// or grant nothing. Close wakes takers that wait for the lease.
func TestDefaultLimitsReserveCalls(t *testing.T) {
	for name, tt := range map[string]struct {
		err      error
		maxCalls int64
	}{"fails": {errLeaseEnded, 100}, "grants nothing": {nil, 100}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls, concurrent atomic.Int64
				var granting atomic.Bool
				granting.Store(true)
				var granted time.Time
				d := newDefault(t, &fakeAssigner{assign: func(context.Context, int64) (workerassign.Lease, error) {
					var running atomic.Int64
					return &fakeLease{id: 1, reserve: func(ctx context.Context, until time.Time) (time.Time, error) {
						if running.Add(1) > 1 {
							concurrent.Add(1)
						}
						defer running.Add(-1)
						calls.Add(1)
						time.Sleep(time.Millisecond)
						if !granting.Load() {
							return granted, tt.err
						}
						granted = until
						return until, nil
					}}, nil
				}}, smallOptions(t)...)
				next(t, d)
				granting.Store(false)
				time.Sleep(10 * time.Second)
				calls.Store(0)
				var takers sync.WaitGroup
				for range 8 {
					takers.Go(func() {
						for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
							ctx, cancel := context.WithTimeout(context.Background(), time.Second)
							if id, err := d.NextContext(ctx); err == nil {
								t.Errorf("%v was not granted", d.Parse(id))
							}
							cancel()
						}
					})
				}
				takers.Wait()
				if calls.Load() > tt.maxCalls || concurrent.Load() > 0 {
					t.Errorf("%d calls of Reserve in 10 s, want at most %d; %d concurrent calls", calls.Load(), tt.maxCalls, concurrent.Load())
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		d := newDefault(t, newHangingAssigner(&hangs), smallOptions(t)...)
		hangs.Store(true)
		time.Sleep(5 * time.Second)
		time.AfterFunc(time.Second, func() { d.Close() })
		if id, err := d.Next(); err != ErrClosed || id != 0 {
			t.Errorf("Next() = %d, %v; want ErrClosed", id, err)
		}
	})
}

// However many takers wait, there are never two concurrent calls of a lease, and the pauses between
// calls that grant nothing grow.
func TestDefaultWaitersShareATry(t *testing.T) {
	for _, takers := range []int{1, 8, testkit.Amount(50, 200, 200)} {
		synctest.Test(t, func(t *testing.T) {
			var calls, concurrent, running atomic.Int64
			var granting atomic.Bool
			granting.Store(true)
			var mu sync.Mutex
			var granted time.Time
			d := newDefault(t, &fakeAssigner{assign: func(context.Context, int64) (workerassign.Lease, error) {
				return &fakeLease{id: 1, reserve: func(ctx context.Context, until time.Time) (time.Time, error) {
					if running.Add(1) > 2 { // one call extends a lease while another one takes the next lease
						concurrent.Add(1)
					}
					defer running.Add(-1)
					calls.Add(1)
					time.Sleep(time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					if granting.Load() {
						granted = until
					}
					return granted, nil
				}}, nil
			}}, smallOptions(t)...)
			next(t, d)
			granting.Store(false)
			time.Sleep(10 * time.Second)
			calls.Store(0)
			var all sync.WaitGroup
			for n := range takers {
				all.Go(func() {
					time.Sleep(time.Duration(n) * 137 * time.Microsecond)
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
					defer cancel()
					for ctx.Err() == nil {
						if id, err := d.NextContext(ctx); err == nil {
							t.Errorf("%v was not granted", d.Parse(id))
						}
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
			all.Wait()
			if n := calls.Load(); n > 40 || concurrent.Load() > 0 {
				t.Errorf("%d takers: %d calls of Reserve in 10 s, %d times more than two concurrent ones", takers, n, concurrent.Load())
			}
			granting.Store(true)
			time.Sleep(leasing.MaxRetryPause + time.Second)
			next(t, d)
		})
	}
}

// A taker that waits for the next lease is woken when it was taken, by its context, and by Close.
func TestDefaultWaitsForTheNextLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		a := newExpiringAssigner(false)
		working := a.assign
		a.assign = func(ctx context.Context, n int64) (workerassign.Lease, error) {
			if n > 1 {
				select {
				case <-hang:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return working(ctx, n)
		}
		d := newIdleDefault(t, a, smallOptions(t)...)
		time.Sleep(time.Hour)
		begin := time.Now()
		var all sync.WaitGroup
		var got atomic.Int64
		for range 200 {
			all.Go(func() {
				if _, err := d.Next(); err != nil {
					t.Errorf("Next() = %v", err)
				}
				got.Add(1)
			})
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if id, err := d.NextContext(ctx); !errors.Is(err, context.DeadlineExceeded) || id != 0 || time.Since(begin) != 3*time.Second {
			t.Errorf("NextContext() = %d, %v, after %v", id, err, time.Since(begin))
		}
		time.Sleep(time.Second)
		if got.Load() != 0 {
			t.Errorf("%d UIDs were returned without a lease", got.Load())
		}
		close(hang)
		synctest.Wait()
		if n := got.Load(); n != 16 {
			t.Errorf("when the next lease was taken, %d of the waiters got a UID at once; want 16, all of the time unit", n)
		}
		all.Wait()
		if n := a.calls.Load(); n != 2 {
			t.Errorf("%d leases were taken for 200 waiters, want 2", n)
		}
		hang = make(chan struct{})
		time.Sleep(time.Hour)
		for range 3 {
			all.Go(func() {
				if id, err := d.Next(); err != ErrClosed || id != 0 {
					t.Errorf("Next() = %d, %v; want ErrClosed", id, err)
				}
			})
		}
		time.Sleep(time.Second)
		d.Close()
		all.Wait()
	})
}

// A taker that has read the lease just before another one replaced it does not wait for the old one to be extended.
func TestDefaultDoesNotWaitForReplacedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newIdleDefault(t, newExpiringAssigner(false), smallOptions(t)...)
		defer d.Close()
		old := d.leaseChanger.lease.Load()
		time.Sleep(time.Hour)
		next(t, d)
		if d.leaseChanger.lease.Load() == old {
			t.Fatal("the lease was not replaced")
		}
		synctest.Wait() // until the old lease was released
		elapsed, unit := d.clock.Elapsed(), d.clock.Unit()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		begin := time.Now()
		if err := d.leaseChanger.extend(ctx, old, unit, elapsed); err != nil || time.Since(begin) != 0 {
			t.Errorf("extend of the old lease returned %v after %v; want nil at once", err, time.Since(begin))
		}
	})
}

// A caller that finds its lease lost may come late: another caller has replaced it meanwhile. It takes no further lease, and the one
// in use stays.
func TestLateChangeOfReplacedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newExpiringAssigner(false)
		d := newIdleDefault(t, a, smallOptions(t)...)
		old := d.lease.Load()
		time.Sleep(time.Hour)
		next(t, d)
		current, calls := d.lease.Load(), a.calls.Load()
		if current == old {
			t.Fatal("the lease was not replaced")
		}
		for range 2 {
			if s := d.leaseChanger.change(old, d.clock.Unit(), d.clock.Elapsed(), errLeaseEnded); !s.inUse {
				t.Errorf("a late change = %+v; want that another lease is in use", s)
			}
			synctest.Wait()
		}
		if d.lease.Load() != current || a.calls.Load() != calls || d.Stats().Rollovers != 1 {
			t.Errorf("late changes took %d further leases; %+v", a.calls.Load()-calls, d.Stats())
		}
	})
}

// Close ends a wait for a grant, even if the assigner hangs and does not return when its context ends.
func TestCloseEndsWaitForGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		proceed := make(chan struct{})
		d := newDefault(t, &fakeAssigner{assign: func(context.Context, int64) (workerassign.Lease, error) {
			return &fakeLease{id: 1, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
				if hangs.Load() {
					<-proceed
				}
				return until, nil
			}}, nil
		}}, smallOptions(t)...)
		hangs.Store(true)
		time.Sleep(10 * time.Second)
		var took time.Duration
		returned := make(chan error)
		go func() {
			_, err := d.Next()
			took = time.Since(bubbleEpoch)
			returned <- err
		}()
		synctest.Wait()
		closed := time.Since(bubbleEpoch)
		go d.Close()
		if err := <-returned; err != ErrClosed || took != closed {
			t.Errorf("Next() = %v, %v after Close began", err, took-closed)
		}
		close(proceed)
	})
}

// Close ends a wait for the next unit at once.
func TestCloseEndsWaitForUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDefault(t, new(disposableAssigner), smallOptions(t)...)
		for range 16 {
			next(t, d)
		}
		begin := time.Now()
		time.AfterFunc(10*time.Millisecond, func() { d.Close() })
		if _, err := d.Next(); err != ErrClosed || time.Since(begin) != 10*time.Millisecond {
			t.Errorf("Next() = %v after %v, want ErrClosed after 10 ms", err, time.Since(begin))
		}
	})
}

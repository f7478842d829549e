package uid

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// beginningLeases is an assigner whose lease n begins at a time, and is granted up to another one. With the zero time it begins at
// once, or has no end.
func beginningLeases(begins, ends func(n int64) time.Time, id func(n int64) int64) *fakeAssigner {
	return &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
		return &fakeLease{id: id(n), notBefore: begins(n), reserve: func(_ context.Context, until time.Time) (time.Time, error) {
			switch end := ends(n); {
			case end.IsZero() || end.After(until):
				return until, nil
			case time.Now().Before(end):
				return end, nil
			}
			return time.Time{}, errLeaseEnded
		}}, nil
	}}
}

func never(int64) time.Time { return time.Time{} }

func each(n int64) int64 { return n }

// The next lease begins ahead of the clock, but within the borrow limit, so that a rollover gains time. Its UIDs begin with its first
// unit.
func TestInvariant1RolloverToALeaseThatBeginsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		later := time.Now().Add(5 * time.Second)
		c := newCached(t, beginningLeases(func(n int64) time.Time {
			if n == 1 {
				return time.Time{}
			}
			return later
		}, never, each), smallOptions(t)...) // which borrows up to 10 s
		p := Parts{WorkerID: 1}
		for p.WorkerID == 1 {
			p = c.Parse(next(t, c))
		}
		if p.WorkerID != 2 || !p.Time.Equal(later) || p.Sequence != 0 {
			t.Errorf("the first UID of the next lease is %+v, want the time %v", p, later)
		}
	})
}

// A lease is lost, and the next one has the same worker ID and begins later: its UIDs begin with its first unit.
func TestInvariant1NextLeaseOfTheSameWorkerIDBeginsLater(t *testing.T) {
	for name, newGenerator := range map[string]func(t *testing.T, a workerassign.Assigner) Generator{
		"Cached": func(t *testing.T, a workerassign.Assigner) Generator { return newCached(t, a, smallOptions(t)...) },
		// Without the goroutine that keeps the lease, and would replace it.
		"Default": func(t *testing.T, a workerassign.Assigner) Generator { return newIdleDefault(t, a, smallOptions(t)...) },
	} {
		synctest.Test(t, func(t *testing.T) {
			ends, later := time.Now().Add(5*time.Second), time.Now().Add(20*time.Second)
			g := newGenerator(t, beginningLeases(func(n int64) time.Time {
				if n == 1 {
					return time.Time{}
				}
				return later
			}, func(n int64) time.Time {
				if n == 1 {
					return ends
				}
				return time.Time{}
			}, func(int64) int64 { return 9 }))
			p := g.Parse(next(t, g))
			var late time.Duration
			for time.Sleep(6 * time.Second); p.Time.Before(ends); time.Sleep(50 * time.Millisecond) {
				if id, err := g.Next(); err == nil { // otherwise the next lease is not assigned yet
					p, late = g.Parse(id), time.Since(later)
				}
			}
			if name == "Default" && late > time.Millisecond {
				t.Errorf("Next has returned %v after the next lease had begun", late)
			}
			if !p.Time.Equal(later) || p.Sequence != 0 {
				t.Errorf("%s: the first UID of the next lease is %+v, want the time %v", name, p, later)
			}
		})
	}
}

// A lease begins with the present unit. At the borrow limit it is replaced at once, not only in the next unit.
func TestRolloverInTheFirstUnitOfALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		c := newCached(t, beginningLeases(func(int64) time.Time { return begin }, never, each), smallOptions(t)...)
		for c.Parse(next(t, c)).WorkerID < 3 {
		}
		if took := time.Since(begin); took >= time.Second {
			t.Errorf("two leases were used up in %v, want less than a unit", took)
		}
	})
}

// Whoever waits at the borrow limit, or for a lease that begins later, gets a UID as soon as the clock allows it, without the help of a
// scheduled padding.
func TestWaitersGetUIDsAtOnce(t *testing.T) {
	for _, policy := range []TakePolicy{Wait, CallerPads} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			c := newCached(t, new(disposableAssigner), smallOptions(t, WithRollover(false), WithScheduleInterval(0), WithTakePolicy(policy))...)
			time.Sleep(300 * time.Millisecond)
			for range 11 * 16 {
				next(t, c)
			}
			next(t, c)
			if took := time.Since(begin); took != time.Second {
				t.Errorf("%v: the UID beyond the borrow limit came after %v, want 1 s", policy, took)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			a := &endingLease{begins: begin.Add(60 * time.Second), grants: true}
			a.end.Store(int64(begin.Sub(bubbleEpoch)/time.Second) + 5)
			c := newCached(t, a.assigner(), smallOptions(t, WithScheduleInterval(0), WithTakePolicy(policy))...)
			for range 5 * 16 {
				next(t, c)
			}
			for _, at := range []time.Duration{30 * time.Second, 49*time.Second + 400*time.Millisecond} {
				time.Sleep(time.Until(begin.Add(at)))
				ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
				if id, err := c.NextContext(ctx); err == nil {
					t.Errorf("%v: %v after %v", policy, c.Parse(id), at)
				}
				cancel()
			}
			next(t, c)
			if took := time.Since(begin); took != 50*time.Second {
				t.Errorf("%v: the first UID of the next lease came after %v, want 50 s", policy, took)
			}
		})
	}
}

// What a taker waits for is in its error: the clock, the assigner, or the begin of a lease.
func TestReasonsOfWaits(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	fail := func(t *testing.T, c *Cached) error {
		t.Helper()
		for range 1000 {
			if _, err := c.NextContext(ended); err != nil {
				return err
			}
		}
		t.Fatal("there are UIDs without end")
		return nil
	}
	t.Run("the clock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// The lease begins now, and nothing is borrowed. So one unit was stamped.
			c, _ := newBounded(t, &boundedSource{horizon: lasting(46 * time.Second), begins: time.Now()})
			if err := fail(t, c); errors.Is(err, ErrLease) || !strings.Contains(err.Error(), errClockBehind.Error()) {
				t.Error(err)
			}
		})
	})
	t.Run("the assigner", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var hangs atomic.Bool
			c := newCached(t, newHangingAssigner(&hangs), smallOptions(t, WithTakePolicy(Wait))...)
			hangs.Store(true)
			time.Sleep(7*time.Second + 500*time.Millisecond) // the grant is used up, and the call hangs still
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			if _, err := c.NextContext(ctx); !strings.Contains(err.Error(), errNoGrantYet.Error()) {
				t.Error(err)
			}
		})
	})
	t.Run("a lease that begins later", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &endingLease{begins: time.Now().Add(60 * time.Second)}
			a.end.Store(int64(time.Since(bubbleEpoch)/time.Second) + 5)
			begin := time.Now()
			c := newCached(t, a.assigner(), smallOptions(t)...)
			time.Sleep(time.Until(begin.Add(48 * time.Second)))
			synctest.Wait()
			if err := fail(t, c); !errors.Is(err, errLeaseEnded) || !strings.Contains(err.Error(), "must not be used before") {
				t.Error(err)
			}
			// The borrow limit reaches the begin of the lease, which is not granted yet.
			for _, after := range []time.Duration{50 * time.Second, 55 * time.Second} {
				time.Sleep(time.Until(begin.Add(after)) + 500*time.Millisecond)
				synctest.Wait()
				if err := fail(t, c); !errors.Is(err, errLeaseEnded) || strings.Contains(err.Error(), "must not be used before") {
					t.Errorf("%v: %v", after, err)
				}
			}
		})
	})
	t.Run("a Default generator", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var hangs atomic.Bool
			d := newDefault(t, newHangingAssigner(&hangs), smallOptions(t)...)
			hangs.Store(true)
			time.Sleep(10 * time.Second)
			const want = "uid: gave up waiting for a lease: context canceled"
			if _, err := d.NextContext(ended); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	})
}

// A run is dropped by the first scheduled padding after which it could become older than the staleness bound, and not earlier. If the
// option is not used, that is 3 s also for shorter intervals.
func TestD6StaleRunsAreKeptUpToTheBound(t *testing.T) {
	for _, interval := range []time.Duration{time.Second, 500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			c := newCached(t, new(disposableAssigner), smallOptions(t, WithScheduleInterval(interval))...)
			last := 3*time.Second - interval // after which the first unit is too old at the next padding
			for _, tt := range []struct {
				after time.Duration
				want  uint64
			}{{last, 0}, {last + interval, 16}} {
				time.Sleep(time.Until(begin.Add(tt.after)))
				synctest.Wait()
				if n := c.Stats().Ring.Dropped; n != tt.want {
					t.Errorf("every %v: %d UIDs were dropped after %v, want %d", interval, n, tt.after, tt.want)
				}
			}
		})
	}
}

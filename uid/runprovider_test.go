package uid

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// D6: the original runs ahead of the clock without a limit. Here UID time stays within the borrow
// limit: by rollovers or, without them, by the take policy.
func TestD6BusyStaysWithinTheBorrowLimit(t *testing.T) {
	l := layout(t, 31, 27, 5)
	t.Run("rollover", func(t *testing.T) {
		a := new(disposableAssigner)
		c := newCached(t, a, WithLayout(l), WithBoostPower(1), WithMaxBorrow(10*time.Second))
		for range 20_000 {
			if p := c.Parse(next(t, c)); time.Until(p.Time) > 10*time.Second {
				t.Fatalf("%v is %v ahead", p, time.Until(p.Time))
			}
		}
		st := c.Stats()
		// 32 UIDs per second, for 11 or 12 seconds per lease.
		if st.Rollovers < 20_000/(32*12)-1 || st.Rollovers > 20_000/(32*10) {
			t.Errorf("%d rollovers for 20,000 UIDs at about 352 UIDs per lease", st.Rollovers)
		}
		if usedUp := a.lastID.Load(); usedUp > int64(st.Rollovers)+2 {
			t.Errorf("%d worker IDs were used up by %d rollovers; want one for the lease in use and one for the next lease", usedUp, st.Rollovers)
		}
		c.Close()
		if a.released.Load() != a.lastID.Load() {
			t.Errorf("%d leases were released, want %d", a.released.Load(), a.lastID.Load())
		}
	})
	t.Run("no rollover", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, policy := range []TakePolicy{CallerPads, Wait, Fail} {
				c := newCached(t, new(disposableAssigner), WithEpoch(bubbleEpoch), WithLayout(l), WithBoostPower(1),
					WithMaxBorrow(10*time.Second), WithRollover(false), WithTakePolicy(policy))
				begin := time.Now()
				for got := 0; got < 32*30; {
					id, err := c.Next()
					if policy == Fail && errors.Is(err, ErrEmpty) {
						time.Sleep(time.Millisecond)
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					if p := c.Parse(id); time.Until(p.Time) > 10*time.Second {
						t.Fatalf("%v is %v ahead", p, time.Until(p.Time))
					}
					got++
				}
				if took := time.Since(begin); took < 18*time.Second || took > 21*time.Second {
					t.Errorf("%v: the UIDs of 30 seconds, 11 of them at once, took %v", policy, took)
				}
				c.Close()
			}
		})
	})
}

// Whatever the load, rollovers are no more frequent than WithRolloverInterval allows. Meanwhile UIDs
// are generated at the layout's rate.
func TestRolloverInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(disposableAssigner)
		c := newCached(t, a, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 27, 5)), WithBoostPower(1),
			WithMaxBorrow(10*time.Second), WithRolloverInterval(time.Minute))
		begin, got := time.Now(), 0
		for ; time.Since(begin) < 5*time.Minute-time.Second; got++ {
			if p := c.Parse(next(t, c)); time.Until(p.Time) > 10*time.Second {
				t.Fatalf("%v is %v ahead", p, time.Until(p.Time))
			}
		}
		st := c.Stats()
		if st.Rollovers != 4 || a.lastID.Load() > 6 {
			t.Errorf("%d rollovers and %d worker IDs in five minutes, want 4 and at most 6", st.Rollovers, a.lastID.Load())
		}
		// The layout's rate, and the UIDs of 11 seconds more for each of five leases.
		if want := 32 * (299 + 5*11); got < want-5*64 || got > want+5*64 {
			t.Errorf("%d UIDs in five minutes, want about %d", got, want)
		}
	})
}

// An idle generator uses up no worker IDs, however near the borrow limit its full ring is.
func TestIdleGeneratorNeverRollsOver(t *testing.T) {
	testkit.WithoutRace(t)
	synctest.Test(t, func(t *testing.T) {
		a := new(disposableAssigner)
		newCached(t, a, WithEpoch(bubbleEpoch), WithMaxBorrow(16*time.Second))
		time.Sleep(24 * time.Hour)
		if got := a.lastID.Load(); got != 1 {
			t.Errorf("%d worker IDs were used up in a day, want 1", got)
		}
	})
}

// While the assigner fails, UIDs are generated up to the borrow limit, and then the take policy
// applies. When it works again, the generator recovers.
func TestRolloverWhileTheAssignerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, failure := new(disposableAssigner), errors.New("the store is down")
		var log bytes.Buffer
		c := newCached(t, a, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 27, 5)), WithBoostPower(1),
			WithMaxBorrow(10*time.Second), logInto(&log))
		a.failWith(failure)
		got := 0
		var err error
		for ; err == nil; got++ {
			_, err = c.Next()
			synctest.Wait()
		}
		if got < 32*10 || got > 32*12 {
			t.Errorf("%d UIDs before the borrow limit, want the 352 of 11 seconds", got)
		}
		if !errors.Is(err, failure) || !errors.Is(err, ErrLease) {
			t.Errorf("Next() = %v, want the store's error", err)
		}
		a.recover()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.ring.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		for range 32 * 5 {
			next(t, c)
		}
		if st := c.Stats(); st.Rollovers != 1 || st.WorkerID != 2 {
			t.Errorf("Stats() = %+v", st)
		}
		c.Close() // after which nothing is logged
		for _, want := range []string{"the store is down", "uid: recovered", "changed to another worker ID"} {
			if n := strings.Count(log.String(), want); n == 0 || n > 3 {
				t.Errorf("%q was logged %d times, want 1 to 3", want, n)
			}
		}
	})
}

// D6: after a rollover the ring holds UIDs that are far ahead of the clock, followed by UIDs of the
// current time, which become stale there.
func TestD6FreshAfterRollover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, new(disposableAssigner), WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 4)))
		for c.Stats().Rollovers == 0 {
			next(t, c)
			synctest.Wait()
		}
		time.Sleep(30 * time.Minute)
		for range 300 {
			if p := c.Parse(next(t, c)); time.Since(p.Time) > DefaultMaxStaleness {
				t.Fatalf("%v is %v behind the clock", p, time.Since(p.Time))
			}
		}
	})
}

// An assigner that always assigns the same worker ID does not get one request after the other.
func TestRolloverWithoutGainIsNotMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &fakeAssigner{assign: func(context.Context, int64) (workerassign.Lease, error) { return &fakeLease{id: 9}, nil }}
		c := newCached(t, a, smallOptions(t)...)
		if got, _, err := takeFor(t, c, time.Minute); got < 60*16 || got > 80*16 {
			t.Errorf("%d UIDs in a minute, %v", got, err)
		}
		if a.calls.Load() != 2 || c.Stats().Rollovers != 0 {
			t.Errorf("Assign was called %d times, %d rollovers", a.calls.Load(), c.Stats().Rollovers)
		}
	})
}

// When rollovers have used up the worker bits, no further worker ID is requested.
func TestRolloversExhaustTheWorkerBits(t *testing.T) {
	testkit.WithoutRace(t)
	synctest.Test(t, func(t *testing.T) {
		a := new(disposableAssigner)
		c := newCached(t, a, smallOptions(t, WithLayout(layout(t, 31, 2, 4)))...)
		_, failed, err := takeFor(t, c, testkit.Amount(2*time.Minute, 10*time.Minute, 10*time.Minute))
		if failed == 0 || !errors.Is(err, ErrLease) || !errors.Is(err, ErrWorkerID) {
			t.Errorf("%d calls failed, the last one with %v", failed, err)
		}
		if got := a.lastID.Load(); got != 4 {
			t.Errorf("%d worker IDs were assigned, want 1 to 3 and one that does not fit", got)
		}
		if got, _, _ := takeFor(t, c, time.Minute); got < 60*16*9/10 {
			t.Errorf("%d UIDs in a minute at the borrow limit", got)
		}
	})
}

// A worker ID that is too wide for Prefix or Divide is handled like one that is too wide for the
// layout: the next one would be even greater, so none is requested.
func TestWidthErrorIsPermanent(t *testing.T) {
	testkit.WithoutRace(t)
	busy := testkit.Amount(30*time.Second, 30*time.Second, 3*time.Minute)
	idle := testkit.Amount(2*time.Hour, 2*time.Hour, 24*time.Hour)
	for name, wrap := range map[string]func(workerassign.Assigner) workerassign.Assigner{
		"plain":  func(a workerassign.Assigner) workerassign.Assigner { return a },
		"divide": func(a workerassign.Assigner) workerassign.Assigner { return workerassign.Divide(a, 1) },
		"prefix": func(a workerassign.Assigner) workerassign.Assigner { return workerassign.Prefix(a, 1, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := new(disposableAssigner)
				c := newCached(t, wrap(a), smallOptions(t, WithLayout(layout(t, 31, 3, 4)))...)
				takeFor(t, c, busy)
				before := a.lastID.Load()
				takeFor(t, c, busy)
				time.Sleep(idle)
				if now := a.lastID.Load(); now != before || before > 8 {
					t.Errorf("%d worker IDs were assigned, and %d after %v", before, now, idle)
				}
				if _, err := NewCached(context.Background(), wrap(a), accepted[Option](smallOptions(t, WithLayout(layout(t, 31, 3, 4))))...); !errors.Is(err, ErrWorkerID) {
					t.Errorf("NewCached() = %v, want ErrWorkerID", err)
				}
			})
		})
	}
}

// A next lease that begins after the end of the time bits cannot be used. That does not end the lease
// in use.
func TestNextLeaseBeyondTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			l := &fakeLease{id: 3}
			if n > 1 {
				l.notBefore = workerassign.Unbounded()
			}
			return l, nil
		}}
		c := newCached(t, a, smallOptions(t)...)
		takeFor(t, c, 10*time.Second)
		time.Sleep(time.Minute)
		for range 5 {
			time.Sleep(time.Second)
			if _, err := c.Next(); err != nil {
				t.Error(err)
			}
		}
	})
}

// The time by which runs are stamped does not go back, however many goroutines read the clock: the padder, and callers that pad.
func TestProviderTimeNeverGoesBack(t *testing.T) {
	p := newCached(t, new(disposableAssigner), WithScheduleInterval(0)).runs
	readings := testkit.Amount(50_000, 50_000, 200_000)
	var readers sync.WaitGroup
	var latest atomic.Int64 // that a reader has seen
	for range 4 {
		readers.Go(func() {
			for range readings {
				p.readClock()
				before := latest.Load()
				elapsed := p.elapsed.Load()
				if elapsed < before {
					t.Errorf("the time went from %d ns to %d ns", before, elapsed)
					return
				}
				latest.CompareAndSwap(before, elapsed)
			}
		})
	}
	readers.Wait()
}

package uid

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// D6: the original runs ahead of the clock without bound. Here UID time stays within the
// bound: by other leases, or where there are to be none, by the take policy.
func TestD6BusyStaysWithinTheBound(t *testing.T) {
	l := layout(t, 31, 27, 5)
	t.Run("rollover", func(t *testing.T) {
		a := new(disposableAssigner)
		c := newCached(t, a, WithLayout(l), WithBoostPower(1), WithMaxBorrow(10*time.Second))
		for range 20_000 {
			if p := c.Parse(next(t, c)); time.Until(p.Time) > 10*time.Second {
				t.Fatalf("%v lies %v ahead", p, time.Until(p.Time))
			}
		}
		st := c.Stats()
		// 32 UIDs a second, 11 or 12 seconds a lease.
		if st.Rollovers < 20_000/(32*12)-1 || st.Rollovers > 20_000/(32*10) {
			t.Errorf("%d rollovers for 20,000 UIDs at about 352 a lease", st.Rollovers)
		}
		if spent := a.lastID.Load(); spent > int64(st.Rollovers)+2 {
			t.Errorf("%d worker IDs were spent on %d rollovers: one in use and one in advance are enough", spent, st.Rollovers)
		}
		c.Close()
		if a.released.Load() != a.lastID.Load() {
			t.Errorf("%d leases were given back of %d", a.released.Load(), a.lastID.Load())
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
						t.Fatalf("%v lies %v ahead", p, time.Until(p.Time))
					}
					got++
				}
				if took := time.Since(begin); took < 18*time.Second || took > 21*time.Second {
					t.Errorf("%v: 30 seconds' UIDs, 11 of them at once, took %v", policy, took)
				}
				c.Close()
			}
		})
	})
}

// However great the load, leases come no faster than the interval says; meanwhile the layout's
// rate flows at the bound.
func TestRolloverInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(disposableAssigner)
		c := newCached(t, a, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 27, 5)), WithBoostPower(1),
			WithMaxBorrow(10*time.Second), WithRolloverInterval(time.Minute))
		begin, taken := time.Now(), 0
		for ; time.Since(begin) < 5*time.Minute-time.Second; taken++ {
			if p := c.Parse(next(t, c)); time.Until(p.Time) > 10*time.Second {
				t.Fatalf("%v lies %v ahead", p, time.Until(p.Time))
			}
		}
		st := c.Stats()
		if st.Rollovers != 4 || a.lastID.Load() > 6 {
			t.Errorf("%d rollovers, %d worker IDs, in five minutes, 4 and 6 are wanted", st.Rollovers, a.lastID.Load())
		}
		// The layout's rate, and 11 seconds' UIDs more of each of five leases.
		if want := 32 * (299 + 5*11); taken < want-5*64 || taken > want+5*64 {
			t.Errorf("%d UIDs in five minutes, about %d are wanted", taken, want)
		}
	})
}

// An idle generator spends no worker IDs, however near its bound the full ring is.
func TestIdleGeneratorNeverRollsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(disposableAssigner)
		newCached(t, a, WithEpoch(bubbleEpoch), WithMaxBorrow(16*time.Second))
		time.Sleep(24 * time.Hour)
		if got := a.lastID.Load(); got != 1 {
			t.Errorf("%d worker IDs were spent in a day", got)
		}
	})
}

// The assigner goes down and comes back: UIDs flow up to the bound, then the take policy
// applies, then they flow again by themselves.
func TestRolloverWithTheAssignerDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, down := new(disposableAssigner), errors.New("the store is down")
		var log bytes.Buffer
		c := newCached(t, a, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 27, 5)), WithBoostPower(1),
			WithMaxBorrow(10*time.Second), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		a.failWith(down)
		got := 0
		var err error
		for ; err == nil; got++ {
			_, err = c.Next()
			synctest.Wait()
		}
		if got < 32*10 || got > 32*12 {
			t.Errorf("%d UIDs came before the bound, want the 11 seconds' 352", got)
		}
		if !errors.Is(err, down) || !errors.Is(err, ErrLease) {
			t.Errorf("Next() = %v, want what the store said", err)
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
		c.Close() // after which nobody writes to the log
		for _, want := range []string{"the store is down", "uid: recovered", "changed to another worker ID"} {
			if n := strings.Count(log.String(), want); n == 0 || n > 3 {
				t.Errorf("the log says %q %d times", want, n)
			}
		}
	})
}

// D6: after a rollover the ring holds UIDs that are far ahead of the clock before some that
// are now's, and these grow old behind them.
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
				t.Fatalf("%v lies %v behind the clock", p, time.Since(p.Time))
			}
		}
	})
}

// An assigner that always has the same worker ID is not asked again and again.
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

// When the worker bits are used up by rollovers there is no other to ask for, and nobody asks.
func TestRolloversExhaustTheWorkerBits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(disposableAssigner)
		c := newCached(t, a, smallOptions(t, WithLayout(layout(t, 31, 2, 4)))...)
		_, failed, err := takeFor(t, c, 10*time.Minute)
		if failed == 0 || !errors.Is(err, ErrLease) || !errors.Is(err, ErrWorkerID) {
			t.Errorf("%d failed, the last: %v", failed, err)
		}
		if got := a.lastID.Load(); got != 4 {
			t.Errorf("%d worker IDs were assigned, want 1 to 3, and one that does not fit", got)
		}
		if got, _, _ := takeFor(t, c, time.Minute); got < 60*16*9/10 {
			t.Errorf("%d UIDs in a minute at the bound", got)
		}
	})
}

// A worker ID that is too wide for a Prefix or a Divide is as one that is too wide for the layout:
// the next would be greater still, so no other is asked for.
func TestWidthErrorIsPermanent(t *testing.T) {
	for name, wrap := range map[string]func(workerassign.Assigner) workerassign.Assigner{
		"plain":  func(a workerassign.Assigner) workerassign.Assigner { return a },
		"divide": func(a workerassign.Assigner) workerassign.Assigner { return workerassign.Divide(a, 1) },
		"prefix": func(a workerassign.Assigner) workerassign.Assigner { return workerassign.Prefix(a, 1, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := new(disposableAssigner)
				c := newCached(t, wrap(a), smallOptions(t, WithLayout(layout(t, 31, 3, 4)))...)
				takeFor(t, c, 3*time.Minute)
				before := a.lastID.Load()
				takeFor(t, c, 3*time.Minute)
				time.Sleep(24 * time.Hour)
				if now := a.lastID.Load(); now != before || before > 8 {
					t.Errorf("the assigner has given out %d worker IDs, and %d a day later", before, now)
				}
				if _, err := NewCached(context.Background(), wrap(a), smallOptions(t, WithLayout(layout(t, 31, 3, 4)))...); !errors.Is(err, ErrWorkerID) {
					t.Errorf("NewCached() = %v, want ErrWorkerID", err)
				}
			})
		})
	}
}

// A next lease that is of no use because it begins after the end of time is not the end of the
// lease in use.
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

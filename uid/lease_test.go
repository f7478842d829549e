package uid

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/workerassign"
)

// made is a lease that does what it is told; without a function, it is as a disposable one.
type made struct {
	id      int64
	from    time.Time
	reserve func(context.Context, time.Time) (time.Time, error)
	release func(context.Context) error
}

func (l *made) WorkerID() int64      { return l.id }
func (l *made) NotBefore() time.Time { return l.from }
func (l *made) Reserve(ctx context.Context, until time.Time) (time.Time, error) {
	if l.reserve == nil {
		return workerassign.Unbounded(), nil
	}
	return l.reserve(ctx, until)
}
func (l *made) Release(ctx context.Context, used time.Time) error {
	if l.release == nil {
		return nil
	}
	return l.release(ctx)
}

// maker is an assigner of them, which counts them.
type maker struct {
	asked atomic.Int64
	make  func(ctx context.Context, n int64) (workerassign.Lease, error)
}

func (a *maker) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	return a.make(ctx, a.asked.Add(1))
}

// small are options of a generator that is at its bound soon: 16 UIDs a second, 10 s ahead.
func small(t *testing.T, more ...Option) []Option {
	return append([]Option{WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 20, 4)), WithBoostPower(1),
		WithMaxBorrow(10 * time.Second), WithReserveAhead(2 * time.Second)}, more...)
}

// live takes UIDs for a while, up to 500 a second, and checks that they differ; it returns how
// many there were, how many calls failed, and the last error.
func live(t *testing.T, c *Cached, d time.Duration) (got, failed int, last error) {
	t.Helper()
	seen := make(map[ID]bool)
	for begin := time.Now(); time.Since(begin) < d; {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		id, err := c.NextContext(ctx)
		cancel()
		if err != nil {
			failed, last = failed+1, err
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if seen[id] {
			t.Fatalf("%v came twice", c.Parse(id))
		}
		seen[id] = true
		got++
		time.Sleep(2 * time.Millisecond)
	}
	return got, failed, last
}

// D6: after a rollover the ring holds UIDs that are far ahead of the clock before some that
// are now's, and these grow old behind them.
func TestD6FreshAfterARollover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, new(numbers), WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 4)))
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

// A lease that was changed for another is given back after what was under way for it, and
// hinders the other no more.
func TestRetiredLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hung, late atomic.Int64
		a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
			var asked atomic.Int64
			released := make(chan struct{})
			return &made{id: n, reserve: func(ctx context.Context, until time.Time) (time.Time, error) {
				if n == 1 && asked.Add(1) > 1 {
					hung.Add(1)
					select {
					case <-released:
					case <-ctx.Done():
						time.Sleep(time.Second) // it is slow to end
					}
				}
				select {
				case <-released:
					late.Add(1)
					return time.Time{}, errEnded
				default:
					return until, nil
				}
			}, release: func(context.Context) error {
				close(released)
				return nil
			}}, nil
		}}
		c := newCached(t, a, small(t, WithReserveAhead(15*time.Second))...)
		if got, failed, err := live(t, c, time.Minute); got < 60*400 || failed > 0 {
			t.Errorf("%d UIDs in a minute, %d calls failed, %v", got, failed, err)
		}
		if hung.Load() != 1 || late.Load() != 0 {
			t.Errorf("%d times Reserve hung, %d times it was called, or went on, after Release", hung.Load(), late.Load())
		}
	})
}

// ordinal is an assigner of one worker ID in disjoint spans, where each lease ends the one
// before it: as a store with an ordinal for each host has them.
type ordinal struct {
	mu      sync.Mutex
	written time.Time // no time at or after it was granted
	latest  int64
	fail    bool // Reserve of an ended lease fails; else it grants nothing more
	ended   int  // how often that was
}

var errEnded = errors.New("the lease was ended by a later one")

func (o *ordinal) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.latest++
	n, granted := o.latest, o.written
	l := &made{id: 3, from: o.written}
	l.reserve = func(_ context.Context, until time.Time) (time.Time, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if n != o.latest {
			o.ended++
			if o.fail {
				return time.Time{}, errEnded
			}
			return granted, nil
		}
		if until.After(o.written) {
			o.written = until
		}
		granted = o.written
		return granted, nil
	}
	return l, nil
}

// A generator on such a store gives out the layout's rate at its bound, with rollovers, which
// gain nothing, as without.
func TestInvariant1LeasesThatEndOthers(t *testing.T) {
	for _, rollover := range []bool{true, false} {
		for _, fail := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				o := &ordinal{fail: fail}
				c := newCached(t, o, small(t, WithRollover(rollover))...)
				got, failed, err := live(t, c, 5*time.Minute)
				if got < 300*16*9/10 || got > 320*16 {
					t.Errorf("rollover %v, fail %v: %d UIDs in five minutes, %d are wanted; %d calls failed, %v",
						rollover, fail, got, 310*16, failed, err)
				}
				c.Close()
				if rollover != (o.ended > 0) {
					t.Errorf("rollover %v: %d leases were ended by another", rollover, o.ended)
				}
			})
		}
	}
}

// An assigner that always has the same worker ID is not asked again and again.
func TestRolloverThatGainsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &maker{make: func(context.Context, int64) (workerassign.Lease, error) { return &made{id: 9}, nil }}
		c := newCached(t, a, small(t)...)
		if got, _, err := live(t, c, time.Minute); got < 60*16 || got > 80*16 {
			t.Errorf("%d UIDs in a minute, %v", got, err)
		}
		if a.asked.Load() != 2 || c.Stats().Rollovers != 0 {
			t.Errorf("Assign was called %d times, %d rollovers", a.asked.Load(), c.Stats().Rollovers)
		}
	})
}

// A lease that is lost, as by an expiry that went unnoticed, is changed for another.
func TestLostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Bool
		a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &made{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
				if n == 1 && lost.Load() {
					return time.Time{}, errEnded
				}
				return until, nil
			}}, nil
		}}
		c := newCached(t, a, small(t, WithMaxBorrow(time.Hour))...)
		next(t, c)
		lost.Store(true)
		time.Sleep(time.Minute)
		if got, failed, err := live(t, c, 10*time.Second); got < 10*16 || failed > 1 {
			t.Errorf("%d UIDs, %d calls failed, %v", got, failed, err)
		}
		if st := c.Stats(); st.WorkerID != 2 || st.LastError != nil {
			t.Errorf("Stats() = %+v", st)
		}
	})
}

// expiring is an assigner of leases that are lost when they are not extended in time.
func expiring(silently bool) *maker {
	return &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
		var mu sync.Mutex
		var granted time.Time
		return &made{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case granted.IsZero() || time.Now().Before(granted):
				granted = until
			case !silently:
				return time.Time{}, errEnded
			}
			return granted, nil
		}}, nil
	}}
}

// The next lease, which is taken long before it is needed, is extended as well as the one in use.
func TestNextLeaseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, expiring(false), WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 4)))
		failed := 0
		for begin := time.Now(); time.Since(begin) < 30*time.Minute; time.Sleep(5 * time.Millisecond) {
			if _, err := c.Next(); err != nil {
				failed++
			}
		}
		if st := c.Stats(); failed > 0 || st.Rollovers < 3 || st.WorkerID != int64(st.Rollovers)+1 {
			t.Errorf("%d takes failed of half an hour's; %+v", failed, st)
		}
	})
}

// A lease that expired while its process was stopped, and the next one with it, are both changed
// for a third, whether they say so or just grant nothing more.
func TestLostLeases(t *testing.T) {
	for _, silently := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a := expiring(silently)
			var down atomic.Bool
			working := a.make
			a.make = func(ctx context.Context, n int64) (workerassign.Lease, error) {
				l, _ := working(ctx, n)
				return &made{id: n, reserve: func(ctx context.Context, until time.Time) (time.Time, error) {
					if down.Load() {
						return time.Time{}, errors.New("the store is down")
					}
					return l.Reserve(ctx, until)
				}}, nil
			}
			c := newCached(t, a, small(t, WithRolloverInterval(time.Minute))...)
			for range 16 * 8 { // far enough to have the next one at hand
				next(t, c)
			}
			synctest.Wait()
			down.Store(true)
			time.Sleep(10 * time.Minute)
			down.Store(false)
			time.Sleep(time.Minute)
			if got, failed, err := live(t, c, time.Minute); got < 60*16 {
				t.Errorf("silently %v: %d UIDs in a minute after it, %d calls failed, %v", silently, got, failed, err)
			}
		})
	}
}

// A next lease that is of no use because it begins after the end of time is not the end of the
// lease in use.
func TestNextLeaseBeyondTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
			l := &made{id: 3}
			if n > 1 {
				l.from = workerassign.Unbounded()
			}
			return l, nil
		}}
		c := newCached(t, a, small(t)...)
		live(t, c, 10*time.Second)
		time.Sleep(time.Minute)
		for range 5 {
			time.Sleep(time.Second)
			if _, err := c.Next(); err != nil {
				t.Error(err)
			}
		}
	})
}

// What an assigner does wrong is an error: nothing of it ends the process.
func TestBadAssigners(t *testing.T) {
	nothing := func(context.Context, int64) (workerassign.Lease, error) { return nil, nil }
	for _, mode := range modes {
		for _, a := range []workerassign.Assigner{
			&maker{make: nothing}, workerassign.Divide(&maker{make: nothing}, 2), workerassign.Prefix(&maker{make: nothing}, 1, 2),
		} {
			refused(t, mode.name, mode.make, a, ErrLease, "neither a lease nor an error")
		}
		refused(t, mode.name, mode.make, &maker{make: func(context.Context, int64) (workerassign.Lease, error) { panic("boom") }},
			ErrLease, "panicked: boom")
	}
	good := func(_ context.Context, n int64) (workerassign.Lease, error) { return &made{id: n}, nil }
	for name, tt := range map[string]struct {
		bad  func(context.Context, int64) (workerassign.Lease, error)
		want string
	}{
		"no lease":       {nothing, "neither a lease nor an error"},
		"Assign panics":  {func(context.Context, int64) (workerassign.Lease, error) { panic("boom") }, "panicked: boom"},
		"Reserve panics": {func(context.Context, int64) (workerassign.Lease, error) { return &made{reserve: panicking}, nil }, "panicked: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mended atomic.Bool
				a := &maker{make: func(ctx context.Context, n int64) (workerassign.Lease, error) {
					if n == 1 || mended.Load() {
						return good(ctx, n)
					}
					return tt.bad(ctx, n)
				}}
				c := newCached(t, a, small(t)...)
				_, failed, err := live(t, c, time.Minute)
				if failed == 0 || !errors.Is(err, ErrLease) {
					t.Errorf("%d failed, the last: %v", failed, err)
				}
				mended.Store(true)
				time.Sleep(leasing.MaxRetryPause)
				if _, failed, err := live(t, c, 10*time.Second); failed != 0 || c.Stats().Rollovers == 0 {
					t.Errorf("%d failed, %v", failed, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &made{id: n, release: func(context.Context) error { panic("boom") }}, nil
		}}, small(t)...)
		live(t, c, time.Second) // some are given back in the background
		if err := c.Close(); !errors.Is(err, ErrLease) {
			t.Errorf("Close() = %v", err)
		}
	})
}

// uncountable is a lease that panics when it is asked how many are left.
type uncountable struct{ made }

func (*uncountable) Remaining(int64) (remaining, all int64) { panic("boom") }

// A lease that cannot say how many worker IDs are left does not panic into a constructor, nor into
// what puts runs.
func TestLeaseThatCannotCount(t *testing.T) {
	for _, mode := range modes {
		refused(t, mode.name, mode.make, &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &uncountable{made{id: n}}, nil
		}}, ErrLease, "panicked: boom")
	}
}

func panicking(context.Context, time.Time) (time.Time, error) { panic("boom") }

// Times of a lease that lie however far off are no wrapped numbers.
func TestInvariant5FarLeases(t *testing.T) {
	far := []time.Time{time.Unix(1<<62, 0), time.Unix(math.MaxInt64, 0), time.Unix(1<<63-62135596801, 999999999), workerassign.Unbounded()}
	for _, opts := range [][]Option{{}, {WithTwitterLayout()}, {WithLayout(layout(t, 28, 2, 33))}} {
		for _, at := range far {
			for _, mode := range modes {
				g, err := mode.make(context.Background(), &maker{make: func(context.Context, int64) (workerassign.Lease, error) {
					return &made{id: 1, reserve: func(context.Context, time.Time) (time.Time, error) { return at, nil }}, nil
				}}, opts...)
				if err != nil {
					t.Fatal(err)
				}
				next(t, g)
				g.Close()
				if at == workerassign.Unbounded() && len(opts) == 0 {
					continue
				}
				refused(t, mode.name, mode.make, &maker{make: func(context.Context, int64) (workerassign.Lease, error) {
					return &made{id: 1, from: at}, nil
				}}, ErrTimeExhausted, "must not be used before", opts...)
			}
		}
	}
	// One that begins before the epoch has no floor.
	for _, mode := range modes {
		g, err := mode.make(context.Background(), &maker{make: func(context.Context, int64) (workerassign.Lease, error) {
			return &made{id: 1, from: time.Unix(math.MinInt64/2, 0)}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		next(t, g)
		g.Close()
	}
}

// hanging is an assigner of a lease whose Reserve can be made to hang.
func hanging(hangs *atomic.Bool) *maker {
	return &maker{make: func(context.Context, int64) (workerassign.Lease, error) {
		return &made{id: 1, reserve: func(ctx context.Context, until time.Time) (time.Time, error) {
			if hangs.Load() {
				<-ctx.Done()
				return time.Time{}, ctx.Err()
			}
			return until, nil
		}}, nil
	}}
}

// A call of the store that hangs, as on a dead connection, is given up after a while.
func TestStoreThatHangs(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			var hangs atomic.Bool
			g, err := mode.make(context.Background(), hanging(&hangs), small(t, WithRollover(false))...)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			next(t, g)
			hangs.Store(true)
			time.Sleep(time.Minute)
			if _, err := g.Next(); !errors.Is(err, ErrLease) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: Next() = %v", mode.name, err)
			}
			hangs.Store(false)
			time.Sleep(leasing.TryTimeout + leasing.MaxRetryPause)
			next(t, g)
		})
	}
}

// A Default generator asks one thing of a lease at a time, and not again and again where that
// fails or grants nothing; who waits for it is woken by Close.
func TestDefaultAsksSparingly(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		most int64
	}{"fails": {errEnded, 100}, "grants nothing": {nil, 100}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked, together atomic.Int64
				var granting atomic.Bool
				granting.Store(true)
				var granted time.Time
				d := newDefault(t, &maker{make: func(context.Context, int64) (workerassign.Lease, error) {
					var asking atomic.Int64
					return &made{id: 1, reserve: func(ctx context.Context, until time.Time) (time.Time, error) {
						if asking.Add(1) > 1 {
							together.Add(1)
						}
						defer asking.Add(-1)
						asked.Add(1)
						time.Sleep(time.Millisecond)
						if !granting.Load() {
							return granted, tt.err
						}
						granted = until
						return until, nil
					}}, nil
				}}, small(t)...)
				next(t, d)
				granting.Store(false)
				time.Sleep(10 * time.Second)
				asked.Store(0)
				var takers sync.WaitGroup
				for range 8 {
					takers.Go(func() {
						for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(time.Millisecond) {
							ctx, cancel := context.WithTimeout(context.Background(), time.Second)
							if id, err := d.NextContext(ctx); err == nil {
								t.Errorf("%v was not granted", d.Parse(id))
							}
							cancel()
						}
					})
				}
				takers.Wait()
				if asked.Load() > tt.most || together.Load() > 0 {
					t.Errorf("asked %d times in 10 s, at most %d are wanted; %d times together", asked.Load(), tt.most, together.Load())
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		d := newDefault(t, hanging(&hangs), small(t)...)
		hangs.Store(true)
		time.Sleep(5 * time.Second)
		time.AfterFunc(time.Second, func() { d.Close() })
		if id, err := d.Next(); err != ErrClosed || id != 0 {
			t.Errorf("Next() = %d, %v; want ErrClosed", id, err)
		}
	})
}

// When the worker bits are used up by rollovers there is no other to ask for, and nobody asks.
func TestWorkerBitsSpentByRollovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(numbers)
		c := newCached(t, a, small(t, WithLayout(layout(t, 31, 2, 4)))...)
		_, failed, err := live(t, c, 10*time.Minute)
		if failed == 0 || !errors.Is(err, ErrLease) || !errors.Is(err, ErrWorkerID) {
			t.Errorf("%d failed, the last: %v", failed, err)
		}
		if got := a.next.Load(); got != 4 {
			t.Errorf("%d worker IDs were assigned, want 1 to 3, and one that does not fit", got)
		}
		if got, _, _ := live(t, c, time.Minute); got < 60*16*9/10 {
			t.Errorf("%d UIDs in a minute at the bound", got)
		}
	})
}

// Leases that cannot be given back are all waited for together.
func TestCloseTakesNotLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &made{id: n, release: func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}}, nil
		}}, small(t)...)
		for c.Stats().Rollovers == 0 || c.leases.Next() == nil {
			next(t, c)
			synctest.Wait()
		}
		begin := time.Now()
		if err := c.Close(); !errors.Is(err, ErrLease) || time.Since(begin) > leasing.ReleaseTimeout {
			t.Errorf("Close() = %v, after %v", err, time.Since(begin))
		}
	})
}

// The end of the time bits stays the end, until Close, wherever the wall clock goes.
func TestD2TheEndStays(t *testing.T) {
	for _, policy := range []RollbackPolicy{RideOut(), WaitOut(time.Hour), Refuse()} {
		for _, l := range []struct{ time, worker, sequence int }{{4, 3, 4}, {1, 1, 61}} {
			fake := fakeclock.New(noon)
			d := newDefault(t, new(numbers), WithClock(fake), WithEpoch(noon.Truncate(time.Second)), WithRollback(policy),
				WithLayout(layout(t, l.time, l.worker, l.sequence)))
			next(t, d)
			fake.Advance(time.Hour)
			for _, step := range []time.Duration{0, -time.Hour, -48 * time.Hour, 48 * time.Hour} {
				fake.Step(step)
				if id, err := d.Next(); !errors.Is(err, ErrTimeExhausted) || id != 0 {
					t.Errorf("%v, after a step of %v: Next() = %d, %v", policy, step, id, err)
				}
			}
			d.Close()
			if id, err := d.Next(); err != ErrClosed || id != 0 {
				t.Errorf("Next() = %d, %v, want ErrClosed", id, err)
			}
		}
	}
}

// Who runs into the last year is warned in it, and once, as well as who starts in it.
func TestD2WarnsWhileRunning(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			g, err := mode.make(context.Background(), new(numbers), WithEpoch(bubbleEpoch), WithLayout(layout(t, 25, 20, 4)), // 388 days
				WithLogger(slog.New(slog.NewTextHandler(&log, nil))), WithScheduleInterval(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			warnings := func() int { return strings.Count(log.String(), "the time bits end in less than a year") }
			next(t, g)
			time.Sleep(20 * 24 * time.Hour)
			next(t, g)
			if n := warnings(); n != 0 {
				t.Errorf("%s: %d warnings more than a year before", mode.name, n)
			}
			for range 10 {
				time.Sleep(24 * time.Hour)
				next(t, g)
			}
			g.Close()
			if n := warnings(); n != 1 {
				t.Errorf("%s: %d warnings", mode.name, n)
			}
		})
	}
}

// UIDs are positive: worker ID 0 in the first unit of the epoch has one fewer.
func TestInvariant5NoUIDIsZero(t *testing.T) {
	for _, mode := range modes {
		fake := fakeclock.New(noon.Truncate(time.Second))
		g, err := mode.make(context.Background(), &maker{make: func(context.Context, int64) (workerassign.Lease, error) {
			return &made{id: 0}, nil
		}}, WithClock(fake), WithEpoch(fake.Now()), WithLayout(layout(t, 31, 2, 4)))
		if err != nil {
			t.Fatal(err)
		}
		for want := ID(1); want < 16; want++ {
			if id := next(t, g); id != want {
				t.Errorf("%s: %d, want %d", mode.name, id, want)
			}
		}
		if n := stats(g).Issued; n != 15 {
			t.Errorf("%s: Stats().Issued = %d of 15", mode.name, n)
		}
		fake.Advance(time.Second)
		if p := g.Parse(next(t, g)); p.Delta != 1 || p.Sequence != 0 || stats(g).Issued != 16 {
			t.Errorf("%s: %v, %d issued", mode.name, p, stats(g).Issued)
		}
		g.Close()
	}
}

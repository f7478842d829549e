package uid

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// callback is a log handler that calls a function for each record.
type callback struct {
	slog.Handler
	f func(r slog.Record)
}

func (h callback) Handle(ctx context.Context, r slog.Record) error {
	h.f(r)
	return h.Handler.Handle(ctx, r)
}

func (h callback) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h callback) WithGroup(string) slog.Handler      { return h }

// withCallback makes a generator log to a function.
func withCallback(f func(r slog.Record)) Option {
	return WithLogger(slog.New(callback{slog.NewTextHandler(new(bytes.Buffer), nil), f}))
}

// policies are the take policies that come with the library.
var policies = []TakePolicy{CallerPads, Wait, Fail}

// A log handler that numbers its records by UIDs of the generator neither hangs it nor its Close.
func TestLogHandlerTakesUIDs(t *testing.T) {
	for _, mode := range modes {
		for _, policy := range policies {
			synctest.Test(t, func(t *testing.T) {
				var g atomic.Pointer[Generator]
				var numbered atomic.Int64
				var fail atomic.Bool
				a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
					if n > 1 && fail.Load() {
						return nil, errors.New("down")
					}
					return &made{id: n}, nil
				}}
				made, err := mode.make(context.Background(), a, small(t, WithTakePolicy(policy), WithRollback(Refuse()),
					withCallback(func(slog.Record) {
						if g := g.Load(); g != nil {
							if _, err := (*g).Next(); err == nil {
								numbered.Add(1)
							}
						}
					}))...)
				if err != nil {
					t.Fatal(err)
				}
				g.Store(&made)
				for round := range 20 {
					fail.Store(round%2 == 1)
					for range 500 {
						ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
						made.(interface {
							NextContext(context.Context) (ID, error)
						}).NextContext(ctx)
						cancel()
						if mode.name == "Cached" {
							time.Sleep(time.Millisecond)
						}
					}
					time.Sleep(5 * time.Second)
				}
				if c, ok := made.(*Cached); ok && (numbered.Load() == 0 || c.Stats().Rollovers == 0) {
					t.Errorf("%v: %d records were numbered, %d rollovers", policy, numbered.Load(), c.Stats().Rollovers)
				}
				if err := made.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A log handler that panics ends nothing, and one that blocks stops nobody but itself.
func TestLogHandlerPanicsOrBlocks(t *testing.T) {
	for name, do := range map[string]func(){
		"panics": func() { panic("handler") },
		"blocks": func() { time.Sleep(time.Hour) },
	} {
		for _, policy := range policies {
			synctest.Test(t, func(t *testing.T) {
				var logged atomic.Int64
				var fail atomic.Bool
				a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
					if fail.Load() {
						panic("assigner")
					}
					return &made{id: n}, nil
				}}
				c := newCached(t, a, small(t, WithTakePolicy(policy), withCallback(func(slog.Record) {
					logged.Add(1)
					do()
				}))...)
				fail.Store(true)
				live(t, c, time.Minute)
				fail.Store(false)
				live(t, c, time.Minute)
				if got, failed, err := live(t, c, time.Minute); got < 60*16 || policy != Fail && failed > 0 {
					t.Errorf("%s, %v: %d UIDs in a minute, %d calls failed, %v", name, policy, got, failed, err)
				}
				if logged.Load() == 0 || c.Stats().Rollovers == 0 {
					t.Errorf("%s, %v: %d records, %d rollovers", name, policy, logged.Load(), c.Stats().Rollovers)
				}
				begin := time.Now()
				if err := c.Close(); err != nil || time.Since(begin) > 2*closeWait {
					t.Errorf("%s, %v: Close() = %v after %v", name, policy, err, time.Since(begin))
				}
				time.Sleep(100 * time.Hour) // the handler's own, an hour for each record
			})
		}
	}
}

// reentrantClock takes a UID of the generator at each reading.
type reentrantClock struct {
	*fakeclock.Clock
	g      atomic.Pointer[Cached]
	inside atomic.Bool
	taken  atomic.Int64
}

func (c *reentrantClock) Now() time.Time {
	if g := c.g.Load(); g != nil && !c.inside.Swap(true) {
		if _, err := g.Next(); err == nil {
			c.taken.Add(1)
		}
		c.inside.Store(false)
	}
	return c.Clock.Now()
}

// A clock that takes UIDs, as no clock should, is not read under a lock.
func TestClockTakesUIDs(t *testing.T) {
	clock := &reentrantClock{Clock: fakeclock.New(noon)}
	c := newCached(t, new(numbers), WithClock(clock), WithLayout(layout(t, 31, 20, 4)), WithBoostPower(0), WithScheduleInterval(0))
	clock.g.Store(c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 2_000 {
					next(t, c)
				}
			})
		}
		all.Wait()
		c.Close()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it hangs")
	}
	if clock.taken.Load() == 0 {
		t.Error("the clock took nothing")
	}
}

// Close that is called from within what the generator calls comes to an end, and so does the one
// beside it; it says that it did not wait.
func TestCloseFromWithin(t *testing.T) {
	for _, mode := range modes {
		for _, from := range []string{"Reserve", "Assign", "Release", "the logger"} {
			t.Run(mode.name+"/"+from, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var g atomic.Pointer[Generator]
					var within atomic.Pointer[error]
					shut := func(where string) {
						if made := g.Load(); made != nil && where == from && within.Load() == nil {
							err := (*made).Close()
							within.Store(&err)
						}
					}
					a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
						shut("Assign")
						return &made{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
							if g.Load() == nil {
								return time.Now().Add(2 * time.Second), nil
							}
							shut("Reserve")
							return time.Time{}, errEnded
						}, release: func(context.Context) error {
							shut("Release")
							return nil
						}}, nil
					}}
					made, err := mode.make(context.Background(), a, small(t, withCallback(func(slog.Record) { shut("the logger") }))...)
					if err != nil {
						t.Fatal(err)
					}
					g.Store(&made)
					for range 1_000 {
						ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
						made.(interface {
							NextContext(context.Context) (ID, error)
						}).NextContext(ctx)
						cancel()
					}
					begin := time.Now()
					made.Close()
					if took := time.Since(begin); took > 2*closeWait {
						t.Errorf("Close took %v", took)
					}
					time.Sleep(time.Minute)
					switch err := within.Load(); {
					case err == nil:
						t.Error("Close was not called from within, or hangs there")
					case *err != nil && !errors.Is(*err, ErrBusy):
						t.Errorf("Close from within returned %v", *err)
					}
					if _, err := made.Next(); err != ErrClosed {
						t.Errorf("after Close Next() = %v", err)
					}
				})
			})
		}
	}
}

// An assigner that calls runtime.Goexit, as a mock does that fails its test, has failed that try: the next
// one follows, and Close waits for nothing.
func TestAssignerEndsItsGoroutine(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			var ends, ended atomic.Int64
			exit := func() {
				if ends.Add(-1) >= 0 {
					ended.Add(1)
					runtime.Goexit()
				}
			}
			a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
				exit()
				return &made{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
					exit()
					if n == 1 && ended.Load() >= 3 {
						return time.Time{}, errEnded
					}
					return until, nil
				}}, nil
			}}
			g, err := mode.make(context.Background(), a, small(t, WithReserveAhead(time.Second))...)
			if err != nil {
				t.Fatal(err)
			}
			first := g.Parse(next(t, g))
			ends.Store(6) // of Reserve, and then of Assign too
			for deadline := time.Now().Add(time.Minute); g.Parse(first.ID).WorkerID == first.WorkerID; time.Sleep(time.Second) {
				id, err := g.Next()
				if err == nil && g.Parse(id).WorkerID != first.WorkerID {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s: after %d ended goroutines Next() = %v", mode.name, ended.Load(), err)
				}
			}
			ends.Store(1)
			time.Sleep(time.Minute)
			if err := g.Close(); err != nil {
				t.Errorf("%s: Close() = %v", mode.name, err)
			}
		})
	}
}

// counter is an assigner whose leases call a function when they are asked how many are left.
type counter struct {
	numbers
	remaining func()
}

func (a *counter) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	l, err := a.numbers.Assign(ctx, r)
	return countedLease{l, a.remaining}, err
}

type countedLease struct {
	workerassign.Lease
	remaining func()
}

func (l countedLease) Remaining(int64) (n, all int64) {
	l.remaining()
	return 1000, 1000
}

// Remaining of a lease is called where it may take UIDs, and where its panic is an error.
func TestRemainingIsTheUsersCode(t *testing.T) {
	for _, mode := range modes {
		g, err := mode.make(context.Background(), &counter{remaining: func() { panic("boom") }})
		if !errors.Is(err, ErrLease) || g != nil {
			t.Errorf("%s: a lease whose Remaining panics: %v, want ErrLease", mode.name, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var g atomic.Pointer[Cached]
		var taken atomic.Int64
		c := newCached(t, &counter{remaining: func() {
			if c := g.Load(); c != nil {
				for range 100 { // more than the ring holds
					if _, err := c.Next(); err == nil {
						taken.Add(1)
					}
				}
			}
		}}, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 3)), WithMaxBorrow(time.Minute))
		g.Store(c)
		for range 2000 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			if _, err := c.NextContext(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
		if taken.Load() == 0 {
			t.Error("Remaining was not called")
		}
	})
}

package uid

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// Close returns when it is called from a callback of the generator, and reports there that it did not
// wait. So does a concurrent Close.
func TestCloseFromACallback(t *testing.T) {
	for _, mode := range modes {
		for _, from := range []string{"Reserve", "Assign", "Release", "the log handler"} {
			t.Run(mode.name+"/"+from, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var published atomic.Pointer[Generator]
					var callbackErr atomic.Pointer[error]
					closeIn := func(where string) {
						if g := published.Load(); g != nil && where == from && callbackErr.Load() == nil {
							err := (*g).Close()
							callbackErr.Store(&err)
						}
					}
					a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
						closeIn("Assign")
						return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
							if published.Load() == nil {
								return time.Now().Add(2 * time.Second), nil
							}
							closeIn("Reserve")
							return time.Time{}, errLeaseEnded
						}, release: func(context.Context) error {
							closeIn("Release")
							return nil
						}}, nil
					}}
					g, err := mode.make(context.Background(), a, smallOptions(t, logTo(func(slog.Record) { closeIn("the log handler") }))...)
					if err != nil {
						t.Fatal(err)
					}
					published.Store(&g)
					for range 1_000 {
						ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
						g.NextContext(ctx)
						cancel()
					}
					begin := time.Now()
					g.Close()
					if took := time.Since(begin); took > 2*closeWait {
						t.Errorf("Close took %v", took)
					}
					time.Sleep(time.Minute)
					switch err := callbackErr.Load(); {
					case err == nil:
						t.Error("Close was not called from the callback, or hangs there")
					case *err != nil && !errors.Is(*err, ErrBusy):
						t.Errorf("Close from the callback returned %v", *err)
					}
					if _, err := g.Next(); err != ErrClosed {
						t.Errorf("after Close Next() = %v", err)
					}
				})
			})
		}
	}
}

// Close returns ErrBusy if the clock hangs in a scheduled padding.
func TestCloseWhileClockHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &hookedClock{Clock: fakeclock.New(noon)}
		c := newCached(t, new(disposableAssigner), WithClock(clock), WithScheduleInterval(time.Second))
		goOn := make(chan struct{})
		hang := func() { <-goOn }
		clock.hook.Store(&hang)
		time.Sleep(2 * time.Second)
		if err := c.Close(); !errors.Is(err, ErrBusy) {
			t.Errorf("Close() = %v, want ErrBusy", err)
		}
		close(goOn)
	})
}

// Close works, or returns an error in bounded time, when it is called from Reserve, Release, Assign or
// the log handler. Background work ends after the callback has returned.
func TestDefaultCloseFromACallback(t *testing.T) {
	for _, from := range []string{"Reserve", "Release", "Assign", "the log handler"} {
		synctest.Test(t, func(t *testing.T) {
			var d *Default
			var armed atomic.Bool
			var inner atomic.Bool
			release := make(chan struct{})
			call := func(where string) {
				if where == from && armed.Load() && !inner.Load() {
					begin := time.Now()
					err := d.Close()
					if err != nil && !errors.Is(err, ErrBusy) {
						t.Errorf("from %s Close() = %v", from, err)
					}
					if took := time.Since(begin); took > closeWait {
						t.Errorf("from %s Close took %v", from, took)
					}
					if !inner.Swap(true) {
						close(release)
					}
				}
			}
			a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
				if n > 1 {
					call("Assign")
				}
				return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
					if armed.Load() {
						call("Reserve")
						return time.Time{}, errLeaseEnded
					}
					return until, nil
				}, release: func(context.Context) error {
					call("Release")
					return nil
				}}, nil
			}}
			d = newDefault(t, a, smallOptions(t, logTo(func(slog.Record) { call("the log handler") }))...)
			next(t, d)
			time.Sleep(time.Minute)
			armed.Store(true)
			if from == "Release" {
				go d.Close()
			} else {
				d.Next()
				d.Next()
			}
			<-release
			synctest.Wait()
			if err := d.Close(); err != nil {
				t.Errorf("after a Close from %s Close() = %v", from, err)
			}
			if _, err := d.Next(); err != ErrClosed {
				t.Errorf("Next() = %v, want ErrClosed", err)
			}
		})
	}
}

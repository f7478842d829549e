package uid

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leaktest"
	"github.com/ringuid/ringuid/workerassign"
)

// Close that is called from within what the generator calls comes to an end, and so does the one
// beside it; it says that it did not wait.
func TestCloseFromACallback(t *testing.T) {
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
					a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
						shut("Assign")
						return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
							if g.Load() == nil {
								return time.Now().Add(2 * time.Second), nil
							}
							shut("Reserve")
							return time.Time{}, errLeaseEnded
						}, release: func(context.Context) error {
							shut("Release")
							return nil
						}}, nil
					}}
					made, err := mode.make(context.Background(), a, smallOptions(t, withCallback(func(slog.Record) { shut("the logger") }))...)
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

// Close works, or returns an error in bounded time, wherever it is called from: Reserve, Release,
// Assign, and the log handler. Everything ends when the caller has returned.
func TestDefaultCloseFromACallback(t *testing.T) {
	for _, from := range []string{"Reserve", "Release", "Assign", "the log"} {
		synctest.Test(t, func(t *testing.T) {
			leaktest.Check(t)
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
			handler := handlerFunc(func(slog.Record) { call("the log") })
			d = newDefault(t, a, smallOptions(t, WithLogger(slog.New(handler)))...)
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
				t.Errorf("after it was called from %s Close() = %v", from, err)
			}
			if _, err := d.Next(); err != ErrClosed {
				t.Errorf("Next() = %v, want ErrClosed", err)
			}
		})
	}
}

package uid

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

func (h callback) WithGroup(string) slog.Handler { return h }

// withCallback makes a generator log to a function.
func withCallback(f func(r slog.Record)) Option {
	return WithLogger(slog.New(callback{slog.NewTextHandler(new(bytes.Buffer), nil), f}))
}

// A log handler that numbers its records by UIDs of the generator neither hangs it nor its Close.
func TestLogHandlerTakesUIDs(t *testing.T) {
	for _, mode := range modes {
		for _, policy := range takePolicies {
			synctest.Test(t, func(t *testing.T) {
				var g atomic.Pointer[Generator]
				var numbered atomic.Int64
				var fail atomic.Bool
				a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
					if n > 1 && fail.Load() {
						return nil, errors.New("down")
					}
					return &fakeLease{id: n}, nil
				}}
				made, err := mode.make(context.Background(), a, smallOptions(t, WithTakePolicy(policy), WithRollback(Refuse()),
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
		for _, policy := range takePolicies {
			synctest.Test(t, func(t *testing.T) {
				var logged atomic.Int64
				var fail atomic.Bool
				a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
					if fail.Load() {
						panic("assigner")
					}
					return &fakeLease{id: n}, nil
				}}
				c := newCached(t, a, smallOptions(t, WithTakePolicy(policy), withCallback(func(slog.Record) {
					logged.Add(1)
					do()
				}))...)
				fail.Store(true)
				takeFor(t, c, time.Minute)
				fail.Store(false)
				takeFor(t, c, time.Minute)
				if got, failed, err := takeFor(t, c, time.Minute); got < 60*16 || policy != Fail && failed > 0 {
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

// A log handler may take UIDs, and may panic, in every record that a Default generator writes.
func TestDefaultLogHandlerTakesUIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d *Default
		var taken, records atomic.Int64
		handler := handlerFunc(func(slog.Record) {
			records.Add(1)
			if _, err := d.Next(); err == nil {
				taken.Add(1)
			}
			d.Stats()
			panic("the disk is full")
		})
		clock := new(bubbleClock)
		a := newExpiringAssigner(false)
		d = newDefault(t, a, smallOptions(t, WithClock(clock), WithLayout(layout(t, 25, 20, 4)), WithLogger(slog.New(handler)))...)
		next(t, d)
		clock.set(-time.Hour)
		time.Sleep(2 * time.Second)
		next(t, d)
		time.Sleep(30 * 24 * time.Hour) // the lease is lost, and the end is a year ahead
		next(t, d)
		d.cfg.log.Flush(time.Minute)
		if taken.Load() < 3 || d.Stats().Rollbacks != 1 || d.Stats().Rollovers != 1 {
			t.Errorf("%d records, %d UIDs were taken by the handler; %+v", records.Load(), taken.Load(), d.Stats())
		}
	})
}

package uid

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// A log handler may take a UID for each record: neither the generator nor Close hangs.
func TestLogHandlerTakesUIDs(t *testing.T) {
	for _, mode := range modes {
		for _, policy := range takePolicies {
			synctest.Test(t, func(t *testing.T) {
				var published atomic.Pointer[Generator]
				var taken atomic.Int64
				var fail atomic.Bool
				a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
					if n > 1 && fail.Load() {
						return nil, errors.New("down")
					}
					return &fakeLease{id: n}, nil
				}}
				g, err := mode.make(context.Background(), a, smallOptions(t, WithTakePolicy(policy), WithRollback(Refuse()),
					logTo(func(slog.Record) {
						if g := published.Load(); g != nil {
							if _, err := (*g).Next(); err == nil {
								taken.Add(1)
							}
						}
					}))...)
				if err != nil {
					t.Fatal(err)
				}
				published.Store(&g)
				for round := range 20 {
					fail.Store(round%2 == 1)
					for range 500 {
						ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
						g.NextContext(ctx)
						cancel()
						if mode.name == "Cached" {
							time.Sleep(time.Millisecond)
						}
					}
					time.Sleep(5 * time.Second)
				}
				if c, ok := g.(*Cached); ok && (taken.Load() == 0 || c.Stats().Rollovers == 0) {
					t.Errorf("%v: the handler took %d UIDs; %d rollovers", policy, taken.Load(), c.Stats().Rollovers)
				}
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A log handler that blocks does not affect the generator.
func TestLogHandlerBlocks(t *testing.T) {
	seconds := testkit.Amount(20, 60, 60)
	for _, policy := range takePolicies {
		synctest.Test(t, func(t *testing.T) {
			var logged atomic.Int64
			var fail atomic.Bool
			a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
				if fail.Load() {
					return nil, errors.New("down")
				}
				return &fakeLease{id: n}, nil
			}}
			c := newCached(t, a, smallOptions(t, WithTakePolicy(policy), logTo(func(slog.Record) {
				logged.Add(1)
				time.Sleep(time.Hour)
			}))...)
			fail.Store(true)
			takeFor(t, c, 30*time.Second)
			fail.Store(false)
			takeFor(t, c, 20*time.Second)
			if got, failed, err := takeFor(t, c, time.Duration(seconds)*time.Second); got < seconds*16 || policy != Fail && failed > 0 {
				t.Errorf("%v: %d UIDs in %d s, %d calls failed, %v", policy, got, seconds, failed, err)
			}
			if logged.Load() == 0 || c.Stats().Rollovers == 0 {
				t.Errorf("%v: %d records, %d rollovers", policy, logged.Load(), c.Stats().Rollovers)
			}
			begin := time.Now()
			if err := c.Close(); err != nil || time.Since(begin) > 2*closeWait {
				t.Errorf("%v: Close() = %v after %v", policy, err, time.Since(begin))
			}
			time.Sleep(100 * time.Hour) // for the handler, which blocks for an hour per record
		})
	}
}

// A log handler may take a UID at each record of a Default generator.
func TestDefaultLogHandlerTakesUIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d *Default
		var taken, records atomic.Int64
		handler := func(slog.Record) {
			records.Add(1)
			if _, err := d.Next(); err == nil {
				taken.Add(1)
			}
			d.Stats()
		}
		clock := new(bubbleClock)
		a := newExpiringAssigner(false)
		d = newIdleDefault(t, a, smallOptions(t, WithClock(clock), WithLayout(layout(t, 25, 20, 4)), logTo(handler))...)
		next(t, d)
		clock.set(-time.Hour)
		time.Sleep(2 * time.Second)
		next(t, d)
		time.Sleep(30 * 24 * time.Hour) // the lease is lost, and less than a year remains before the end of the time bits
		next(t, d)
		d.cfg.log.Flush(time.Minute)
		if taken.Load() < 3 || d.Stats().Rollbacks != 1 || d.Stats().Rollovers != 1 {
			t.Errorf("%d records; the handler took %d UIDs; %+v", records.Load(), taken.Load(), d.Stats())
		}
	})
}

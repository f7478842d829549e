package redisstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// calls returns how many scripts the server has run.
func calls(s *redistest.Server) (n int64) {
	for line := range strings.Lines(s.MustCommand("INFO", "commandstats")) {
		for _, name := range []string{"cmdstat_evalsha:calls=", "cmdstat_eval:calls="} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				var calls int64
				fmt.Sscan(strings.SplitN(rest, ",", 2)[0], &calls)
				n += calls
			}
		}
	}
	return n
}

// What the store costs, and five million UIDs per second: see the parts.
func TestMeasure(t *testing.T) {
	fleettest.NeedsMeasure(t)
	server := redistest.Start(t)
	target := fleettest.Target{
		Name: "Redis " + server.Info("redis_version"),
		Open: func(pool string) recycled.Store {
			c := goredis.NewClient(&goredis.Options{Addr: server.Address(), PoolSize: 8, PoolTimeout: time.Minute})
			t.Cleanup(func() { c.Close() })
			return redisstore.New(c, redisstore.WithPool(pool))
		},
		Statements: func() int64 { return calls(server) },
		Statement:  "scripts",
		Load:       5_000_000,
	}
	fleettest.Measure(t, target, fleettest.Assigns, fleettest.Starts, fleettest.Upkeep, fleettest.Sustained)
}

// BenchmarkRead measures queries on a pool of 10,000 slots.
func BenchmarkRead(b *testing.B) {
	s, _, _ := newStore(b)
	createPool(b, s, 10_000)
	for name, q := range map[string]recycled.Query{
		"one": {WorkerIDs: []int64{77}}, "free 16": {Free: 16}, "free 1024": {Free: 1024}, "name": {Name: "x"}, "all": {All: true},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				slottest.Read(b, s, q)
			}
		})
	}
}

// BenchmarkAssign measures Assign, Reserve and Release on a pool of 10,000 slots.
func BenchmarkAssign(b *testing.B) {
	s, _, _ := newStore(b)
	createPool(b, s, 10_000)
	a := recycled.New(s)
	req := workerassign.Request{Format: "f", MaxWorkerID: 9999, Logger: slog.New(slog.DiscardHandler)}
	ctx := context.Background()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			l, err := a.Assign(ctx, req)
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := l.Reserve(ctx, time.Now().Add(time.Second)); err != nil {
				b.Error(err)
			}
			if err := l.Release(ctx, time.Now()); err != nil {
				b.Error(err)
			}
		}
	})
}

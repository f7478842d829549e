package redis_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/stores/redis"
	"github.com/ringuid/ringuid/workerassign"
)

// calls returns how many scripts the server has run.
func calls(s *redistest.Server) (n int) {
	for line := range strings.Lines(s.MustCommand("INFO", "commandstats")) {
		for _, name := range []string{"cmdstat_evalsha:calls=", "cmdstat_eval:calls="} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				var calls int
				fmt.Sscan(strings.SplitN(rest, ",", 2)[0], &calls)
				n += calls
			}
		}
	}
	return n
}

// Many hosts start at the same time, first on an empty pool, then on one with enough free slots. Each gets a
// worker ID of its own. RINGUID_TEST_HOSTS is the number of hosts.
func TestManyStarts(t *testing.T) {
	hosts := 300
	if text := os.Getenv("RINGUID_TEST_HOSTS"); text != "" {
		var err error
		if hosts, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	server := redistest.Start(t)
	c := goredis.NewClient(&goredis.Options{Addr: server.Address(), PoolSize: 100, PoolTimeout: time.Minute})
	defer c.Close()
	s := redis.New(c)
	req := request()
	req.MaxWorkerID = 1<<20 - 1
	for _, pool := range []string{"empty", "with free slots"} {
		leases := make([]workerassign.Lease, hosts)
		took := make([]time.Duration, hosts)
		before, begin := calls(server), time.Now()
		var starting sync.WaitGroup
		for n := range hosts {
			starting.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
				defer cancel()
				var err error
				if leases[n], err = workerassign.NewRecycled(s, workerassign.WithNewPool()).Assign(ctx, req); err != nil {
					t.Error(err)
					return
				}
				took[n] = time.Since(begin)
				if _, err := leases[n].Reserve(ctx, time.Now().Add(time.Hour)); err != nil { // otherwise it may be taken after a grace
					t.Error(err)
				}
			})
		}
		starting.Wait()
		if t.Failed() {
			return
		}
		slices.Sort(took)
		used := map[int64]bool{}
		for _, l := range leases {
			used[l.WorkerID()] = true
		}
		state := read(t, s, workerassign.SlotQuery{})
		t.Logf("a pool that is %s: %d hosts have leases after %v (half of them after %v), with %.1f calls each; the pool has %d slots",
			pool, hosts, took[hosts-1], took[hosts/2], float64(calls(server)-before)/float64(hosts), state.Pool.Slots)
		if len(used) != hosts {
			t.Errorf("%d worker IDs for %d hosts", len(used), hosts)
		}
		for _, l := range leases {
			starting.Go(func() {
				if err := l.Release(context.Background(), time.Time{}); err != nil {
					t.Error(err)
				}
			})
		}
		starting.Wait()
	}
}

// BenchmarkRead measures queries on a pool of 10,000 slots.
func BenchmarkRead(b *testing.B) {
	s, _, _ := newStore(b)
	createPool(b, s, 10_000)
	for name, q := range map[string]workerassign.SlotQuery{
		"one": {WorkerIDs: []int64{77}}, "free 16": {Free: 16}, "free 1024": {Free: 1024}, "name": {Name: "x"}, "all": {All: true},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				read(b, s, q)
			}
		})
	}
}

// BenchmarkAssign measures Assign, Reserve and Release on a pool of 10,000 slots.
func BenchmarkAssign(b *testing.B) {
	s, _, _ := newStore(b)
	createPool(b, s, 10_000)
	a := workerassign.NewRecycled(s)
	req := workerassign.Request{Format: "f", MaxWorkerID: 9999, Logger: discard()}
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

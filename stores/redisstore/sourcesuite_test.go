package redisstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/internal/testserver"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/redisstore"
)

// newProxy returns a proxy to a server.
func newProxy(t *testing.T, address string) *testserver.Proxy {
	p := testserver.NewProxy(t, address)
	p.OneReply = true
	return p
}

// The store fulfils the contract of segment.Source and segment.Creator, on a primary with two replicas, behind a proxy.
func TestSourceSuite(t *testing.T) {
	t.Parallel()
	servers := startReplicated(redistest.Start(t, "--appendfsync", "always")) // what was acknowledged is there after a kill
	p := newProxy(t, servers.primary.Address())
	pools, pool := 0, ""
	client := func(tb testing.TB) segment.Creator {
		return redisstore.New(connect(tb, p.Address()), redisstore.WithPool(pool))
	}
	segmenttest.Run(t, segmenttest.Harness{
		New: func(tb testing.TB) segment.Creator {
			pools++
			pool = fmt.Sprint("pool-", pools)
			servers.declare(pool)
			return client(tb)
		},
		Client: client,
		Faults: segmenttest.Faults{
			Kill:        func(testing.TB) { servers.primary.Kill() },
			Start:       func(testing.TB) { servers.restart() },
			Pause:       func(testing.TB) { servers.primary.Pause() },
			Resume:      func(testing.TB) { servers.primary.Resume() },
			LoseReplies: p.LoseReplies,
			LoseWrites: func(_ testing.TB, write func()) {
				servers.loseWrites(write)
				p.SetTarget(servers.primary.Address())
			},
			LoseWritesUnnoticed: func(tb testing.TB, write func()) {
				c, ctx := connect(tb, servers.primary.Address()), context.Background()
				dump, err := c.Dump(ctx, tagsKey(pool)).Result()
				if err != nil {
					tb.Fatal(err)
				}
				write()
				if err := c.RestoreReplace(ctx, tagsKey(pool), 0, dump).Err(); err != nil {
					tb.Fatal(err)
				}
			},
			SetCounter: func(tb testing.TB, tag string, next int64) {
				servers.primary.MustCommand("HSET", tagsKey(pool), "next:"+tag, fmt.Sprint(next))
			},
		},
	})
}

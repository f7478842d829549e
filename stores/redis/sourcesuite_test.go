package redis_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/internal/testserver"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/redis"
)

// newProxy returns a proxy to a server.
func newProxy(t *testing.T, address string) *testserver.Proxy {
	p := testserver.NewProxy(t, address)
	p.OneReply = true
	return p
}

// The store fulfils the contract of segment.Source and segment.Creator, on a primary with a replica, behind a proxy.
func TestSourceSuite(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := primary.Replica()
	p := newProxy(t, primary.Address())
	pools, pool := 0, ""
	client := func(tb testing.TB) segment.Creator {
		return redis.New(connect(tb, p.Address()), redis.WithPool(pool))
	}
	segmenttest.Run(t, segmenttest.Harness{
		New: func(tb testing.TB) segment.Creator {
			pools++
			pool = fmt.Sprint("pool-", pools)
			return client(tb)
		},
		Client: client,
		Faults: segmenttest.Faults{
			Kill: func(testing.TB) { primary.Kill() },
			Start: func(testing.TB) {
				primary.Restart()
				replica.WaitSynced(primary)
			},
			Pause:       func(testing.TB) { primary.Pause() },
			Resume:      func(testing.TB) { primary.Resume() },
			LoseReplies: p.LoseReplies,
			LoseWrites: func(_ testing.TB, write func()) {
				replica.WaitSynced(primary)
				replica.Disconnect()
				write()
				primary.Kill()
				replica.Promote()
				primary = replica
				replica = primary.Replica()
				p.SetTarget(primary.Address())
			},
			LoseWritesUnnoticed: func(tb testing.TB, write func()) {
				c, ctx := connect(tb, primary.Address()), context.Background()
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
				primary.MustCommand("HSET", tagsKey(pool), "next:"+tag, fmt.Sprint(next))
			},
		},
	})
}

package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/stores/storetest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
)

// harness starts a primary with two replicas, behind a proxy, and returns how to open stores and inject faults.
func harness(t *testing.T) storetest.Harness {
	servers := redistest.Start(t, "--appendfsync", "always").Replicate() // what was acknowledged is there after a kill
	p := newProxy(t, servers.Address())
	last := "" // the name of the store that was opened last
	kill, start := func(testing.TB) { servers.Kill() }, func(testing.TB) { servers.Restart() }
	pause, resume := func(testing.TB) { servers.Pause() }, func(testing.TB) { servers.Resume() }
	loseWrites := func(_ testing.TB, write func()) {
		servers.LoseWrites(write)
		p.SetTarget(servers.Address())
	}
	return storetest.Harness{
		New: func(tb testing.TB, name string) storetest.Store {
			if name != last { // as an operator can; otherwise the first writes need both replicas
				servers.MustCommand("HSET", hashKey(name), "servers", "3")
			}
			last = name
			return redisstore.New(connect(tb, p.Address()), redisstore.WithPool(name), redisstore.WithAcknowledgeTimeout(time.Minute))
		},
		Slots: assigntest.Faults{
			Kill: kill, Start: start, Pause: pause, Resume: resume, LoseWrites: loseWrites,
			LoseRequests: p.LoseRequests, LoseReplies: p.LoseReplies, DelayWrites: p.DelayRequests,
			StepClock: func(_ testing.TB, d time.Duration) { servers.StepClock(d) },
			StopClock: func(_ testing.TB, at time.Time) { servers.StopClock(at) },
		},
		Tags: segmenttest.Harness{Faults: segmenttest.Faults{
			Kill: kill, Start: start, Pause: pause, Resume: resume, LoseReplies: p.LoseReplies, LoseWrites: loseWrites,
			LoseWritesUnnoticed: func(tb testing.TB, write func()) {
				c, ctx := connect(tb, servers.Address()), context.Background()
				dump, err := c.Dump(ctx, tagsKey(last)).Result()
				if err != nil {
					tb.Fatal(err)
				}
				write()
				if err := c.RestoreReplace(ctx, tagsKey(last), 0, dump).Err(); err != nil {
					tb.Fatal(err)
				}
			},
			SetCounter: func(_ testing.TB, tag string, next int64) {
				servers.MustCommand("HSET", tagsKey(last), "next:"+tag, fmt.Sprint(next))
			},
		}},
	}
}

// The store fulfils the contracts of recycled.Store and segment.Creator.
func TestStoreSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness(t))
}

// Recycled on the store keeps invariant 1, with its default times.
func TestAssignerSuite(t *testing.T) {
	t.Parallel()
	h := harness(t)
	assigntest.RunAssignerTests(t, assigntest.AssignerHarness{
		NewAssigner: func(tb testing.TB, pool string) workerassign.Assigner {
			return slottest.New(tb, h.New(tb, pool))
		},
		Faults:    h.Slots,
		Horizon:   workerassign.DefaultHorizon,
		HostBound: workerassign.DefaultClockBound,
		Recycles:  true,
	})
}

// newProxy returns a proxy to a server.
func newProxy(t *testing.T, address string) *testserver.Proxy {
	p := testserver.NewProxy(t, address)
	p.OneReply = true
	return p
}

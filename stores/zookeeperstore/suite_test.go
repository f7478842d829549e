package zookeeperstore

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/internal/testkit/zookeepertest"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/storetest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

func TestMain(m *testing.M) { testkit.RunParallel(m, 4) }

// servers returns the servers that tests without faults share.
var servers = testkit.Shared(zookeepertest.Servers)

// A client drops its connection, with an error for all calls on it, if the server is silent for two thirds of the session's
// timeout. On a busy machine a server is silent for a second or two. So the timeout is short only in tests in which the
// server is killed or silent on purpose, and calls are tried again. There it must be short: a server that is starting may lose a
// connection without closing it, and the client waits for 7 times the timeout for the reply to its first request.
const (
	sessionTimeout      = time.Minute
	shortSessionTimeout = 5 * time.Second
)

// discard is a log without output.
type discard struct{}

func (discard) Printf(string, ...any) {}

// dial returns a connection, which is closed at the end of the test.
func dial(tb testing.TB, servers ...string) *zk.Conn {
	tb.Helper()
	return dialFor(tb, sessionTimeout, servers)
}

// dialShort is dial, for tests in which the server is killed, or stops answering.
func dialShort(tb testing.TB, servers ...string) *zk.Conn {
	tb.Helper()
	return dialFor(tb, shortSessionTimeout, servers)
}

// dialCase is dial or dialShort, for a case of a suite.
func dialCase(tb testing.TB, servers ...string) *zk.Conn {
	tb.Helper()
	return dialFor(tb, testserver.CaseTimeout(tb, shortSessionTimeout), servers)
}

func dialFor(tb testing.TB, timeout time.Duration, servers []string) *zk.Conn {
	tb.Helper()
	conn, _, err := zk.Connect(servers, timeout, zk.WithLogger(discard{}), zk.WithLogInfo(false))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	return conn
}

// faults returns a server with a proxy before it, and the faults of both.
func faults(tb testing.TB) (*zookeepertest.Server, *testserver.Proxy, assigntest.Faults) {
	s := zookeepertest.Start(tb)
	s.UseClock()
	p := testserver.NewProxy(tb, s.Address())
	return s, p, assigntest.Faults{
		Recovery:     2 * time.Minute,
		Kill:         func(testing.TB) { s.Kill() },
		Start:        func(testing.TB) { s.Restart() },
		Pause:        func(testing.TB) { s.Pause() },
		Resume:       func(testing.TB) { s.Resume() },
		LoseRequests: p.LoseRequests,
		LoseReplies:  p.LoseReplies,
		StepClock:    func(_ testing.TB, d time.Duration) { s.StepClock(d) },
		StopClock:    func(_ testing.TB, at time.Time) { s.StopClock(at) },
		Without: map[string]string{
			"LoseWrites":  "ZooKeeper loses no acknowledged writes; TestRestoredBackup restores a backup",
			"DelayWrites": "the server drops the requests of a connection when the session has a new one",
		},
	}
}

// The store fulfils the contracts of recycled.Store and segment.Creator.
func TestStore(t *testing.T) {
	t.Parallel()
	server, p, slots := faults(t)
	open := &opened{address: p.Address()}
	tags := open.faults(server)
	tags.LoseReplies = p.LoseReplies
	storetest.Run(t, storetest.Harness{
		New:   func(tb testing.TB, name string) storetest.Store { return open.store(tb, "/tests/"+name) },
		Slots: slots,
		Tags:  takertest.WithoutKills(segmenttest.Harness{Faults: tags}),
	})
}

// Recycled keeps invariant 1 on the store.
func TestRecycled(t *testing.T) {
	testkit.Full(t, "Recycled has these tests on MariaDB, Redis and files in each run")
	t.Parallel()
	_, p, f := faults(t)
	const bound = 500 * time.Millisecond
	assigntest.RunAssignerTests(t, assigntest.AssignerHarness{
		NewAssigner: func(tb testing.TB, pool string) workerassign.Assigner {
			return slottest.New(tb, New(dialCase(tb, p.Address()), WithPath("/tests/"+pool)),
				recycled.WithClockBound(bound), recycled.WithSkew(bound))
		},
		Faults:    f,
		Horizon:   workerassign.DefaultHorizon,
		HostBound: bound,
		Recycles:  true,
	})
}

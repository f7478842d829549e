package etcdstore

import (
	"bytes"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/storetest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

func TestMain(m *testing.M) { testkit.RunParallel(m, 4) }

// dial returns a client, which is closed at the end of the test.
func dial(tb testing.TB, endpoints ...string) *clientv3.Client {
	tb.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { client.Close() })
	return client
}

// frames splits the frames of an HTTP/2 connection. Each has a length of three bytes and a type, in a header of nine bytes.
func frames(data []byte, f func(kind byte, frame []byte)) {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" // a connection starts with it
	if bytes.HasPrefix(data, []byte(preface)) {
		f(0xff, data[:len(preface)]) // no kind of frame
		data = data[len(preface):]
	}
	const headerLen = 9
	for len(data) >= headerLen {
		n := headerLen + int(data[0])<<16 + int(data[1])<<8 + int(data[2])
		if n > len(data) {
			break
		}
		f(data[3], data[:n])
		data = data[n:]
	}
}

// dropResets removes the frames that cancel a request: of a request that arrives late the server does not know that the client
// has given up.
func dropResets(data []byte) (kept []byte) {
	const rstStream = 3
	frames(data, func(kind byte, frame []byte) {
		if kind != rstStream {
			kept = append(kept, frame...)
		}
	})
	return kept
}

// hasMessage reports whether data has the headers of a request or of a reply.
func hasMessage(data []byte) (has bool) {
	const headers = 1
	frames(data, func(kind byte, _ []byte) { has = has || kind == headers })
	return has
}

// faults returns a server with a proxy before it, and the faults of both.
func faults(tb testing.TB) (*etcdtest.Server, *testserver.Proxy, assigntest.Faults) {
	s := etcdtest.Start(tb)
	p := testserver.NewProxy(tb, s.Endpoint())
	p.Filter, p.HasMessage = dropResets, hasMessage
	return s, p, assigntest.Faults{
		Recovery:     2 * time.Minute,
		Kill:         func(testing.TB) { s.Kill() },
		Start:        func(testing.TB) { s.Restart() },
		Pause:        func(testing.TB) { s.Pause() },
		Resume:       func(testing.TB) { s.Resume() },
		LoseRequests: p.LoseRequests,
		LoseReplies:  p.LoseReplies,
		DelayWrites:  p.DelayRequests,
		Without: map[string]string{
			"LoseWrites": "etcd loses no acknowledged writes; TestRestoredSnapshot restores a snapshot",
			"StepClock":  "etcd has no clock",
			"StopClock":  "etcd has no clock",
		},
	}
}

// The store fulfils the contracts of recycled.Store and segment.Creator.
func TestStore(t *testing.T) {
	t.Parallel()
	server, p, slots := faults(t)
	prefix := ""
	tags := tagFaults(server, &prefix)
	tags.LoseReplies = p.LoseReplies
	storetest.Run(t, storetest.Harness{
		New: func(tb testing.TB, name string) storetest.Store {
			prefix = "tests/" + name + "/"
			return New(dial(tb, p.Address()), WithPrefix(prefix))
		},
		Slots: slots,
		Tags:  takertest.WithoutKills(segmenttest.Harness{Faults: tags}),
	})
}

// steadyLeader lets a member be silent for longer before the others elect a new leader, because calls fail during an election: a
// member that gets no CPU for a moment would fail a test.
const steadyLeader = "--election-timeout=5000"

// startCluster starts a cluster of three members.
func startCluster(tb testing.TB, flags ...string) (servers []*etcdtest.Server, endpoints []string) {
	tb.Helper()
	servers = etcdtest.StartCluster(tb, 3, flags...)
	for _, s := range servers {
		endpoints = append(endpoints, s.Endpoint())
	}
	return servers, endpoints
}

// The store fulfils the contract on a cluster of three members, of which one is killed.
func TestStoreOnCluster(t *testing.T) {
	testkit.Full(t, "it starts a cluster")
	t.Parallel()
	servers, endpoints := startCluster(t, steadyLeader)
	none := "TestStore has it, on one server"
	assigntest.RunStoreTests(t, assigntest.Harness{
		New: func(tb testing.TB, pool string) recycled.Store {
			return New(dial(tb, endpoints...), WithPrefix("tests/"+pool+"/"))
		},
		Faults: assigntest.Faults{
			Kill:  func(testing.TB) { servers[0].Kill() },
			Start: func(testing.TB) { servers[0].Restart() },
			Without: map[string]string{"Pause": none, "Resume": none, "LoseWrites": none, "LoseRequests": none, "LoseReplies": none,
				"DelayWrites": none, "StepClock": none, "StopClock": none},
		},
	})
}

// Recycled keeps invariant 1 on the store.
func TestRecycled(t *testing.T) {
	testkit.Full(t, "Recycled has these tests on MariaDB, Redis and files in each run")
	t.Parallel()
	_, p, f := faults(t)
	const bound, horizon = 500 * time.Millisecond, 5 * time.Second
	assigntest.RunAssignerTests(t, assigntest.AssignerHarness{
		NewAssigner: func(tb testing.TB, pool string) workerassign.Assigner {
			return slottest.New(tb, New(dial(tb, p.Address()), WithPrefix("tests/"+pool+"/")),
				recycled.WithClockBound(bound), recycled.WithSkew(bound), recycled.WithHorizon(horizon))
		},
		Faults:   f,
		Horizon:  horizon,
		Recycles: true,
		// There is no HostBound, because the store's clock is the host's. So generators whose clocks are an
		// hour off crash, and hold worker IDs up to the horizon.
		Request: workerassign.Request{MaxWorkerID: 1023},
	})
}

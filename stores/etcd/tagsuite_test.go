package etcd

import (
	"testing"

	"github.com/ringuid/ringuid/internal/etcdtest"
	"github.com/ringuid/ringuid/internal/takertest"
	"github.com/ringuid/ringuid/internal/testserver"
	"github.com/ringuid/ringuid/segment"
)

// sources returns a function that returns sources with clients of their own.
func sources(t *testing.T, endpoints ...string) func() segment.Creator {
	return func() segment.Creator { return New(dial(t, endpoints...)) }
}

// Several processes with several goroutines take all numbers, and none twice.
func TestTagProcesses(t *testing.T) {
	if address := takertest.ProcessAddress(); address != "" {
		takertest.RunProcess(t, New(dial(t, address)))
		return
	}
	s := etcdtest.Start(t)
	takertest.Processes(t, s.Endpoint(), New(dial(t, s.Endpoint())))
}

// The server is killed in the middle of Take.
func TestTagKilledServer(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	takertest.Kill(t, sources(t, s.Endpoint()), s.Kill, s.Restart)
}

// The members of a cluster of three are killed in turn, in the middle of Take.
func TestTagKilledMember(t *testing.T) {
	t.Parallel()
	servers := etcdtest.StartCluster(t, 3)
	var endpoints []string
	for _, s := range servers {
		endpoints = append(endpoints, s.Endpoint())
	}
	n := 0
	takertest.Kill(t, sources(t, endpoints...), func() { servers[n%3].Kill() }, func() {
		servers[n%3].Restart()
		n++
	})
}

// The server does not answer for some time.
func TestTagPausedServer(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	takertest.Pause(t, sources(t, s.Endpoint()), s.Pause, s.Continue)
}

// Replies of the server are lost.
func TestTagLostReplies(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	p := testserver.NewProxy(t, s.Endpoint())
	takertest.LostReplies(t, p, sources(t, p.Address()), New(dial(t, s.Endpoint())))
}

package zookeeper

import (
	"testing"

	"github.com/ringuid/ringuid/internal/takertest"
	"github.com/ringuid/ringuid/internal/testserver"
	"github.com/ringuid/ringuid/internal/zookeepertest"
	"github.com/ringuid/ringuid/segment"
)

// sources returns a function that returns sources with connections of their own.
func sources(t *testing.T, servers ...string) func() segment.Creator {
	first := true // the one that creates the tag, before any fault
	return func() segment.Creator {
		if first {
			first = false
			return New(dial(t, servers...))
		}
		return New(dialShort(t, servers...))
	}
}

// Several processes with several goroutines take all numbers, and none twice.
func TestTagProcesses(t *testing.T) {
	if address := takertest.ProcessAddress(); address != "" {
		takertest.RunProcess(t, New(dial(t, address)))
		return
	}
	s := zookeepertest.Start(t)
	takertest.Processes(t, s.Address(), New(dial(t, s.Address())))
}

// The server is killed in the middle of Take.
func TestTagKilledServer(t *testing.T) {
	t.Parallel()
	s := zookeepertest.Start(t)
	takertest.Kill(t, sources(t, s.Address()), s.Kill, s.Restart)
}

// The server does not answer for some time.
func TestTagPausedServer(t *testing.T) {
	t.Parallel()
	s := zookeepertest.Start(t)
	takertest.Pause(t, sources(t, s.Address()), s.Pause, s.Continue)
}

// Replies of the server are lost.
func TestTagLostReplies(t *testing.T) {
	t.Parallel()
	s := zookeepertest.Start(t)
	p := testserver.NewProxy(t, s.Address())
	takertest.LostReplies(t, p, func() segment.Creator { return New(dialShort(t, p.Address())) }, New(dial(t, s.Address())))
}

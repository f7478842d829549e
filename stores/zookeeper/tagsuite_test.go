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
	return func() segment.Creator { return New(dial(t, servers...)) }
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
	first := true
	open := func() segment.Creator {
		if first { // the one that creates the tag
			first = false
			return New(dial(t, s.Address()))
		}
		return New(dialShort(t, s.Address()))
	}
	takertest.Pause(t, open, s.Pause, s.Continue)
}

// Replies of the server are lost.
func TestTagLostReplies(t *testing.T) {
	t.Parallel()
	s := zookeepertest.Start(t)
	p := testserver.NewProxy(t, s.Address())
	takertest.LostReplies(t, p, sources(t, p.Address()), New(dial(t, s.Address())))
}

//go:build unix

package zookeeper

import (
	"testing"

	"github.com/ringuid/ringuid/internal/fleettest"
	"github.com/ringuid/ringuid/internal/zookeepertest"
	"github.com/ringuid/ringuid/workerassign"
)

// assigners returns a function that returns assigners with connections of their own.
func assigners(t *testing.T, servers ...string) func() workerassign.Assigner {
	return func() workerassign.Assigner { return fleettest.Assigner(New(dialShort(t, servers...))) }
}

// The server is killed in the middle of Assign, Reserve and Release, while generators run.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	s := zookeepertest.Start(t)
	fleettest.Kill(t, assigners(t, s.Address()), s.Kill, s.Restart)
}

// The server does not answer for longer than a grant, and for longer than a session.
func TestPausedServer(t *testing.T) {
	s := zookeepertest.Start(t)
	fleettest.Pause(t, assigners(t, s.Address()), s.Pause, s.Continue)
}

// A process is stopped beyond its lease, and its slot is taken by another.
func TestStoppedProcess(t *testing.T) {
	fleettest.StoppedProcess(t, func(t *testing.T) string { return zookeepertest.Start(t).Address() },
		func(t *testing.T, address string, opts ...workerassign.RecycledOption) workerassign.Assigner {
			return fleettest.Assigner(New(dialShort(t, address)), opts...)
		})
}

//go:build unix

package zookeeperstore

import (
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/zookeepertest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// stores returns a function that returns stores with connections of their own.
func stores(t *testing.T, servers ...string) func() recycled.Store {
	return func() recycled.Store { return New(dialShort(t, servers...)) }
}

// The server is killed in the middle of Assign, Reserve and Release, while generators run.
func TestKilledServer(t *testing.T) {
	testkit.Full(t, "the file, MariaDB and Redis are killed in each run")
	t.Parallel()
	s := zookeepertest.Start(t)
	fleettest.Kill(t, stores(t, s.Address()), s.Kill, s.Restart)
}

// The server does not answer for longer than a grant, and for longer than a session.
func TestPausedServer(t *testing.T) {
	testkit.Full(t, "the file, MariaDB and Redis are paused in each run")
	t.Parallel()
	s := zookeepertest.Start(t)
	newStore := stores(t, s.Address())
	fleettest.Pause(t, newStore, s.Pause, s.Resume)
}

// A process is stopped beyond its lease, and its slot is taken by another.
func TestStoppedProcess(t *testing.T) {
	testkit.Full(t, "processes on the file, MariaDB and Redis are stopped in each run")
	t.Parallel()
	fleettest.StoppedProcess(t, func(t *testing.T) string { return zookeepertest.Start(t).Address() },
		func(t *testing.T, address string) recycled.Store { return New(dialShort(t, address)) })
}

//go:build unix

package etcdstore

import (
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// stores returns a function that returns stores with clients of their own.
func stores(t *testing.T, endpoints ...string) func() recycled.Store {
	return func() recycled.Store { return New(dial(t, endpoints...)) }
}

// The server is killed in the middle of Assign, Reserve and Release, while generators run.
func TestKilledServer(t *testing.T) {
	testkit.Full(t, "the file, MariaDB and Redis are killed in each run")
	t.Parallel()
	s := etcdtest.Start(t)
	fleettest.Kill(t, stores(t, s.Endpoint()), s.Kill, s.Restart)
}

// The members of a cluster of three are killed in turn, while generators run.
func TestKilledMember(t *testing.T) {
	testkit.Full(t, "it starts a cluster")
	t.Parallel()
	servers, endpoints := startCluster(t)
	n := 0
	fleettest.Kill(t, stores(t, endpoints...), func() { servers[n%3].Kill() }, func() {
		servers[n%3].Restart()
		n++
	})
}

// The server does not answer for longer than a grant.
func TestPausedServer(t *testing.T) {
	testkit.Full(t, "the file, MariaDB and Redis are paused in each run")
	t.Parallel()
	s := etcdtest.Start(t)
	newStore := stores(t, s.Endpoint())
	fleettest.Pause(t, newStore, s.Pause, s.Resume)
}

// A process is stopped beyond its lease, and its slot is taken by another.
func TestStoppedProcess(t *testing.T) {
	testkit.Full(t, "processes on the file, MariaDB and Redis are stopped in each run")
	t.Parallel()
	fleettest.StoppedProcess(t, func(t *testing.T) string { return etcdtest.Start(t).Endpoint() },
		func(t *testing.T, address string) recycled.Store { return New(dial(t, address)) })
}

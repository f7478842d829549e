//go:build unix

package redis_test

import (
	"testing"

	"github.com/ringuid/ringuid/internal/fleettest"
	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/stores/redis"
	"github.com/ringuid/ringuid/workerassign"
)

// A primary with a replica is killed in the middle of Assign, Reserve and Release, while generators run. When it is
// back, the replica attaches to it again, which changes the history a second time.
func TestKilledPrimary(t *testing.T) {
	t.Parallel() // it waits most of the time
	primary := redistest.Start(t)
	replica := primary.Replica()
	fleettest.Kill(t, stores(t, primary), primary.Kill, func() {
		primary.Restart()
		replica.WaitSynced(primary)
	})
}

// A primary with a replica does not answer for longer than a grant.
func TestPausedPrimary(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	primary.Replica()
	fleettest.Pause(t, func() workerassign.Assigner {
		return fleettest.Assigner(redis.New(connect(t, primary.Address())), workerassign.WithNewPool())
	}, primary.Pause, primary.Resume)
}

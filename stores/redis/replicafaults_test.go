//go:build unix

package redis_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/fleettest"
	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
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

// The only replica is killed in the middle of Assign, Reserve and Release. Nothing is granted until it is back, and then the
// leases go on.
func TestKilledReplica(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := primary.Replica()
	history := read(t, redis.New(connect(t, primary.Address())), workerassign.SlotQuery{}).History
	s := redis.New(connect(t, primary.Address()))
	fleettest.Kill(t, stores(t, primary), replica.Kill, func() {
		testkit.Retry(t, "a write is refused", func() error {
			if err := s.CreateTag(t.Context(), rand.Text(), segment.TagConfig{}); err == nil || !strings.Contains(err.Error(), "too few replicas") {
				return fmt.Errorf("CreateTag() = %w", err)
			}
			return nil
		})
		replica.Restart()
		replica.Follow(primary.Address()) // its configuration file does not have that
		replica.WaitSynced(primary)
	})
	if now := read(t, s, workerassign.SlotQuery{}).History; now != history {
		t.Errorf("the history was %q, and is %q", history, now)
	}
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

package redisstore_test

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/internal/slottest"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// harness starts a primary with two replicas, behind a proxy, and returns how to open stores and inject faults.
func harness(t *testing.T) assigntest.Harness {
	servers := startReplicated(redistest.StartWithClock(t, "--appendfsync", "always"))
	p := newProxy(t, servers.primary.Address())
	var offset time.Duration
	return assigntest.Harness{
		NewStore: func(tb testing.TB, pool string) recycled.Store {
			servers.declare(pool)
			return redisstore.New(connect(tb, p.Address()), redisstore.WithPool(pool))
		},
		Faults: assigntest.Faults{
			Kill:   func(testing.TB) { servers.primary.Kill() },
			Start:  func(testing.TB) { servers.restart() },
			Pause:  func(testing.TB) { servers.primary.Pause() },
			Resume: func(testing.TB) { servers.primary.Resume() },
			LoseWrites: func(_ testing.TB, write func()) {
				servers.loseWrites(write)
				p.SetTarget(servers.primary.Address())
			},
			LoseRequests: p.LoseRequests,
			LoseReplies:  p.LoseReplies,
			DelayWrites:  p.DelayRequests,
			StepClock: func(_ testing.TB, d time.Duration) {
				offset += d
				servers.primary.SetClock(offset)
			},
			Without: map[string]string{"StopClock": "the clock of the server can be stepped, and does not stop"},
		},
	}
}

// The store fulfils the contract of recycled.Store.
func TestStoreSuite(t *testing.T) {
	t.Parallel()
	assigntest.RunStoreTests(t, harness(t))
}

// Recycled on the store keeps invariant 1, with its default times.
func TestAssignerSuite(t *testing.T) {
	t.Parallel()
	h := harness(t)
	assigntest.RunAssignerTests(t, assigntest.AssignerHarness{
		NewAssigner: func(tb testing.TB, pool string) workerassign.Assigner {
			return slottest.New(tb, h.NewStore(tb, pool))
		},
		Faults:    h.Faults,
		Horizon:   workerassign.DefaultHorizon,
		HostBound: workerassign.DefaultClockBound,
		Recycles:  true,
	})
}

//go:build unix

package slottabletests

import (
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The suite runs on MariaDB and on MySQL 5.6.
func TestSlotTableConformance(t *testing.T) {
	t.Parallel()
	const strict = "--sql-mode=STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY"
	test := func(t *testing.T, start func(testing.TB, ...string) *mariadbtest.Server) {
		t.Parallel()
		server := start(t, append([]string{strict}, mariadbtest.PrimaryFlags()...)...)
		server.UseClock()
		s := newSlotServer(t, server)
		h := assigntest.Harness{
			New:    func(tb testing.TB, pool string) recycled.Store { return s.newStore(tb, pool) },
			Faults: s.faults(),
		}
		h.LoseWrites = s.loseByPromotion
		assigntest.RunStoreTests(t, h)
	}
	t.Run("MariaDB", func(t *testing.T) { test(t, mariadbtest.Start) })
	t.Run("MySQL 5.6", func(t *testing.T) {
		testkit.Full(t, "the suite runs on MariaDB in each run")
		test(t, mariadbtest.StartMySQL56)
	})
}

func TestRecycledOnSlotTable(t *testing.T) {
	t.Parallel()
	server := mariadbtest.Start(t, mariadbtest.PrimaryFlags()...)
	server.UseClock()
	s := newSlotServer(t, server)
	h := assigntest.AssignerHarness{
		NewAssigner: func(tb testing.TB, pool string) workerassign.Assigner {
			return slottest.New(tb, s.newStore(tb, pool))
		},
		Faults:    s.faults(),
		Horizon:   workerassign.DefaultHorizon,
		HostBound: workerassign.DefaultClockBound,
		Recycles:  true,
	}
	h.LoseWrites = s.loseByPromotion
	assigntest.RunAssignerTests(t, h)
}

// The nodes of a Galera cluster are one store: what one has acknowledged, a read on another one sees, and of
// concurrent writes on several nodes one succeeds.
func TestSlotTableConformanceGalera(t *testing.T) {
	testkit.Full(t, "it starts a cluster")
	// The clients use all nodes in turn. Without the flag, a node may not have applied yet what another one has
	// acknowledged; then a write to it returns false, which Recycled tries again, and the suite does not expect.
	c := mariadbtest.StartGalera(t, 3, "--wsrep-sync-wait=15")
	s := newSlotServer(t, c.Node(0), c.Node(1), c.Node(2))
	faults := s.faults()
	faults.Kill = func(testing.TB) { c.Node(2).Kill() }
	faults.Start = func(testing.TB) { c.Node(2).Restart(); c.WaitFor(3) }
	faults.StepClock, faults.StopClock = nil, nil
	const single = "TestSlotTableConformance has it, on one server"
	faults.Without = map[string]string{"LoseWrites": "a node that replaces another one has received all that it has acknowledged",
		"Pause": "the cluster expels a node that does not answer", "StepClock": single, "StopClock": single}
	t.Run("store", func(t *testing.T) {
		faults.Pause, faults.Resume = nil, nil
		assigntest.RunStoreTests(t, assigntest.Harness{
			New:    func(tb testing.TB, pool string) recycled.Store { return s.newStore(tb, pool) },
			Faults: faults,
		})
	})
	t.Run("assigner", func(t *testing.T) {
		assigntest.RunAssignerTests(t, assigntest.AssignerHarness{
			NewAssigner: func(tb testing.TB, pool string) workerassign.Assigner {
				return recycled.New(s.newStore(tb, pool))
			},
			Faults:    faults,
			Horizon:   workerassign.DefaultHorizon,
			HostBound: workerassign.DefaultClockBound,
			Recycles:  true,
		})
	})
}

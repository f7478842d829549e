package postgrestest_test

import (
	"testing"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
)

// Slot tables on PostgreSQL fulfil the contract of SlotStore, at both isolation levels.
func TestSlotTableConformance(t *testing.T) {
	for _, level := range []string{"read committed", "serializable"} {
		t.Run(level, func(t *testing.T) {
			s := newSlotServer(t, "default_transaction_isolation="+level, "synchronous_commit=off")
			assigntest.RunStoreTests(t, assigntest.Harness{
				NewStore: func(tb testing.TB, pool string) workerassign.SlotStore { return s.newStore(tb, pool) },
				Faults:   s.faults(),
			})
		})
	}
}

func TestRecycledOnSlotTable(t *testing.T) {
	s := newSlotServer(t)
	assigntest.RunAssignerTests(t, assigntest.AssignerHarness{
		NewAssigner: func(tb testing.TB, pool string) workerassign.Assigner {
			return workerassign.NewRecycled(s.newStore(tb, pool), workerassign.WithNewPool())
		},
		Faults:    s.faults(),
		Horizon:   workerassign.DefaultHorizon,
		HostBound: workerassign.DefaultClockBound,
		Recycles:  true,
	})
}

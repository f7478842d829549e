package assigntest

import (
	"testing"

	"github.com/ringuid/ringuid/workerassign"
)

// recycledHarness returns a harness of Recycled on stores in memory.
func recycledHarness(s *memoryServer, opts ...workerassign.RecycledOption) AssignerHarness {
	opts = append([]workerassign.RecycledOption{workerassign.WithNewPool()}, opts...)
	return AssignerHarness{
		NewAssigner: func(_ testing.TB, pool string) workerassign.Assigner {
			return workerassign.NewRecycled(s.pool(pool).Client(""), opts...)
		},
		Faults:    s.faults(),
		Horizon:   workerassign.DefaultHorizon,
		HostBound: workerassign.DefaultClockBound,
		Recycles:  true,
	}
}

func TestRecycledOnMemory(t *testing.T) {
	RunAssignerTests(t, recycledHarness(newMemoryServer()))
}

func TestRecycledOnMemoryWithoutLoss(t *testing.T) {
	h := recycledHarness(newMemoryServer(WithNoLoss()))
	h.LoseWrites = nil
	h.Without = map[string]string{"LoseWrites": "the store loses none"}
	RunAssignerTests(t, h)
}

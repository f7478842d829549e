package assigntest

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// recycledHarness returns a harness of Recycled on stores in memory.
func recycledHarness(s *memoryServer, opts ...recycled.Option) AssignerHarness {
	const bound = 200 * time.Millisecond // short, so that slots whose leases were not released become free soon
	opts = append([]recycled.Option{recycled.WithClockBound(bound), recycled.WithSkew(0)}, opts...)
	return AssignerHarness{
		NewAssigner: func(tb testing.TB, pool string) workerassign.Assigner {
			return slottest.New(tb, s.pool(pool).Client(""), opts...)
		},
		Faults:    s.faults(),
		Horizon:   workerassign.DefaultHorizon,
		HostBound: bound,
		Recycles:  true,
		Request:   workerassign.Request{MaxWorkerID: 15},
	}
}

func TestRecycledOnMemory(t *testing.T) {
	t.Parallel()
	RunAssignerTests(t, recycledHarness(newMemoryServer()))
}

func TestRecycledOnMemoryWithoutLoss(t *testing.T) {
	t.Parallel()
	h := recycledHarness(newMemoryServer(WithNoLoss()))
	h.LoseWrites = nil
	h.Without = map[string]string{"LoseWrites": "the store loses none"}
	RunAssignerTests(t, h)
}

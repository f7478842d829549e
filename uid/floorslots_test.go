package uid

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign/assigntest"
)

// R7: a generator that waits for the floor of a pool uses one worker ID, and not another one for each run of its
// ring: all leases begin at the floor, so it would gain nothing. After the floor, it has not rolled over.
func TestR7WaitForFloorUsesOneSlot(t *testing.T) {
	for _, mode := range []string{"Cached", "Default"} {
		for _, failover := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				store := assigntest.NewMemory()
				want := 1
				if failover {
					slottest.New(t, store)
					want = 2 // the lease from before, and the one from after
				}
				g := newRecycledGenerator(t, mode, store, nil, WithBoostPower(3), WithLayout(layout(t, 35, 10, 8)))
				taker := recycledTaker{t, map[ID]bool{}}
				if failover {
					taker.take(g, 30*time.Second)
					store.Failover(0)
				}
				if got, _, err := taker.take(g, 4*time.Minute); got < 500 {
					t.Fatalf("%s: %d UIDs were taken, %v", mode, got, err)
				}
				if s := g.Stats(); s.Rollovers != uint64(want-1) || len(store.Dump().Slots) != want {
					t.Errorf("%s, after a failover: %t: the generator has changed its lease %d times, and the pool has %d slots; want %d",
						mode, failover, s.Rollovers, len(store.Dump().Slots), want)
				}
			})
		}
	}
}

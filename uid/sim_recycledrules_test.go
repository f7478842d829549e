package uid

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/ledger"
)

// Invariant 1, R1 to R8: a fleet on a bad slot store, on bad hosts and with bad clocks generates no UID twice, and
// recovers by itself. A failure names its seed, and -sim.seed replays it.
func TestSimulationOfRecycled(t *testing.T) {
	if *simSeed == 0 {
		t.Parallel()
	}
	synctest.Test(t, testSimulationOfRecycled) // the pauses of Recycled take no time
}

func testSimulationOfRecycled(t *testing.T) {
	if *simSeed != 0 {
		f := newSlotFleet(*simSeed, "")
		if err := f.run(slotFleetEvents); err != nil {
			t.Errorf("seed %d: %v", *simSeed, err)
		}
		t.Log(&f.trace)
		return
	}
	seeds := numberOfSeeds(t, 10, 40, 4_000)
	var sum slotFleet
	for seed := *simFirst; seed < *simFirst+seeds; seed++ {
		f := newSlotFleet(seed, "")
		if *simLedger {
			f.only = "ledger"
		}
		if err := f.run(slotFleetEvents); err != nil {
			t.Fatalf("seed %d (replay it by -sim.seed=%d): %v", seed, seed, err)
		}
		sum.units, sum.starts, sum.refusals, sum.lost = sum.units+f.units, sum.starts+f.starts, sum.refusals+f.refusals, sum.lost+f.lost
		sum.lateWrites, sum.failedSwaps, sum.failovers = sum.lateWrites+f.lateWrites, sum.failedSwaps+f.failedSwaps, sum.failovers+f.failovers
		sum.lostLeases, sum.changes = sum.lostLeases+f.lostLeases, sum.changes+f.changes
		sum.fullPools, sum.heldSlots = sum.fullPools+f.fullPools, sum.heldSlots+f.heldSlots
		sum.handOvers, sum.staleWrites = sum.handOvers+f.handOvers, sum.staleWrites+f.staleWrites
		sum.report.Writes += f.report.Writes
	}
	t.Logf("%d seeds: %d time units stamped by %d processes, %d leases changed, %d lost; %d failovers; replies lost: %d; late writes that were made: %d; "+
		"swaps that failed: %d; refused: %d for their clock, %d times the pool was full, %d times a slot was held; "+
		"%d processes were replaced when their grant ended; %d writes after a failover expected the slot's revision; the ledger has checked %d acknowledged writes",
		seeds, sum.units, sum.starts, sum.changes, sum.lostLeases, sum.failovers, sum.lost, sum.lateWrites, sum.failedSwaps, sum.refusals, sum.fullPools, sum.heldSlots,
		sum.handOvers, sum.staleWrites, sum.report.Writes)
	for _, n := range []int64{sum.units, sum.starts, sum.refusals, sum.lost, sum.lateWrites, sum.failedSwaps, sum.failovers, sum.lostLeases, sum.changes, sum.fullPools, sum.heldSlots,
		sum.handOvers, sum.staleWrites, int64(sum.report.Writes)} {
		if n == 0 {
			t.Error("something never happened")
		}
	}
}

// mostBrokenSeeds is how many seeds may be necessary to find a broken rule.
const mostBrokenSeeds = 1000

// noticed has what is broken, and by which rule the ledger must notice it. That is "store" if reads are falsified so that the assigner keeps the
// rule by what it has read.
var noticed = map[string][]string{
	brokenUntil: {"store"}, brokenSwap: {"R2"}, brokenFrom: {"R3"}, brokenReply: {"R2"}, brokenGrace: {"store"}, brokenHorizon: {"store"},
	brokenHistory: {"R3"}, brokenFloor: {"R7"}, brokenAtomic: {"R2", "R7"}, brokenExtend: {"R7"}, brokenSkew: {"R8"},
	brokenRelease: {"R1", "grants"}, brokenFencing: {"R3"}, brokenHostTime: {"grants"},
}

// The simulation finds each rule that is broken on purpose, whatever the first seed is: -sim.seed sets it. So does, in full size, the ledger alone.
func TestSimulationOfRecycledFindsBrokenRules(t *testing.T) {
	if *simSeed == 0 {
		testkit.WithoutRace(t)
	}
	first := max(*simSeed, 1)
	for broken, rules := range noticed {
		for _, only := range []string{"simulation", "ledger"} {
			isSlow := only == "simulation" && (broken == brokenAtomic || broken == brokenGrace || broken == brokenRelease) // a dozen seeds and more
			if isSlow && testing.Short() || only == "ledger" && !testkit.IsFull() {
				continue
			}
			t.Run(only+"/"+broken, func(t *testing.T) {
				t.Parallel()
				begin := time.Now()
				synctest.Test(t, func(t *testing.T) { // Recycled's pauses take no time
					for n := range uint64(mostBrokenSeeds) {
						f := newSlotFleet(first+n, broken)
						f.only = only
						err := f.run(slotFleetEvents)
						if only == "ledger" && !slices.ContainsFunc(f.report.Violations, func(v ledger.Violation) bool { return slices.Contains(rules, v.Rule) }) {
							continue
						}
						if err != nil {
							t.Logf("%d seeds: %.200s", n+1, err.Error())
							return
						}
					}
					t.Errorf("%d seeds do not show it", mostBrokenSeeds)
				})
				t.Logf("it took %v", time.Since(begin).Round(time.Millisecond))
			})
		}
	}
}

// A seed can be replayed: it gives the same events each time.
func TestSimulationOfRecycledIsReproducible(t *testing.T) {
	testkit.WithoutRace(t)
	synctest.Test(t, func(t *testing.T) {
		for seed := range testkit.Amount[uint64](1, 1, 5) {
			var traces [2]string
			for i := range traces {
				f := newSlotFleet(seed+1, "")
				if err := f.run(slotFleetEvents); err != nil {
					t.Fatal(err)
				}
				traces[i] = f.trace.String()
			}
			if traces[0] != traces[1] || len(traces[0]) < 1000 {
				t.Errorf("seed %d gives other events the second time", seed+1)
			}
		}
	})
}

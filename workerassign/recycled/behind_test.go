package recycled_test

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// R5: hosts that start together while their clocks are behind the store's take the slots that one of them adds, although
// these begin at the store's clock. Otherwise each of them would add a batch of its own.
func TestCrowdWhoseClocksAreBehind(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const hosts = 200
		f.max = 1<<22 - 1
		f.StepClock(poolB / 2)
		_, c := f.start(hosts, 100*time.Millisecond)
		slots := f.Dump().Pool.Slots
		t.Logf("%.1f reads and %.1f writes per host; all have a lease after %v; the pool has %d slots", c.reads, c.writes, c.took, slots)
		if slots < hosts || slots > hosts+excess {
			t.Errorf("the pool has %d slots for %d hosts; want at most %d more", slots, hosts, excess)
		}
	})
}

// R5: Assign waits for a slot that it may take before its deadline: also for that of its name, which it may take at the end
// of the grant, without the grace.
func TestRule5SameNameWaits(t *testing.T) {
	for what, opts := range map[string][]recycled.Option{
		"a full pool":  nil,
		"WithWorkerID": {recycled.WithWorkerID(0)},
	} {
		t.Run(what, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.max = 1
				if opts == nil {
					f.reserve(f.assign(f.assigner()), poolH)
				}
				crashed := f.assign(f.named(opts...))
				until := f.reserve(crashed, 45*time.Second)
				time.Sleep(40 * time.Second)
				ctx, cancel := withTimeout(f, 10*time.Second) // the grant ends in 5 s, and the grace in 15 s
				defer cancel()
				l, err := f.named(opts...).Assign(ctx, f.request())
				if err != nil || l.WorkerID() != crashed.WorkerID() || l.NotBefore().Before(until) {
					t.Errorf("Assign returned %v, %v; want worker ID %d, which it may take at %v", l, err, crashed.WorkerID(), until)
				}
			})
		})
	}
}

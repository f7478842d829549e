package recycled_test

import (
	"testing"
	"time"
)

// Many hosts that start together while a floor lies ahead, as at the first start of a fleet without CreatePool, use not
// many more slots than they take: the slots that one of them adds are free for the others, although no lease
// begins before the floor.
func TestCrowdBeforeFloor(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const hosts = 200
		f.max = 1023
		leases, c := f.startWith(hosts, 0)
		slots := f.Dump().Pool.Slots
		floor := f.Dump().Pool.Floor
		t.Logf("%.1f reads and %.1f writes per host; all have a lease after %v; the pool has %d slots", c.reads, c.writes, c.took, slots)
		if slots < hosts || slots > hosts+excess {
			t.Errorf("the pool has %d slots for %d hosts; want at most %d more", slots, hosts, excess)
		}
		for _, l := range leases {
			if l.NotBefore().Before(floor) {
				t.Fatalf("the lease of worker ID %d begins at %v, before the floor %v", l.WorkerID(), l.NotBefore(), floor)
			}
		}
	})
}

// After a failover, while the leases of a fleet last, their holders take at most as many slots again, and few more.
func TestCrowdAfterFailover(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const hosts = 200
		f.max = 1023
		leases, _ := f.start(hosts, time.Second)
		for _, l := range leases {
			f.reserve(l, 45*time.Second)
		}
		f.Failover(0)
		f.startWith(hosts, 0)
		slots := f.Dump().Pool.Slots
		t.Logf("the pool has %d slots", slots)
		if slots > 2*(hosts+excess) {
			t.Errorf("the pool has %d slots after a failover of %d hosts; want at most %d", slots, hosts, 2*(hosts+excess))
		}
	})
}

//go:build unix

package fleettest

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// FailoverFencing is the fencing time of the pools of Failover.
const FailoverFencing = 2 * time.Second

// Primaries is a primary and its replica, for Failover.
type Primaries struct {
	// NewAssigner returns a client of the primary, and of the promoted replica after Fence.
	NewAssigner func(...workerassign.RecycledOption) workerassign.Assigner

	// NewPromoted returns a client of the promoted replica.
	NewPromoted func(...workerassign.RecycledOption) workerassign.Assigner

	Disconnect func() // after the replica has received all writes
	Promote    func() // the old primary goes on
	Fence      func() // kills the old primary
}

// Failover promotes a replica that lacks the last writes, while the old primary goes on to acknowledge writes for half
// the fencing time. With rule R7 no UID is generated twice. Without it some are, so that the test is known to find a
// defect. The old primary then goes on until that happens.
func Failover(t *testing.T, withR7 bool, p Primaries) {
	fencing := workerassign.WithFencing(FailoverFencing)
	first, err := NewGenerator(t.Context(), p.NewAssigner(fencing, workerassign.WithNewPool()), false)
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	f := New()
	for n := range 3 {
		f.Run(p.NewAssigner(fencing), n%2 == 0, time.Hour)
	}
	f.WaitAllLeases(t, 3, time.Minute)
	p.Disconnect()
	time.Sleep(2 * Horizon) // the grants of this time are lost
	before := f.generated.Load()
	p.Promote()
	promoted := time.Now()
	// These are so many that they take all slots that seem to be free. Without R7, these take other slots again and
	// again, because on a busy machine those of the old primary may become free only later.
	life := time.Hour
	if !withR7 {
		life = Horizon / 2
	}
	for n := range 8 {
		f.Run(p.NewPromoted(fencing), n%2 == 0, life)
	}
	time.Sleep(FailoverFencing / 2)
	for !withR7 && f.duplicates.Load() == 0 && time.Since(promoted) < time.Minute {
		time.Sleep(10 * time.Millisecond) // on a busy machine the promoted replica is not ready yet
	}
	during := f.generated.Load()
	p.Fence()
	if took := time.Since(promoted); withR7 && took > FailoverFencing {
		t.Fatalf("this machine is too slow: the old primary was fenced after %v, want at most %v", took, FailoverFencing)
	}
	time.Sleep(FailoverFencing + 2*Horizon)
	f.WaitLeases(t, 0, time.Minute)
	t.Logf("%d UIDs while there were two primaries; in all %s", during-before, f.End())
	if during == before {
		t.Error("no UID was generated while there were two primaries")
	}
	if duplicates := f.duplicates.Load(); (duplicates == 0) != withR7 {
		t.Errorf("%d duplicates; want none with R7, and some without", duplicates)
	}
}

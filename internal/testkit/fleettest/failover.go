//go:build unix

package fleettest

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Primaries is a primary and its replica, for Failover.
type Primaries struct {
	// NewStore returns a client of the primary, and of the promoted replica after Fence.
	NewStore func() recycled.Store

	// NewPromoted returns a client of the promoted replica.
	NewPromoted func() recycled.Store

	Disconnect func() // after the replica has received all writes
	Promote    func() // the old primary goes on
	Fence      func() // kills the old primary
}

// WithinFencing calls try with a fencing time, and with a longer one as long as try returns false: the machine was so slow
// that the old primary was not fenced in time, and what follows would prove nothing.
func WithinFencing(t *testing.T, try func(fencing time.Duration) bool) {
	t.Helper()
	for fencing := 2 * time.Second; !try(fencing); fencing *= 3 {
		if fencing > time.Minute {
			t.Fatalf("%v were not enough for a failover", fencing)
		}
		t.Logf("%v were not enough for a failover; this is tried with a longer time", fencing)
	}
}

// Failover promotes a replica that lacks the last writes, while the old primary goes on to acknowledge writes for half
// the fencing time. With rule R7 no UID is generated twice. Without it some are, so that the test is known to find a
// defect. The old primary then goes on until that happens. start starts the servers.
func Failover(t *testing.T, withR7 bool, start func() Primaries) {
	WithinFencing(t, func(fencing time.Duration) bool { return failover(t, withR7, start(), fencing) })
}

// failover is one try of Failover. It reports whether the old primary generated UIDs and was fenced in time.
func failover(t *testing.T, withR7 bool, p Primaries, fencing time.Duration) bool {
	withFencing := recycled.WithFencing(fencing)
	f := New()
	f.First(t, p.NewStore(), withFencing)
	defer f.End()
	for n := range 3 {
		f.Run(p.NewStore(), n%2 == 0, time.Hour, withFencing)
	}
	f.WaitAllLeases(t, 3)
	p.Disconnect()
	time.Sleep(2 * Horizon) // the grants of this time are lost
	f.WaitLeases(t, 0)
	before := f.generated.Load()
	p.Promote()
	promoted := time.Now()
	// These are so many that they take all slots that seem to be free. Without R7, these take other slots again and
	// again, because on a busy machine those of the old primary may become free only later.
	life, leases := time.Hour, f.leases.Load()
	if !withR7 {
		life = Horizon / 2
	}
	for n := range 8 {
		f.Run(p.NewPromoted(), n%2 == 0, life, withFencing)
	}
	if withR7 {
		time.Sleep(fencing / 2)
	} else {
		f.WaitDuplicate(t)
	}
	during := f.generated.Load()
	p.Fence()
	if took := time.Since(promoted); withR7 && (took > fencing || during == before) {
		return false
	}
	if withR7 {
		time.Sleep(time.Until(promoted.Add(fencing + 3*Horizon))) // after the floor
		f.WaitAllLeases(t, leases+8)
	}
	t.Logf("%d UIDs while there were two primaries; in all %s", during-before, f.End())
	if duplicates := f.Duplicates(); withR7 && duplicates != 0 {
		t.Errorf("%d duplicates, want none", duplicates)
	}
	report := f.Ledger()
	t.Log(report)
	if (len(report.Violations) == 0) != withR7 {
		t.Errorf("the ledger has %d violations; must have some if R7 is broken, and else none", len(report.Violations))
	}
	return true
}

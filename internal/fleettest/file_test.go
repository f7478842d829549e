package fleettest

import (
	"testing"

	"github.com/ringuid/ringuid/workerassign"
)

// What a slot file costs.
func TestMeasureFile(t *testing.T) {
	dir := t.TempDir()
	Measure(t, Target{
		Name:   "file",
		Open:   func(pool string) workerassign.SlotStore { return workerassign.NewSlotFile(dir + "/" + pool) },
		Leases: 50,
	}, Assigns)
}

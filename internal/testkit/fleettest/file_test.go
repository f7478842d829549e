package fleettest

import (
	"testing"

	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// newFiles returns slot files.
func newFiles(t *testing.T) Target {
	dir := t.TempDir()
	return Target{
		Name:   "file",
		Open:   func(pool string) recycled.Store { return filestore.New(dir + "/" + pool) },
		Load:   1_000_000,
		Leases: 50,
	}
}

// What a slot file costs.
func TestMeasureFile(t *testing.T) { Measure(t, newFiles(t), Assigns) }

// A million UIDs per second.
func TestMeasureFileUnderLoad(t *testing.T) {
	NeedsMeasure(t)
	Measure(t, newFiles(t), Sustained)
}

package workerassign_test

import (
	"testing"
	"time"
)

// R7: a process that was started with WithNewPool, and whose pool is lost with everything in it, begins with a floor:
// it has found the pool before.
func TestRule7NewPoolOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		granted := f.reserve(f.assign(a), 30*time.Second)
		f.Flush()
		floor := f.Dump().Now.Add(poolFloor)
		l := f.assign(a)
		if l.NotBefore().Before(granted) {
			t.Errorf("a lease of worker ID %d begins at %v, and %v was granted before", l.WorkerID(), l.NotBefore(), granted)
		}
		f.wantTime("NotBefore after the pool was lost", l.NotBefore(), floor)
	})
}

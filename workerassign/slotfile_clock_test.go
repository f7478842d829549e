package workerassign

import "time"

// SetSlotFileClock sets the clock of a store of NewSlotFile, for tests in package workerassign_test.
func SetSlotFileClock(s SlotStore, now func() time.Time) { s.(*slotFile).now = now }

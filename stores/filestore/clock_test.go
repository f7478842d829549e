package filestore

import (
	"time"
)

// SetClock sets the clock of a store, for external tests.
func SetClock(s *Store, now func() time.Time) { s.now = now }

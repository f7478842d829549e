//go:build unix

package slottabletests

import (
	"syscall"
	"testing"

	"github.com/ringuid/ringuid/internal/fleettest"
	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/workerassign"
)

// slotDatabase creates a database with the tables, and returns its name.
func slotDatabase(t *testing.T, s *mariadbtest.Server) string {
	t.Helper()
	name, db := s.Database()
	mariadbtest.RunScript(t, db, schemaScript(t))
	return name
}

// tableAssigner returns an assigner with connections of its own.
func tableAssigner(t *testing.T, dsn string, opts ...workerassign.RecycledOption) workerassign.Assigner {
	return fleettest.Assigner(workerassign.NewSlotTable(mariadbtest.Open(t, dsn)), opts...)
}

// R7: the server is killed in the middle of Assign, Reserve and Release, while generators run. Each start of it is
// another history. TestSlotTableKilled declares that the server loses no writes.
func TestR7SlotTableKilled(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := mariadbtest.Start(t)
	dsn := s.DSN("root", "", slotDatabase(t, s))
	fleettest.Kill(t, func() workerassign.Assigner { return tableAssigner(t, dsn) }, s.Kill, s.Restart)
}

// The server does not answer for longer than a grant.
func TestSlotTablePaused(t *testing.T) {
	s := mariadbtest.Start(t)
	dsn := s.DSN("root", "", slotDatabase(t, s))
	fleettest.Pause(t, func() workerassign.Assigner { return tableAssigner(t, dsn, workerassign.WithNewPool()) },
		func() { signal(s, syscall.SIGSTOP)(t) }, func() { signal(s, syscall.SIGCONT)(t) })
}

// R3: a process is stopped beyond its lease, and its slot is taken by another.
func TestR3SlotTableStoppedProcess(t *testing.T) {
	fleettest.StoppedProcess(t, func(t *testing.T) string {
		s := mariadbtest.Start(t)
		return s.DSN("root", "", slotDatabase(t, s))
	}, func(t *testing.T, dsn string, opts ...workerassign.RecycledOption) workerassign.Assigner {
		return tableAssigner(t, dsn, opts...)
	})
}

//go:build unix

package postgrestest_test

import (
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slotsDSN starts a server with the tables, and returns it with the data source name.
func slotsDSN(t *testing.T) (*postgrestest.Server, string) {
	t.Helper()
	s := postgrestest.Start(t)
	idsDatabase(t, s)
	return s, s.DSN("postgres", "", "ids")
}

// openStore returns a store with connections of its own.
func openStore(t *testing.T, dsn string) recycled.Store {
	return sqlstore.New(postgrestest.Open(t, dsn))
}

// R2, R7: the server is killed in the middle of Assign, Reserve and Release, while generators run. Each start of it
// is another history, unless the server is declared to lose no writes.
func TestSlotTableKilled(t *testing.T) {
	testkit.Full(t, "MariaDB is killed in each run")
	t.Parallel()
	for name, store := range map[string][]sqlstore.Option{"history of the server": nil, "WithHistory": {sqlstore.WithHistory("one server")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			s, dsn := slotsDSN(t)
			fleettest.Kill(t, func() recycled.Store { return sqlstore.New(postgrestest.Open(t, dsn), store...) }, s.Kill, s.Restart)
		})
	}
}

// The server does not answer for longer than a grant.
func TestSlotTablePaused(t *testing.T) {
	testkit.Full(t, "MariaDB is paused in each run")
	t.Parallel()
	s, dsn := slotsDSN(t)
	fleettest.Pause(t, func() recycled.Store { return openStore(t, dsn) }, s.Pause, s.Resume)
}

// R3: a process is stopped beyond its lease, and its slot is taken by another.
func TestR3SlotTableStoppedProcess(t *testing.T) {
	testkit.Full(t, "processes on MariaDB are stopped in each run")
	t.Parallel()
	fleettest.StoppedProcess(t, func(t *testing.T) string {
		_, dsn := slotsDSN(t)
		return dsn
	}, openStore)
}

// R7: a standby is promoted that lacks the last writes, while the old primary still acknowledges.
func TestR7TwoPrimaries(t *testing.T) {
	testkit.Full(t, "MariaDB and Redis fail over in each run, and TestSlotTableConformance promotes a standby of PostgreSQL")
	for name, store := range map[string][]sqlstore.Option{"with R7": nil, "without R7": {sqlstore.WithHistory("wrong")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			fleettest.Failover(t, store == nil, func() fleettest.Primaries {
				primary := postgrestest.Start(t)
				idsDatabase(t, primary)
				standby := primary.Standby()
				s, promoted := newSlotServer(t, primary), newSlotServer(t, standby)
				newStore := func(s *slotServer) func() recycled.Store {
					return func() recycled.Store { return sqlstore.New(s.open(t, "ids", "public"), store...) }
				}
				return fleettest.Primaries{
					NewStore:    newStore(s),
					NewPromoted: newStore(promoted),
					Disconnect: func() {
						standby.WaitReceived(primary)
						standby.Disconnect()
					},
					Promote: standby.Promote,
					Fence: func() {
						primary.Kill()
						s.replaceBy(standby)
					},
				}
			})
		})
	}
}

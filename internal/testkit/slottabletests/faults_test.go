//go:build unix

package slottabletests

import (
	"testing"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slotDatabase creates a database with the tables, and returns its name.
func slotDatabase(t *testing.T, s *mariadbtest.Server) string {
	t.Helper()
	name, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	return name
}

// openStore returns a store with connections of its own.
func openStore(t *testing.T, dsn string) recycled.Store {
	return sqlstore.New(mariadbtest.Open(t, dsn))
}

// R2, R7: the server is killed in the middle of Assign, Reserve and Release, while generators run. Each start of it is
// another history: leases end, and new ones begin at the floor, also if the server has lost its last second. If the server is
// declared to lose no writes, leases continue.
func TestR7SlotTableKilled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		store []sqlstore.Option
		flags []string
	}{
		{"history of the server", nil, nil},
		{"the server loses a second", nil, []string{"--innodb-flush-log-at-trx-commit=0"}},
		{"WithHistory", []sqlstore.Option{sqlstore.WithHistory("one server")}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.store != nil {
				testkit.Full(t, "the other ones are killed in each run")
			}
			t.Parallel() // it waits most of the time
			s := newSlotServer(t, mariadbtest.Start(t, tt.flags...))
			dsn := s.servers[0].DSN("root", "", slotDatabase(t, s.servers[0]))
			newStore := func() recycled.Store {
				return sqlstore.New(mariadbtest.Open(t, dsn), tt.store...)
			}
			restart := s.servers[0].Restart
			if tt.store == nil {
				restart = func() { s.start(t) }
			}
			fleettest.Kill(t, newStore, s.servers[0].Kill, restart)
			if floor := slottest.Read(t, newStore(), recycled.Query{}).Pool.Floor; floor.IsZero() != (tt.store != nil) {
				t.Errorf("the floor is %v; there must be one unless the store loses no writes", floor)
			}
		})
	}
}

// The server does not answer for longer than a grant.
func TestSlotTablePaused(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := mariadbtest.Start(t)
	dsn := s.DSN("root", "", slotDatabase(t, s))
	fleettest.Pause(t, func() recycled.Store { return openStore(t, dsn) },
		s.Pause, s.Resume)
}

// R3: a process is stopped beyond its lease, and its slot is taken by another.
func TestR3SlotTableStoppedProcess(t *testing.T) {
	t.Parallel() // it waits most of the time
	fleettest.StoppedProcess(t, func(t *testing.T) string {
		s := mariadbtest.Start(t)
		return s.DSN("root", "", slotDatabase(t, s))
	}, openStore)
}

// R7: a replica is promoted that lacks the last writes, while the old primary still acknowledges.
func TestR7TwoPrimaries(t *testing.T) {
	t.Parallel()
	for name, store := range map[string][]sqlstore.Option{"with R7": nil, "without R7": {sqlstore.WithHistory("wrong")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			fleettest.Failover(t, store == nil, func() fleettest.Primaries {
				primary := mariadbtest.Start(t, append(mariadbtest.PrimaryFlags(), "--sync-binlog=1")...)
				database := slotDatabase(t, primary)
				replica := primary.Replica("--sync-binlog=1")
				s, promoted := newSlotServer(t, primary), newSlotServer(t, replica)
				newStore := func(s *slotServer) func() recycled.Store {
					return func() recycled.Store { return sqlstore.New(s.open(t, database), store...) }
				}
				return fleettest.Primaries{
					NewStore:    newStore(s),
					NewPromoted: newStore(promoted),
					Disconnect: func() {
						replica.WaitApplied(primary)
						replica.Admin().MustExec("STOP SLAVE")
					},
					Promote: func() {
						table := sqlstore.New(promoted.open(t, database), store...)
						if s := slottest.Read(t, table, recycled.Query{}); !s.ReadOnly {
							t.Error("ReadOnly of a replica is false")
						}
						replica.Admin().MustExec("SET GLOBAL read_only = 0")
						if s := slottest.Read(t, table, recycled.Query{}); s.ReadOnly {
							t.Error("ReadOnly of a replica that was promoted is true")
						}
					},
					Fence: func() {
						primary.Kill()
						s.replaceBy(replica)
					},
				}
			})
		})
	}
}

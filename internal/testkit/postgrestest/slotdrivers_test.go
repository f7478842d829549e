package postgrestest_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A slot table works with both drivers, each of their modes, and settings of the session that change what
// texts and times look like. pgx itself refuses simple_protocol without standard_conforming_strings, or with a
// client_encoding other than UTF8.
func TestSlotTableDrivers(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	const plain, strings = "default_query_exec_mode=simple_protocol", "standard_conforming_strings = off"
	for i, setting := range []string{
		"bytea_output = 'escape'", strings, "client_encoding = 'LATIN1'", "default_transaction_isolation = 'serializable'", "datestyle = 'SQL, DMY'",
	} {
		t.Run(setting, func(t *testing.T) {
			name := fmt.Sprintf("drivers_%d", i)
			s.Admin().MustExec("CREATE DATABASE " + name)
			s.Admin().MustExec("ALTER DATABASE " + name + " SET " + setting)
			testserver.RunScript(t, postgrestest.Open(t, s.DSN("postgres", "", name)), schemaScript(t))
			for _, driver := range []struct{ name, parameter string }{
				{"pgx", ""}, {"pgx", "default_query_exec_mode=cache_describe"}, {"pgx", "default_query_exec_mode=exec"}, {"pgx", plain},
				{"postgres", ""}, {"postgres", "binary_parameters=yes"},
			} {
				if driver.parameter == plain && (setting == strings || setting == "client_encoding = 'LATIN1'") {
					continue
				}
				t.Run(driver.name+" "+driver.parameter, func(t *testing.T) {
					db, err := sql.Open(driver.name, s.DSN("postgres", "", name)+"&"+driver.parameter)
					if err != nil {
						t.Fatal(err)
					}
					defer db.Close()
					db.SetMaxOpenConns(1)
					for _, opts := range [][]sqlstore.Option{nil, {sqlstore.WithHistory("münchen 主")}} {
						if _, err := db.Exec("DELETE FROM worker_slot; DELETE FROM worker_pool"); err != nil {
							t.Fatal(err)
						}
						testSlotTableLease(t, sqlstore.New(db, opts...))
					}
				})
			}
		})
	}
}

// testSlotTableLease takes, extends and releases leases.
func testSlotTableLease(t *testing.T, store recycled.Store) {
	t.Helper()
	name := `wörker \ '主机'`
	named := slottest.New(t, store, quiet(), recycled.WithName(name))
	for round := range 2 {
		l, err := named.Assign(t.Context(), recycledRequest())
		if err != nil {
			t.Fatal(err)
		}
		if l.WorkerID() != 0 || round == 0 && time.Since(l.NotBefore()).Abs() > 10*time.Minute {
			t.Errorf("the worker ID is %d, and begins at %v", l.WorkerID(), l.NotBefore())
		}
		other, err := recycled.New(store, quiet()).Assign(t.Context(), recycledRequest())
		if err != nil {
			t.Fatal(err)
		}
		until := time.Now().Add(20 * time.Second)
		if got, err := l.Reserve(t.Context(), until); err != nil || got.Until.Before(until) {
			t.Errorf("Reserve(%v) = %v, %v", until, got.Until, err)
		}
		for _, one := range []workerassign.Lease{l, other} {
			if err := one.Release(t.Context(), time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	state, err := named.State(t.Context())
	if err != nil || len(state.Slots) != 2 || state.Slots[0].Holder.Name != name || time.Since(state.Now).Abs() > 10*time.Minute {
		t.Errorf("State() = %+v, %v", state, err)
	}
}

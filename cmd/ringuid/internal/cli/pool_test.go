package cli

import (
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// pool create creates the pool of a store once. The first generator then has UIDs at once.
func TestPoolCreate(t *testing.T) {
	t.Parallel()
	stores := map[string]string{"file": t.TempDir() + "/ids", "Redis": "redis://" + redistest.Start(t).Address()}
	maria := mariadbtest.Start(t)
	name, db := maria.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	stores["MariaDB"] = "mysql://root@" + maria.Address() + "/" + name + "?assign=recycled"
	for kind, store := range stores {
		r := run(t, "", []string{"RINGUID_STORE=" + store}, "pool", "create")
		if r.status != exitOK || r.stderr != "" || !strings.Contains(r.stdout, "The pool was created in ") || strings.Count(r.stdout, "\n") != 1 {
			t.Errorf("%s: %+v", kind, r)
		}
		fails(t, exitFailed, "ringuid: recycled: the pool exists: ", nil, "pool", "create", "--store", store)
		if r := run(t, "", nil, "next", "--store", store, "--assigner", "recycled"); r.status != exitOK || r.stderr != "" {
			t.Errorf("%s: the first UID: %+v", kind, r)
		}
	}
	fails(t, exitUsage, "--print-sql: connect: wrong store: "+stores["Redis"]+" is no database", nil, "pool", "create", "--print-sql", "--store", stores["Redis"])
	fails(t, exitUsage, "--store is not set", nil, "pool", "create")
	fails(t, exitUsage, "--timeout is 0s", nil, "pool", "create", "--store", stores["file"], "--timeout", "0s")
	fails(t, exitUsage, "assign", nil, "pool", "create", "--store", stores["MariaDB"]+"&assign=disposable")
}

// The statement that pool create prints creates the pool, on the server for which it was printed.
func TestPoolCreatePrintsSQL(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"MariaDB", "PostgreSQL"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var store string
			var db *sqlx.DB
			var restart func()
			if kind == "MariaDB" {
				server := mariadbtest.Start(t)
				name, admin := server.Database()
				testserver.RunScript(t, admin, ringuid.MySQLSchema())
				db = admin
				store, restart = "mysql://root@"+server.Address()+"/"+name+"?horizon=10m", func() { server.Kill(); server.Restart() }
			} else {
				server := postgrestest.Start(t)
				name, admin := server.Database()
				testserver.RunScript(t, admin, ringuid.PostgreSQLSchema())
				db = admin
				store, restart = server.DSN("postgres", "", name)+"&horizon=10m", func() { server.Kill(); server.Restart() }
			}
			exec := func(statement string) (rows int64, err error) {
				r, err := db.Exec(statement)
				if err != nil {
					return 0, err
				}
				return r.RowsAffected()
			}
			print := func() string {
				r := run(t, "", nil, "pool", "create", "--print-sql", "--store", store)
				if r.status != exitOK || r.stderr != "" || !strings.HasPrefix(r.stdout, "INSERT INTO ") || strings.Count(r.stdout, ";\n") != 1 {
					t.Fatalf("%+v", r)
				}
				return r.stdout
			}
			insert := func(what, statement string, want int64) {
				t.Helper()
				if rows, err := exec(strings.TrimSuffix(statement, ";\n")); err != nil || rows != want {
					t.Errorf("%s: %d rows, %v; want %d", what, rows, err, want)
				}
			}
			old := print()
			testkit.Eventually(t, "after a restart, nothing is inserted", func() bool {
				restart() // within a second, MariaDB has the same history
				rows, err := exec(strings.TrimSuffix(old, ";\n"))
				if err == nil && rows == 1 {
					insert("the pool of a server with the same history is deleted", "DELETE FROM WORKER_POOL", 1)
				}
				return err == nil && rows == 0
			})
			statement := print()
			const slot = "INSERT INTO WORKER_SLOT (worker_id, revision, from_ms, until_ms, history, written_ms, free_at_ms) VALUES (0, 1, 1, 1, '', 1, 1)"
			insert("a slot", slot, 1)
			insert("there is a slot", statement, 0)
			insert("no slot", "DELETE FROM WORKER_SLOT", 1)
			insert("neither pool nor slot", statement, 1)
			if _, err := exec(strings.TrimSuffix(statement, ";\n")); err == nil {
				t.Error("the statement is executed twice without an error")
			}
			fails(t, exitFailed, "the horizon is 1m15s; must be at least that of the pool, 10m0s (the parameter horizon of the store)", nil,
				"next", "--assigner", "recycled", "--store", strings.Replace(store, "horizon=10m", "", 1))
			if r := run(t, "", nil, "next", "--store", store, "--assigner", "recycled"); r.status != exitOK || r.stderr != "" {
				t.Errorf("the first UID: %+v", r)
			}
		})
	}
}

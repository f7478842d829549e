package workerassign_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/internal/schematest"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// newSection returns a section of schema.sql.
func newSection(t *testing.T, heading string, pairs ...string) *schematest.Section {
	t.Helper()
	return tested(t).Section(t, heading, pairs...)
}

// tested returns schema.sql with the headings of its sections that contain statements.
func tested(t *testing.T) schematest.Script {
	return schematest.Script{Name: "schema.sql", Text: schemaScript(t), Sections: []string{
		"SERVERS",                                    // TestSchemaServers
		"DURABILITY",                                 // TestSchemaDurability
		"PRIVILEGES",                                 // TestSchemaPrivileges
		"VERIFIED WORKER IDS",                        // TestVerified...
		"WHEN ROWS MAY BE DELETED",                   // TestSchemaDeletion
		"AFTER A FAILOVER OR A RESTORED BACKUP",      // TestSchemaFailover
		"HOW MANY ARE LEFT",                          // TestSchemaHowManyAreLeft
		"WHAT A SLOT MEANS",                          // TestSchemaSlots
		"PRIVILEGES ON SLOTS",                        // TestSchemaSlotPrivileges
		"SLOTS AFTER A RESTORED BACKUP",              // TestSchemaSlotFloor
		"WHAT A TAG MEANS",                           // TestSchemaTags
		"HOW TO ADD A TAG",                           // TestSchemaTags
		"HOW TO SIZE A STEP",                         // TestSchemaTags
		"PRIVILEGES ON TAGS",                         // TestSchemaTagPrivileges
		"WHICH TAGS MAY BE DELETED",                  // TestSchemaTagDeletion
		"TAGS AFTER A FAILOVER OR A RESTORED BACKUP", // TestSchemaTagFailover
	}}
}

// The comments of schema.sql have the form that package schematest requires, and every section with statements has a test.
func TestSchemaComments(t *testing.T) {
	tested(t).Check(t, "$ mysql ids < schema.sql")
}

// startFunc starts a server, like mariadbtest.Start.
type startFunc func(testing.TB, ...string) *mariadbtest.Server

// onEachServer runs a test on MariaDB and, in full size, on MySQL 5.6, each in strict mode.
func onEachServer(t *testing.T, test func(t *testing.T, start startFunc)) {
	const strict = "--sql-mode=STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY"
	for _, server := range []struct {
		name  string
		start startFunc
	}{{"MariaDB", mariadbtest.Start}, {"MySQL 5.6", mariadbtest.StartMySQL56}} {
		t.Run(server.name, func(t *testing.T) {
			if server.name != "MariaDB" {
				testkit.Full(t, "it repeats the test on MariaDB")
			}
			test(t, func(tb testing.TB, flags ...string) *mariadbtest.Server {
				tb.Helper()
				return server.start(tb, append([]string{strict}, flags...)...)
			})
		})
	}
}

// createIDsDatabase creates the database ids, which the comments of schema.sql use, without a table. It
// returns a connection to it as root. The character set is the default of a server without a
// configuration.
func createIDsDatabase(t *testing.T, s *mariadbtest.Server) *sqlx.DB {
	t.Helper()
	s.Admin().MustExec("CREATE DATABASE ids DEFAULT CHARACTER SET latin1")
	return mariadbtest.Open(t, s.DSN("root", "", "ids"))
}

// grant starts a generator with a worker ID from the table, and returns one of its UIDs and the worker
// ID.
func grant(ctx context.Context, db *sqlx.DB, opts ...workerassign.DisposableOption) (uid.ID, int64, error) {
	g, err := uid.NewDefault(ctx, workerassign.NewDisposable(db, opts...))
	if err != nil {
		return 0, 0, err
	}
	defer g.Close()
	id, err := g.Next()
	return id, g.Parse(id).WorkerID, err
}

// mustGrant is grant, but returns only the worker ID, and fails the test if there is an error.
func mustGrant(t *testing.T, db *sqlx.DB, opts ...workerassign.DisposableOption) int64 {
	t.Helper()
	_, id, err := grant(t.Context(), db, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// wantErrorNumber checks that err is an error of the server with one of the numbers.
func wantErrorNumber(t *testing.T, err error, what string, numbers ...uint16) {
	t.Helper()
	var server *mysql.MySQLError
	if !errors.As(err, &server) || !slices.Contains(numbers, server.Number) {
		t.Errorf("%s: %v, want one of the errors %d", what, err, numbers)
	}
}

// addRows inserts rows.
func addRows(t *testing.T, db *sqlx.DB, rows ...schematest.AgedRow) {
	t.Helper()
	for some := range slices.Chunk(rows, 1000) {
		var values strings.Builder
		for _, r := range some {
			fmt.Fprintf(&values, ", (%d, 'h', 'p', 3, CURRENT_DATE, NOW(), NOW() - INTERVAL %d SECOND)", r.ID, r.Ago)
		}
		if _, err := db.Exec("INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) VALUES " + values.String()[2:]); err != nil {
			t.Fatal(err)
		}
	}
}

// D12: the original's script drops the table, so that worker IDs are assigned a second time after it
// runs again. schema.sql may run repeatedly: it does not change rows and counter. The test uses several
// strict modes and both kinds of TIMESTAMP defaults.
func TestD12SchemaMayRunAgain(t *testing.T) {
	for n, flags := range [][]string{
		nil,
		{"--explicit-defaults-for-timestamp=OFF"},
		{"--explicit-defaults-for-timestamp=ON", "--sql-mode=STRICT_ALL_TABLES,STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY"},
		{"--explicit-defaults-for-timestamp=OFF", "--sql-mode=TRADITIONAL"},
		{"--lower-case-table-names=1", "--sql-mode=ANSI"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			if n >= 3 {
				testkit.Full(t, "the modes before it are the most usual ones")
			}
			s := mariadbtest.Start(t, flags...)
			_, db := s.Database()
			script := schemaScript(t)
			a := workerassign.NewDisposable(db)
			for run := range int64(3) {
				mariadbtest.RunScript(t, db, script)
				if l, err := a.Assign(context.Background(), workerassign.Request{}); err != nil || l.WorkerID() != run+1 {
					t.Fatalf("after run %d Assign() = %v, %v; want %d", run+1, l, err, run+1)
				}
			}
			// The statements of the comments run in each mode. Other tests check their results.
			db.MustExec(newSection(t, "HOW MANY ARE LEFT").Next("SELECT used"))
			deletion := newSection(t, "WHEN ROWS MAY BE DELETED")
			db.MustExec(deletion.Next("SET SESSION TRANSACTION ISOLATION LEVEL"))
			db.MustExec(deletion.Next("DELETE FROM WORKER_NODE"))
			db.MustExec("DELETE FROM WORKER_NODE") // the comments forbid this, but this server keeps its counter
			s.Kill()
			s.Restart()
			if l, err := a.Assign(context.Background(), workerassign.Request{}); err != nil || l.WorkerID() != 4 {
				t.Errorf("after a crash Assign() = %v, %v; want 4", l, err)
			}
		})
	}
	for _, statement := range mariadbtest.SplitStatements(schemaScript(t)) {
		if !regexp.MustCompile(`^CREATE TABLE IF NOT EXISTS (WORKER_(NODE|POOL|SLOT)|leaf_alloc) \(`).MatchString(statement) {
			t.Errorf("schema.sql contains another statement than CREATE TABLE: %s", statement)
		}
	}
}

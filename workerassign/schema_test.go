package workerassign_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// The comments of schema.sql have the form that package schematest requires, and every section with statements has a test.
func TestSchemaComments(t *testing.T) {
	schematest.MySQL().Check(t, "$ mysql ids < schema.sql")
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
			script := ringuid.MySQLSchema()
			a := workerassign.NewDisposable(db)
			for run := range int64(3) {
				testserver.RunScript(t, db, script)
				if l, err := a.Assign(context.Background(), workerassign.Request{}); err != nil || l.WorkerID() != run+1 {
					t.Fatalf("after run %d Assign() = %v, %v; want %d", run+1, l, err, run+1)
				}
			}
			// The statements of the comments run in each mode. Other tests check their results.
			db.MustExec(schematest.MySQL().Section(t, "HOW MANY ARE LEFT").Next("SELECT used"))
			deletion := schematest.MySQL().Section(t, "WHEN ROWS MAY BE DELETED")
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
	for _, statement := range testserver.SplitStatements(ringuid.MySQLSchema()) {
		if !regexp.MustCompile(`^CREATE TABLE IF NOT EXISTS (WORKER_(NODE|POOL|SLOT)|leaf_alloc) \(`).MatchString(statement) {
			t.Errorf("schema.sql contains another statement than CREATE TABLE: %s", statement)
		}
	}
}

package postgrestest_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// The comments have the form that parseComments requires, and every section with statements has a test.
func TestSchemaComments(t *testing.T) {
	t.Parallel()
	tested(t).Check(t, "$ psql -d ids -f schema.postgres.sql")
	for _, statement := range testserver.SplitStatements(schemaScript(t)) {
		if !strings.HasPrefix(statement, "CREATE TABLE IF NOT EXISTS ") && !strings.HasPrefix(statement, "CREATE INDEX IF NOT EXISTS ") {
			t.Errorf("schema.postgres.sql contains another statement than CREATE TABLE and CREATE INDEX: %s", statement)
		}
	}
}

// The script runs repeatedly with the command-line client, as its comment says, and changes neither rows nor
// the counter.
func TestSchemaMayRunAgain(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	client, err := exec.LookPath("psql")
	if err != nil {
		testkit.Missing(t, "the program psql was not found: install PostgreSQL's client (Debian's package postgresql-client)")
	}
	s.Admin().MustExec("CREATE DATABASE ids")
	db := postgrestest.Open(t, s.DSN("postgres", "", "ids"))
	for run := range int64(3) {
		cmd := exec.Command(client, "-v", "ON_ERROR_STOP=1", "-d", s.DSN("postgres", "", "ids"), "-f", "../../../schema.postgres.sql")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if id := mustAssign(t, db); id != run+1 {
			t.Errorf("after run %d worker ID %d is assigned, want %d", run+1, id, run+1)
		}
	}
}

// The accounts of the statements can insert rows. They cannot choose an ID or do anything else.
func TestSchemaPrivileges(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	statements := newSection(t, "PRIVILEGES", "<password>", "secret")
	db.MustExec(statements.Next("CREATE ROLE"))
	service := openAsService(t, s)
	_, err := assign(t, service)
	wantState(t, err, "without privileges", "42501")

	limited := func() {
		t.Helper()
		last := mustAssign(t, service)
		for _, forbidden := range []string{
			"INSERT INTO worker_node (id, host_name, port, type, launch_date) OVERRIDING SYSTEM VALUE VALUES (4194303, 'h', 'p', 3, CURRENT_DATE)",
			"SELECT * FROM worker_node", "SELECT host_name FROM worker_node", "DELETE FROM worker_node", "UPDATE worker_node SET id = DEFAULT",
			"UPDATE worker_node SET type = 1", "TRUNCATE worker_node", "DROP TABLE worker_node",
			"ALTER TABLE worker_node ALTER COLUMN id RESTART", "SELECT setval('worker_node_id_seq', 1)", "SELECT nextval('worker_node_id_seq')",
			"CREATE TABLE t (n INT)",
		} {
			_, err := service.Exec(forbidden)
			wantState(t, err, "as the service: "+forbidden, "42501")
		}
		if id := mustAssign(t, service); id != last+1 {
			t.Errorf("worker ID %d was assigned after %d, want %d", id, last, last+1)
		}
	}
	db.MustExec(statements.Next("GRANT INSERT ("))
	limited()
	db.MustExec("GRANT INSERT ON worker_node TO service")
	db.MustExec(statements.Next("REVOKE INSERT"))
	db.MustExec(statements.Next("GRANT INSERT ("))
	limited()

	// A table of a Java service, with names that are not quoted.
	db.MustExec("DROP TABLE worker_node")
	db.MustExec("CREATE TABLE WORKER_NODE (ID BIGSERIAL PRIMARY KEY, HOST_NAME VARCHAR(64) NOT NULL, PORT VARCHAR(64) NOT NULL, TYPE INT NOT NULL," +
		" LAUNCH_DATE DATE NOT NULL, MODIFIED TIMESTAMP NOT NULL, CREATED TIMESTAMP NOT NULL)")
	db.MustExec("GRANT INSERT (host_name, port, type, launch_date, modified, created), SELECT (id) ON worker_node TO service")
	_, err = assign(t, service)
	wantState(t, err, "without the privilege on the sequence", "42501")
	db.MustExec(statements.Next("GRANT USAGE"))
	if id := mustAssign(t, service); id != 2 { // the attempt above has used up 1, or not
		if id != 1 {
			t.Errorf("worker ID %d, want 1 or 2", id)
		}
	}
}

// addRows inserts rows.
func addRows(t *testing.T, db *sqlx.DB, rows ...schematest.AgedRow) {
	t.Helper()
	for some := range slices.Chunk(rows, 1000) {
		var values strings.Builder
		for _, r := range some {
			fmt.Fprintf(&values, ", (%d, 'h', 'p', 3, CURRENT_DATE, now(), now() - INTERVAL '%d seconds')", r.ID, r.Ago)
		}
		if _, err := db.Exec("INSERT INTO worker_node (id, host_name, port, type, launch_date, modified, created) OVERRIDING SYSTEM VALUE VALUES " +
			values.String()[2:]); err != nil {
			t.Fatal(err)
		}
	}
}

// The DELETE statement deletes old rows in batches. It does not delete newer rows, or the row with the
// greatest ID, and it does not block inserts.
func TestSchemaDeletion(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	const old, batch, day = 25_000, 10_000, 86_400
	var rows []schematest.AgedRow
	for id := range int64(old) {
		rows = append(rows, schematest.AgedRow{ID: id + 1, Ago: 2 * 366 * day})
	}
	addRows(t, db, rows...)
	addRows(t, db, schematest.AgedRow{ID: old + 1, Ago: 364 * day}, schematest.AgedRow{ID: old + 2, Ago: 0}, schematest.AgedRow{ID: old + 3, Ago: 2 * 366 * day}) // the last row is old, but has the greatest ID
	db.MustExec("SELECT setval('worker_node_id_seq', 50000)")
	remove := newSection(t, "WHEN ROWS MAY BE DELETED").Next("DELETE FROM worker_node")
	must := func(n int64) {
		t.Helper()
		result, err := db.Exec(remove)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := result.RowsAffected(); got != n {
			t.Errorf("the batch has %d rows, want %d", got, n)
		}
	}
	tx := db.MustBegin()
	tx.MustExec(remove)
	mustAssign(t, db) // during the DELETE
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	db.MustExec("DELETE FROM worker_node WHERE id > 50000")
	must(batch)
	must(batch)
	must(old - 2*batch)
	must(0)
	var left []int64
	if err := db.Select(&left, "SELECT id FROM worker_node ORDER BY id"); err != nil || !slices.Equal(left, []int64{old + 1, old + 2, old + 3}) {
		t.Errorf("the remaining rows are %d, %v", left, err)
	}
}

// The query is right on tables that are empty, new or old, or whose counter was raised. It never returns 0
// days if there are many left.
func TestSchemaHowManyAreLeft(t *testing.T) {
	t.Parallel()
	db := idsDatabase(t, postgrestest.Start(t))
	schematest.TestHowManyAreLeft(t, tested(t), db, addRows)
}

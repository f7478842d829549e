package postgrestest_test

import (
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit"
)

// The comments have the form that parseComments requires, and every section with statements has a test.
func TestSchemaComments(t *testing.T) {
	t.Parallel()
	c, err := parseComments(schemaScript(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := testedSections(); !slices.Equal(c.headings, want) {
		t.Errorf("the sections with statements are %q, want %q", c.headings, want)
	}
	if want := []string{"$ psql -d ids -f schema.postgres.sql"}; !slices.Equal(c.commands, want) {
		t.Errorf("the commands are %q, want %q", c.commands, want)
	}
	for _, statement := range postgrestest.SplitStatements(schemaScript(t)) {
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
		cmd := exec.Command(client, "-v", "ON_ERROR_STOP=1", "-d", s.DSN("postgres", "", "ids"), "-f", "../../schema.postgres.sql")
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
	db.MustExec(statements.nextStatement("CREATE ROLE"))
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
	db.MustExec(statements.nextStatement("GRANT INSERT ("))
	limited()
	db.MustExec("GRANT INSERT ON worker_node TO service")
	db.MustExec(statements.nextStatement("REVOKE INSERT"))
	db.MustExec(statements.nextStatement("GRANT INSERT ("))
	limited()

	// A table of a Java service, with names that are not quoted.
	db.MustExec("DROP TABLE worker_node")
	db.MustExec("CREATE TABLE WORKER_NODE (ID BIGSERIAL PRIMARY KEY, HOST_NAME VARCHAR(64) NOT NULL, PORT VARCHAR(64) NOT NULL, TYPE INT NOT NULL," +
		" LAUNCH_DATE DATE NOT NULL, MODIFIED TIMESTAMP NOT NULL, CREATED TIMESTAMP NOT NULL)")
	db.MustExec("GRANT INSERT (host_name, port, type, launch_date, modified, created), SELECT (id) ON worker_node TO service")
	_, err = assign(t, service)
	wantState(t, err, "without the privilege on the sequence", "42501")
	db.MustExec(statements.nextStatement("GRANT USAGE"))
	if id := mustAssign(t, service); id != 2 { // the attempt above has used up 1, or not
		if id != 1 {
			t.Errorf("worker ID %d, want 1 or 2", id)
		}
	}
}

// agedRow is a row with its ID and its age in seconds.
type agedRow struct{ id, ago int64 }

// addRows inserts rows.
func addRows(t *testing.T, db *sqlx.DB, rows ...agedRow) {
	t.Helper()
	for some := range slices.Chunk(rows, 1000) {
		var values strings.Builder
		for _, r := range some {
			fmt.Fprintf(&values, ", (%d, 'h', 'p', 3, CURRENT_DATE, now(), now() - INTERVAL '%d seconds')", r.id, r.ago)
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
	var rows []agedRow
	for id := range int64(old) {
		rows = append(rows, agedRow{id + 1, 2 * 366 * day})
	}
	addRows(t, db, rows...)
	addRows(t, db, agedRow{old + 1, 364 * day}, agedRow{old + 2, 0}, agedRow{old + 3, 2 * 366 * day}) // the last row is old, but has the greatest ID
	db.MustExec("SELECT setval('worker_node_id_seq', 50000)")
	remove := newSection(t, "WHEN ROWS MAY BE DELETED").nextStatement("DELETE FROM worker_node")
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
	query := newSection(t, "HOW MANY ARE LEFT").nextStatement("SELECT used, supply")
	const day, supply = 86_400, 1<<22 - 1
	daily := []agedRow{{1000, 10 * day}, {1030, 9 * day}, {1060, 8 * day}, {1090, 7 * day}, {1120, 6 * day}, {1150, 5 * day},
		{1180, 4 * day}, {1210, 3 * day}, {1240, 2 * day}, {1270, day}, {1300, 0}}
	var dense []agedRow // 100 a day
	for i := range int64(2001) {
		dense = append(dense, agedRow{500 + i, 20*day - i*864})
	}
	for _, tt := range []struct {
		name   string
		rows   []agedRow
		used   int64   // 0 means that used is NULL
		perDay float64 // 0 means that per_day and days_left are NULL
	}{
		{"an empty table", nil, 0, 0},
		{"one row", []agedRow{{7, 5 * day}}, 7, 0},
		{"rows of one second", []agedRow{{1, 0}, {2, 0}, {3, 0}}, 3, 0},
		{"rows of one second, two days ago", []agedRow{{1, 2 * day}, {2, 2 * day}, {3, 2 * day}}, 3, 1},
		{"rows of minutes", []agedRow{{1, 600}, {2, 300}, {3, 0}}, 3, 0},
		{"no young rows", []agedRow{{1, 40 * day}, {2, 35 * day}}, 2, 0},
		{"keys without rows", daily, 1300, 30},
		{"old rows, which do not count", append([]agedRow{{1, 300 * day}, {900, 31 * day}}, daily...), 1300, 30},
		{"thousands", dense, 2500, 100},
		{"a raised counter", append([]agedRow{{1_000_000, 0}}, daily...), 1_000_000, 30.1},
		{"a raised counter, and rows beyond", append([]agedRow{{1_000_000, 3600}, {1_000_001, 60}, {1_000_002, 0}}, dense...), 1_000_002, 100.15},
		{"nothing left", append([]agedRow{{supply, 60}, {supply + 1, 0}}, daily...), supply + 1, 30.2},
	} {
		db.MustExec("DELETE FROM worker_node")
		addRows(t, db, tt.rows...)
		var got struct {
			Used    *int64   `db:"used"`
			Supply  int64    `db:"supply"`
			Percent *float64 `db:"percent"`
			PerDay  *float64 `db:"per_day"`
			Days    *float64 `db:"days_left"`
		}
		if err := db.Get(&got, query); err != nil {
			t.Fatal(err)
		}
		if got.Supply != supply || (got.Used == nil) != (tt.used == 0) || (got.PerDay == nil) != (tt.perDay == 0) || (got.Days == nil) != (tt.perDay == 0) {
			t.Errorf("%s: %+v; want %d used, %v per day", tt.name, got, tt.used, tt.perDay)
			continue
		}
		if got.Used != nil && (*got.Used != tt.used || math.Abs(*got.Percent-100*float64(tt.used)/supply) > 0.01) {
			t.Errorf("%s: %d used, %v percent; want %d used", tt.name, *got.Used, *got.Percent, tt.used)
		}
		if got.PerDay == nil {
			continue
		}
		days := max(0, float64(supply-tt.used)) / tt.perDay
		// The rows are inserted one after the other, so a slow machine changes the rate slightly.
		if math.Abs(*got.PerDay-tt.perDay) > 0.005*tt.perDay || math.Abs(*got.Days-days) > 0.005*days {
			t.Errorf("%s: %v per day, %v days left; want %v and %v", tt.name, *got.PerDay, *got.Days, tt.perDay, days)
		}
	}
}

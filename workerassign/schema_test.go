package workerassign_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/internal/needs"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// The sections of schema.sql's comments that have statements, each with the test that runs
// all of them. TestSchemaComments finds a section that is not here, and section.next a
// statement that its test does not run.
func testedSections() []string {
	return []string{
		"SERVERS",                               // TestSchemaServers
		"DURABILITY",                            // TestSchemaDurability
		"PRIVILEGES",                            // TestSchemaPrivileges
		"WHEN ROWS MAY BE DELETED",              // TestSchemaDeletion
		"AFTER A FAILOVER OR A RESTORED BACKUP", // TestSchemaFailover
		"HOW MANY ARE LEFT",                     // TestSchemaHowManyAreLeft
	}
}

// comments are the statements in schema.sql's comments, by the headings of their sections in
// the file's order, and the commands of the shell.
type comments struct {
	headings   []string
	statements map[string][]string
	commands   []string
}

// parseComments reads comments of a regular form: a heading in capitals begins a section;
// lines indented by seven spaces or more are statements, each of which ends with a
// semicolon, or commands, which begin with a dollar sign; all else is prose, in which there
// is no semicolon.
func parseComments(script string) (*comments, error) {
	var (
		c         = &comments{statements: map[string][]string{}}
		heading   string
		statement []string
		isHeading = regexp.MustCompile(`^[A-Z][A-Z ]+$`)
	)
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		text, ok := strings.CutPrefix(line, "--")
		code, isCode := strings.CutPrefix(text, "       ")
		code = strings.TrimSpace(code)
		switch {
		case !ok || !isCode:
			if len(statement) > 0 {
				return nil, fmt.Errorf("no semicolon ends the statement %q", statement)
			}
			if ok && strings.Contains(text, ";") {
				return nil, fmt.Errorf("there is a semicolon in prose, or a statement that is not indented by seven spaces: %q", line)
			}
			if h := strings.TrimSpace(text); ok && isHeading.MatchString(h) {
				heading = h
			}
		case strings.HasPrefix(code, "$ "):
			c.commands = append(c.commands, code)
		default:
			statement = append(statement, code)
			if body, ends := strings.CutSuffix(strings.Join(statement, "\n"), ";"); ends {
				if len(c.statements[heading]) == 0 {
					c.headings = append(c.headings, heading)
				}
				c.statements[heading] = append(c.statements[heading], body)
				statement = nil
			}
		}
	}
	return c, nil
}

// The comments of schema.sql have the form from which the tests take the statements, and
// every section with statements has a test.
func TestSchemaComments(t *testing.T) {
	c, err := parseComments(schema(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := testedSections(); !slices.Equal(c.headings, want) {
		t.Errorf("the sections with statements are %q, want %q", c.headings, want)
	}
	if want := []string{"$ mysql ids < schema.sql"}; !slices.Equal(c.commands, want) {
		t.Errorf("the commands are %q, want %q", c.commands, want)
	}
	for _, wrong := range []string{"--   SELECT 1;\n", "--       SELECT 1\n-- prose\n", "--       SELECT\nCREATE TABLE"} {
		if c, err := parseComments(wrong); err == nil {
			t.Errorf("from %q come %q, want an error", wrong, c.statements)
		}
	}
}

// section gives a test the statements of a section of schema.sql's comments, in order.
type section struct {
	t     *testing.T
	left  []string
	names *strings.Replacer
}

// newSection returns a section. The test fails if it leaves a statement of it. The pairs are
// what is replaced, and by what; a placeholder that remains is an error.
func newSection(t *testing.T, heading string, pairs ...string) *section {
	t.Helper()
	c, err := parseComments(schema(t))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(testedSections(), heading) || len(c.statements[heading]) == 0 {
		t.Fatalf("schema.sql has no section %q with statements, or testedSections does not", heading)
	}
	s := &section{t: t, left: c.statements[heading], names: strings.NewReplacer(pairs...)}
	t.Cleanup(func() {
		if len(s.left) > 0 && !t.Failed() {
			t.Errorf("statements of the section %s that were not run: %q", heading, s.left)
		}
	})
	return s
}

// next returns the next statement, which must begin as given, with its placeholders replaced
// by what else is given, in pairs.
func (s *section) next(begin string, pairs ...string) string {
	s.t.Helper()
	if len(s.left) == 0 || !strings.HasPrefix(s.left[0], begin) {
		s.t.Fatalf("the statements that are left are %q, want one that begins with %q", s.left, begin)
	}
	statement := strings.NewReplacer(pairs...).Replace(s.names.Replace(s.left[0]))
	s.left = s.left[1:]
	if placeholder := regexp.MustCompile(`<[A-Za-z][A-Za-z ]*>`).FindString(statement); placeholder != "" {
		s.t.Fatalf("nothing replaces %s in %s", placeholder, statement)
	}
	return statement
}

// begin starts a server.
type begin func(testing.TB, ...string) *mariadbtest.Server

// onEachServer runs a test on MariaDB, and on MySQL 5.6 where that is found, each with a
// strict mode.
func onEachServer(t *testing.T, test func(t *testing.T, start begin)) {
	const strict = "--sql-mode=STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY"
	for _, server := range []struct {
		name  string
		start begin
	}{{"MariaDB", mariadbtest.Start}, {"MySQL 5.6", mariadbtest.StartMySQL56}} {
		t.Run(server.name, func(t *testing.T) {
			test(t, func(tb testing.TB, flags ...string) *mariadbtest.Server {
				tb.Helper()
				return server.start(tb, append([]string{strict}, flags...)...)
			})
		})
	}
}

// ids makes the database that schema.sql's comments name, without a table, and returns a
// connection to it as root. Its character set is what a server without a configuration has.
func ids(t *testing.T, s *mariadbtest.Server) *sqlx.DB {
	t.Helper()
	s.Admin().MustExec("CREATE DATABASE ids DEFAULT CHARACTER SET latin1")
	return mariadbtest.Open(t, s.DSN("root", "", "ids"))
}

// grant starts a generator with a worker ID of the table, and returns a UID of it and the
// worker ID.
func grant(ctx context.Context, db *sqlx.DB, opts ...workerassign.DisposableOption) (uid.ID, int64, error) {
	g, err := uid.NewDefault(ctx, workerassign.NewDisposable(db, opts...))
	if err != nil {
		return 0, 0, err
	}
	defer g.Close()
	id, err := g.Next()
	return id, g.Parse(id).WorkerID, err
}

// mustGrant returns the worker ID of a grant that must succeed.
func mustGrant(t *testing.T, db *sqlx.DB, opts ...workerassign.DisposableOption) int64 {
	t.Helper()
	_, id, err := grant(t.Context(), db, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// wantNumber checks that an error is the server's with one of the numbers.
func wantNumber(t *testing.T, err error, what string, numbers ...uint16) {
	t.Helper()
	var server *mysql.MySQLError
	if !errors.As(err, &server) || !slices.Contains(numbers, server.Number) {
		t.Errorf("%s: %v, want one of the errors %d", what, err, numbers)
	}
}

// addRow inserts a row with an ID, created so many seconds ago.
func addRow(t *testing.T, db *sqlx.DB, id, ago int64) {
	t.Helper()
	if _, err := db.Exec(`INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED)
		VALUES (?, 'h', 'p', 3, CURRENT_DATE, NOW(), NOW() - INTERVAL ? SECOND)`, id, ago); err != nil {
		t.Fatal(err)
	}
}

// The script runs through the client as the comment says, over and over; and the table takes
// any host name, whatever the database's character set. A table without that gets it by the
// statement, and keeps its counter.
func TestSchemaServers(t *testing.T) {
	onEachServer(t, func(t *testing.T, start begin) {
		var client string
		for _, name := range []string{"mariadb", "mysql"} {
			if path, err := exec.LookPath(name); err == nil {
				client = path
				break
			}
		}
		if client == "" {
			needs.Missing(t, "the program mariadb was not found: install MariaDB's client (Debian's package mariadb-client)")
		}
		s := start(t)
		db := ids(t, s)
		cfg, err := mysql.ParseDSN(s.DSN("root", "", ""))
		if err != nil {
			t.Fatal(err)
		}
		host, port, _ := strings.Cut(cfg.Addr, ":")
		chinese := workerassign.WithNode(workerassign.Node{HostName: "主机-1", Port: "8080", Type: workerassign.Actual})
		for run := range int64(3) {
			script, err := os.Open("../schema.sql")
			if err != nil {
				t.Fatal(err)
			}
			defer script.Close()
			cmd := exec.Command(client, "--no-defaults", "--protocol=tcp", "--host="+host, "--port="+port, "--user=root", "ids")
			cmd.Stdin = script
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if id := mustGrant(t, db, chinese); id != run+1 {
				t.Errorf("after run %d worker ID %d is granted, want %d", run+1, id, run+1)
			}
		}

		db.MustExec("DROP TABLE WORKER_NODE")
		// As Baidu's script makes it, on a server that is not strict; and so inserts work on one that is.
		mariadbtest.Script(t, mariadbtest.Open(t, s.DSN("root", "", "ids")+"?sql_mode="+url.QueryEscape("''")), original)
		last := mustGrant(t, db)
		_, _, err = grant(t.Context(), db, chinese)
		wantNumber(t, err, "a Chinese host name in latin1", 1366)
		statements, admin := newSection(t, "SERVERS"), mariadbtest.Open(t, s.DSN("root", "", "ids"))
		admin.SetMaxOpenConns(1) // so that the statements share a session
		admin.MustExec(statements.next("SET SESSION sql_mode"))
		admin.MustExec(statements.next("ALTER TABLE WORKER_NODE CONVERT"))
		if id := mustGrant(t, db, chinese); id <= last {
			t.Errorf("worker ID %d comes after %d", id, last)
		}
		var names int
		if err := db.Get(&names, "SELECT COUNT(*) FROM WORKER_NODE WHERE HOST_NAME = '主机-1'"); err != nil || names != 1 {
			t.Errorf("%d rows of the host, %v; want 1", names, err)
		}
	})
}

// The accounts that the statements make insert rows, and cannot choose an ID or do anything
// else; in the order of the comments, on a server that has neither.
func TestSchemaPrivileges(t *testing.T) {
	onEachServer(t, func(t *testing.T, start begin) {
		s := start(t)
		db := ids(t, s)
		statements := newSection(t, "PRIVILEGES", "<password>", "secret")
		create, columns := statements.next("CREATE USER"), statements.next("GRANT INSERT (")
		if _, err := db.Exec(columns); err == nil {
			t.Error("the grant succeeds before the table and the account exist")
		}
		mariadbtest.Script(t, db, schema(t))
		db.MustExec(create)

		limited := func() {
			t.Helper()
			service := mariadbtest.Open(t, s.DSN("service", "secret", "ids")) // privileges are those of the next statement
			last := mustGrant(t, service)
			for _, forbidden := range []string{
				"INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES (9223372036854775806, 'h', 'p', 3, CURRENT_DATE)",
				"INSERT INTO WORKER_NODE VALUES (9223372036854775806, 'h', 'p', 3, CURRENT_DATE, NOW(), NOW())",
				"SELECT ID FROM WORKER_NODE", "DELETE FROM WORKER_NODE", "UPDATE WORKER_NODE SET ID = 7", "UPDATE WORKER_NODE SET TYPE = 1",
				"TRUNCATE TABLE WORKER_NODE", "DROP TABLE WORKER_NODE", "ALTER TABLE WORKER_NODE AUTO_INCREMENT = 1", "CREATE TABLE t (n INT)",
			} {
				_, err := service.Exec(forbidden)
				wantNumber(t, err, "as the service: "+forbidden, 1142, 1143)
			}
			if id := mustGrant(t, service); id != last+1 {
				t.Errorf("worker ID %d comes after %d", id, last)
			}
		}
		db.MustExec(columns)
		limited()

		db.MustExec("GRANT INSERT ON ids.WORKER_NODE TO 'service'@'%'") // as schema.sql had it once
		addRow(t, mariadbtest.Open(t, s.DSN("service", "secret", "ids")), 1000, 0)
		db.MustExec(statements.next("REVOKE INSERT"))
		db.MustExec(statements.next("GRANT INSERT ("))
		limited()
	})
}

// The DELETE deletes old rows, and neither the newest nor young ones, in pieces; also with
// sql_safe_updates. While one piece runs, others insert.
func TestSchemaDeletion(t *testing.T) {
	onEachServer(t, func(t *testing.T, start begin) {
		s := start(t, mariadbtest.PrimaryFlags()...)
		db := ids(t, s)
		mariadbtest.Script(t, db, schema(t))
		const old, piece = 25_000, 10_000
		for first := 1; first <= old; first += 1000 {
			var values strings.Builder
			for id := first; id < first+1000; id++ {
				fmt.Fprintf(&values, ", (%d, 'h', 'p', 3, CURRENT_DATE, NOW(), NOW() - INTERVAL 2 YEAR)", id)
			}
			db.MustExec("INSERT INTO WORKER_NODE VALUES " + values.String()[2:])
		}
		const day = 86_400
		addRow(t, db, old+1, 364*day)
		addRow(t, db, old+2, 0)
		addRow(t, db, old+3, 2*366*day) // the newest by its ID

		ctx := t.Context()
		conn, err := db.Connx(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		run := func(statement string) (int64, error) {
			t.Helper()
			result, err := conn.ExecContext(ctx, statement)
			if err != nil {
				return 0, err
			}
			return result.RowsAffected()
		}
		must := func(statement string) int64 {
			t.Helper()
			n, err := run(statement)
			if err != nil {
				t.Fatalf("%v\nin: %s", err, statement)
			}
			return n
		}
		must("SET SESSION sql_safe_updates = 1")
		other := mariadbtest.Open(t, s.DSN("root", "", "ids")+"?innodb_lock_wait_timeout=1")
		insert := func() error {
			_, err := other.Exec("INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES ('h', 'p', 3, CURRENT_DATE)")
			return err
		}
		statements := newSection(t, "WHEN ROWS MAY BE DELETED")
		isolation, remove := statements.next("SET SESSION TRANSACTION ISOLATION LEVEL"), statements.next("DELETE FROM WORKER_NODE")

		// Why the isolation level: an open transaction stands for a DELETE that runs.
		must("BEGIN")
		must(remove)
		wantNumber(t, insert(), "an insert beside the DELETE at the default isolation level", 1205)
		must("ROLLBACK")
		must(isolation)
		must("BEGIN")
		if n := must(remove); n != piece {
			t.Errorf("the first piece is %d rows, want %d", n, piece)
		}
		if err := insert(); err != nil {
			t.Errorf("an insert beside the DELETE: %v", err)
		}
		must("COMMIT")

		must("SET SESSION binlog_format = 'STATEMENT'")
		_, err = run(remove)
		wantNumber(t, err, "the DELETE with a binary log of statements", 1665)
		must("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
		if n := must(strings.Replace(remove, "LIMIT 10000", "LIMIT 1000", 1)); n != 1000 {
			t.Errorf("a smaller piece is %d rows, want 1000", n)
		}
		must("SET SESSION binlog_format = 'ROW'")
		must(isolation)
		for range 5 {
			must(remove)
		}
		if n := must(remove); n != 0 {
			t.Errorf("a piece after the last has %d rows", n)
		}
		var left []int64
		if err := db.Select(&left, "SELECT ID FROM WORKER_NODE WHERE ID <= ? ORDER BY ID", old+3); err != nil {
			t.Fatal(err)
		}
		// Once others are newer, the row that was the newest may go.
		if want := []int64{old + 1, old + 2}; !slices.Equal(left, want) {
			t.Errorf("the rows that are left are %d, want %d", left, want)
		}
		db.MustExec("DELETE FROM WORKER_NODE")
		addRow(t, db, 50_000, 2*366*day)
		if n := must(remove); n != 0 {
			t.Error("the row with the greatest ID is deleted")
		}
	})
}

// The query is right on tables that are empty, new, of long ago, or with a counter that was
// raised, and never says 0 days where there are many.
func TestSchemaHowManyAreLeft(t *testing.T) {
	onEachServer(t, func(t *testing.T, start begin) {
		db := ids(t, start(t))
		mariadbtest.Script(t, db, schema(t))
		query := newSection(t, "HOW MANY ARE LEFT").next("SELECT used, supply")
		const day, supply = 86_400, 1<<22 - 1
		type row struct{ id, ago int64 }
		daily := []row{{1000, 10 * day}, {1030, 9 * day}, {1060, 8 * day}, {1090, 7 * day}, {1120, 6 * day}, {1150, 5 * day},
			{1180, 4 * day}, {1210, 3 * day}, {1240, 2 * day}, {1270, day}, {1300, 0}}
		var dense []row // 100 a day
		for i := range int64(2001) {
			dense = append(dense, row{500 + i, 20*day - i*864})
		}
		for _, tt := range []struct {
			name   string
			rows   []row
			used   int64   // 0: NULL
			perDay float64 // 0: NULL, as days_left
		}{
			{"an empty table", nil, 0, 0},
			{"one row", []row{{7, 5 * day}}, 7, 0},
			{"rows of one second", []row{{1, 0}, {2, 0}, {3, 0}}, 3, 0},
			{"rows of one second, two days ago", []row{{1, 2 * day}, {2, 2 * day}, {3, 2 * day}}, 3, 1},
			{"rows of minutes", []row{{1, 600}, {2, 300}, {3, 0}}, 3, 0},
			{"no young rows", []row{{1, 40 * day}, {2, 35 * day}}, 2, 0},
			{"keys without rows", daily, 1300, 30},
			{"old rows, which do not count", append([]row{{1, 300 * day}, {900, 31 * day}}, daily...), 1300, 30},
			{"thousands", dense, 2500, 100},
			{"a raised counter", append([]row{{1_000_000, 0}}, daily...), 1_000_000, 30.1},
			{"a raised counter, and rows beyond", append([]row{{1_000_000, 3600}, {1_000_001, 60}, {1_000_002, 0}}, dense...), 1_000_002, 100.15},
			{"nothing left", append([]row{{supply, 60}, {supply + 1, 0}}, daily...), supply + 1, 30.2},
		} {
			db.MustExec("DELETE FROM WORKER_NODE")
			for _, r := range tt.rows {
				addRow(t, db, r.id, r.ago)
			}
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
			text := fmt.Sprintf("%s: used %s, percent %s, per day %s, days left %s", tt.name,
				orNull(got.Used), orNull(got.Percent), orNull(got.PerDay), orNull(got.Days))
			if got.Supply != supply || (got.Used == nil) != (tt.used == 0) || (got.PerDay == nil) != (tt.perDay == 0) || (got.Days == nil) != (tt.perDay == 0) {
				t.Errorf("%s; want %d used, %v per day", text, tt.used, tt.perDay)
				continue
			}
			if got.Used != nil && (*got.Used != tt.used || math.Abs(*got.Percent-100*float64(tt.used)/supply) > 0.01) {
				t.Errorf("%s; want %d used", text, tt.used)
			}
			if got.PerDay == nil {
				continue
			}
			days := max(0, float64(supply-tt.used)) / tt.perDay
			// Rows are inserted one after the other, so a slow machine shifts the rate a little.
			if math.Abs(*got.PerDay-tt.perDay) > 0.005*tt.perDay || math.Abs(*got.Days-days) > 0.005*days {
				t.Errorf("%s; want %v per day, %v days left", text, tt.perDay, days)
			}
		}
	})
}

// orNull is a value that may be NULL, as text.
func orNull[T any](v *T) string {
	if v == nil {
		return "NULL"
	}
	return fmt.Sprint(*v)
}

// The statements show and set what keeps acknowledged inserts.
func TestSchemaDurability(t *testing.T) {
	onEachServer(t, func(t *testing.T, start begin) {
		s := start(t, append(mariadbtest.PrimaryFlags(), "--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0")...)
		admin := s.Admin()
		statements := newSection(t, "DURABILITY")
		show := statements.next("SELECT @@GLOBAL.")
		settings := func(want string) {
			t.Helper()
			var flush, binlog int
			if err := admin.QueryRow(show).Scan(&flush, &binlog); err != nil || fmt.Sprint(flush, binlog) != want {
				t.Errorf("the settings are %d and %d, %v; want %s", flush, binlog, err, want)
			}
		}
		settings("0 0")
		admin.MustExec(statements.next("SET GLOBAL innodb_flush_log_at_trx_commit"))
		admin.MustExec(statements.next("SET GLOBAL sync_binlog"))
		settings("1 1")
		admin.MustExec(statements.next("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%_status'")) // its result: TestSemiSynchronousReplica
	})
}

// A server that is killed forgets acknowledged inserts at 0, where the log is written now and
// then only, and keeps them at 1 and 2.
func TestKilledServerByDurability(t *testing.T) {
	onEachServer(t, func(t *testing.T, start begin) {
		// The longest time until the log is written anyway, so that it is not during the test.
		s := start(t, "--innodb-flush-log-at-trx-commit=1", "--innodb-flush-log-at-timeout=2700")
		db := ids(t, s)
		mariadbtest.Script(t, db, schema(t))
		for _, setting := range []string{"1", "2", "0"} {
			first := mustGrant(t, db)
			db.MustExec("SET GLOBAL innodb_flush_log_at_trx_commit = " + setting)
			last := first
			for range 5 {
				last = mustGrant(t, db)
			}
			s.Kill()
			s.Restart()
			id := mustGrant(t, db)
			if forgotten := id <= last; forgotten != (setting == "0") {
				t.Errorf("at %s, after %d to %d were granted and the server was killed, it grants %d", setting, first, last, id)
			}
		}
	})
}

// What raises the counter: a row with an explicit ID always; ALTER TABLE is forgotten by a
// restart where the counter is in memory, and ignores in silence what is too small. Without
// its greatest row such a server goes back.
func TestRaisedCounter(t *testing.T) {
	onEachServer(t, func(t *testing.T, start begin) {
		s := start(t)
		db := ids(t, s)
		mariadbtest.Script(t, db, schema(t))
		inMemory := strings.HasSuffix(t.Name(), "5.6")
		restart := func() {
			s.Stop()
			s.Restart()
		}
		want := func(id int64, why string) {
			t.Helper()
			if got := mustGrant(t, db); got != id {
				t.Errorf("%s: worker ID %d is granted, want %d", why, got, id)
			}
		}
		want(1, "a new table")
		db.MustExec("ALTER TABLE WORKER_NODE AUTO_INCREMENT = 1")
		want(2, "ALTER TABLE to less than the counter")
		db.MustExec("ALTER TABLE WORKER_NODE AUTO_INCREMENT = 1000")
		restart()
		last := int64(1000)
		if inMemory {
			last = 3
		}
		want(last, "ALTER TABLE and a restart")
		addRow(t, db, 5000, 0)
		restart()
		want(5001, "a row with an explicit ID and a restart")
		_, err := db.Exec("INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES (5001, 'h', 'p', 3, CURRENT_DATE)")
		wantNumber(t, err, "a row with an ID that is there", 1062)
		db.MustExec("DELETE FROM WORKER_NODE WHERE ID = 5001")
		restart()
		next := int64(5002)
		if inMemory {
			next = 5001 // again
		}
		want(next, "the greatest row deleted and a restart")
	})
}

// The table is created on a strict server with either kind of TIMESTAMP defaults; on MariaDB
// TestD12SchemaMayRunAgain has more modes.
func TestSchemaStrictModes(t *testing.T) {
	onEachServer(t, func(t *testing.T, start begin) {
		s := start(t, "--explicit-defaults-for-timestamp=ON", "--sql-mode=TRADITIONAL")
		db := ids(t, s)
		mariadbtest.Script(t, db, schema(t))
		mustGrant(t, db)
		var left int
		if err := db.Get(&left, `SELECT COUNT(*) FROM WORKER_NODE WHERE CREATED BETWEEN NOW() - INTERVAL 5 MINUTE AND NOW()
			AND MODIFIED BETWEEN NOW() - INTERVAL 5 MINUTE AND NOW()`); err != nil || left != 1 {
			t.Errorf("%d rows have the right times, %v; want 1", left, err)
		}
	})
}

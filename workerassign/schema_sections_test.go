package workerassign_test

import (
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/workerassign"
)

// The script runs repeatedly with the command-line client, as its comment says. The table accepts any
// host name, whatever the character set of the database. The statement in the comments converts an
// older table, which keeps its counter.
func TestSchemaServers(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		var client string
		for _, name := range []string{"mariadb", "mysql"} {
			if path, err := exec.LookPath(name); err == nil {
				client = path
				break
			}
		}
		if client == "" {
			testkit.Missing(t, "the program mariadb was not found: install MariaDB's client (Debian's package mariadb-client)")
		}
		s := start(t)
		db := mariadbtest.CreateIDs(t, s)
		cfg, err := mysql.ParseDSN(s.DSN("root", "", ""))
		if err != nil {
			t.Fatal(err)
		}
		host, port, _ := strings.Cut(cfg.Addr, ":")
		chinese := workerassign.WithNode("主机-1", "8080")
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
				t.Errorf("after run %d worker ID %d is assigned, want %d", run+1, id, run+1)
			}
		}

		db.MustExec("DROP TABLE WORKER_NODE")
		// Baidu's script creates the table only without strict mode. Inserts into it then work in strict
		// mode too.
		testserver.RunScript(t, mariadbtest.Open(t, s.DSN("root", "", "ids")+"?sql_mode="+url.QueryEscape("''")), originalScript)
		last := mustGrant(t, db)
		_, _, err = grant(t.Context(), db, chinese)
		mariadbtest.WantErrorNumber(t, err, "a Chinese host name in latin1", 1366)
		statements, admin := schematest.MySQL().Section(t, "SERVERS"), mariadbtest.Open(t, s.DSN("root", "", "ids"))
		admin.SetMaxOpenConns(1) // so that the statements share a session
		admin.MustExec(statements.Next("SET SESSION sql_mode"))
		admin.MustExec(statements.Next("ALTER TABLE WORKER_NODE CONVERT"))
		if id := mustGrant(t, db, chinese); id <= last {
			t.Errorf("worker ID %d was assigned after %d", id, last)
		}
		var names int
		if err := db.Get(&names, "SELECT COUNT(*) FROM WORKER_NODE WHERE HOST_NAME = '主机-1'"); err != nil || names != 1 {
			t.Errorf("%d rows have the host name, %v; want 1", names, err)
		}
	})
}

// The accounts of the statements can insert rows. They cannot choose an ID or do anything else. The
// statements work in the order of the comments, on a server without the table and the account.
func TestSchemaPrivileges(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t)
		db := mariadbtest.CreateIDs(t, s)
		statements := schematest.MySQL().Section(t, "PRIVILEGES", "<password>", "secret")
		create, columns := statements.Next("CREATE USER"), statements.Next("GRANT INSERT (")
		if _, err := db.Exec(columns); err == nil {
			t.Error("the grant succeeds before the table and the account exist")
		}
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		db.MustExec(create)

		limited := func() {
			t.Helper()
			service := mariadbtest.Open(t, s.DSN("service", "secret", "ids")) // changed privileges apply to the next statement
			last := mustGrant(t, service)
			for _, forbidden := range []string{
				"INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES (9223372036854775806, 'h', 'p', 3, CURRENT_DATE)",
				"INSERT INTO WORKER_NODE VALUES (9223372036854775806, 'h', 'p', 3, CURRENT_DATE, NOW(), NOW())",
				"SELECT ID FROM WORKER_NODE", "DELETE FROM WORKER_NODE", "UPDATE WORKER_NODE SET ID = 7", "UPDATE WORKER_NODE SET TYPE = 1",
				"TRUNCATE TABLE WORKER_NODE", "DROP TABLE WORKER_NODE", "ALTER TABLE WORKER_NODE AUTO_INCREMENT = 1", "CREATE TABLE t (n INT)",
			} {
				_, err := service.Exec(forbidden)
				mariadbtest.WantErrorNumber(t, err, "as the service: "+forbidden, 1142, 1143)
			}
			if id := mustGrant(t, service); id != last+1 {
				t.Errorf("worker ID %d was assigned after %d, want %d", id, last, last+1)
			}
		}
		db.MustExec(columns)
		limited()

		db.MustExec("GRANT INSERT ON ids.WORKER_NODE TO 'service'@'%'") // a privilege on all columns
		addRows(t, mariadbtest.Open(t, s.DSN("service", "secret", "ids")), schematest.AgedRow{ID: 1000, Ago: 0})
		db.MustExec(statements.Next("REVOKE INSERT"))
		db.MustExec(statements.Next("GRANT INSERT ("))
		limited()
	})
}

// The DELETE statement deletes old rows in batches, also with sql_safe_updates. It does not delete
// newer rows, or the row with the greatest ID. It does not block concurrent inserts.
func TestSchemaDeletion(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t, mariadbtest.PrimaryFlags()...)
		db := mariadbtest.CreateIDs(t, s)
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		const old, batch = 25_000, 10_000
		const day = 86_400
		var rows []schematest.AgedRow
		for id := range int64(old) {
			rows = append(rows, schematest.AgedRow{ID: id + 1, Ago: 2 * 366 * day})
		}
		addRows(t, db, rows...)
		addRows(t, db, schematest.AgedRow{ID: old + 1, Ago: 364 * day}, schematest.AgedRow{ID: old + 2, Ago: 0}, schematest.AgedRow{ID: old + 3, Ago: 2 * 366 * day}) // the last row is old, but has the greatest ID

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
		statements := schematest.MySQL().Section(t, "WHEN ROWS MAY BE DELETED")
		isolation, remove := statements.Next("SET SESSION TRANSACTION ISOLATION LEVEL"), statements.Next("DELETE FROM WORKER_NODE")

		// At the default isolation level the DELETE blocks inserts. An open transaction stands for a
		// DELETE that is running.
		must("BEGIN")
		must(remove)
		mariadbtest.WantErrorNumber(t, insert(), "an insert during the DELETE at the default isolation level", 1205)
		must("ROLLBACK")
		must(isolation)
		must("BEGIN")
		if n := must(remove); n != batch {
			t.Errorf("the first batch has %d rows, want %d", n, batch)
		}
		if err := insert(); err != nil {
			t.Errorf("an insert during the DELETE: %v", err)
		}
		must("COMMIT")

		must("SET SESSION binlog_format = 'STATEMENT'")
		_, err = run(remove)
		mariadbtest.WantErrorNumber(t, err, "the DELETE with a binary log of statements", 1665)
		must("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
		if n := must(strings.Replace(remove, "LIMIT 10000", "LIMIT 1000", 1)); n != 1000 {
			t.Errorf("a smaller batch has %d rows, want 1000", n)
		}
		must("SET SESSION binlog_format = 'ROW'")
		must(isolation)
		for range 5 {
			must(remove)
		}
		if n := must(remove); n != 0 {
			t.Errorf("after the last batch, the DELETE deletes %d rows, want 0", n)
		}
		var left []int64
		if err := db.Select(&left, "SELECT ID FROM WORKER_NODE WHERE ID <= ? ORDER BY ID", old+3); err != nil {
			t.Fatal(err)
		}
		// The row that had the greatest ID is deleted too, because the inserts above have greater IDs.
		if want := []int64{old + 1, old + 2}; !slices.Equal(left, want) {
			t.Errorf("the remaining rows are %d, want %d", left, want)
		}
		db.MustExec("DELETE FROM WORKER_NODE")
		addRows(t, db, schematest.AgedRow{ID: 50_000, Ago: 2 * 366 * day})
		if n := must(remove); n != 0 {
			t.Error("the DELETE deletes the row with the greatest ID")
		}
	})
}

// The script creates the table in strict mode, also with explicit TIMESTAMP defaults. On MariaDB,
// TestD12SchemaMayRunAgain tests more modes.
func TestSchemaStrictModes(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t, "--explicit-defaults-for-timestamp=ON", "--sql-mode=TRADITIONAL")
		db := mariadbtest.CreateIDs(t, s)
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		mustGrant(t, db)
		var left int
		if err := db.Get(&left, `SELECT COUNT(*) FROM WORKER_NODE WHERE CREATED BETWEEN NOW() - INTERVAL 5 MINUTE AND NOW()
			AND MODIFIED BETWEEN NOW() - INTERVAL 5 MINUTE AND NOW()`); err != nil || left != 1 {
			t.Errorf("%d rows have the right times, %v; want 1", left, err)
		}
	})
}

// The query HOW MANY ARE LEFT is right on all tables.
func TestSchemaHowManyAreLeft(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		db := mariadbtest.CreateIDs(t, start(t))
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		schematest.TestHowManyAreLeft(t, schematest.MySQL(), db, addRows)
	})
}

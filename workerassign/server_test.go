package workerassign_test

import (
	"context"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/workerassign"
)

// originalScript is the script of Baidu's UidGenerator without its first statement, which drops the
// table.
const originalScript = `CREATE TABLE WORKER_NODE (
ID BIGINT NOT NULL AUTO_INCREMENT COMMENT 'auto increment id',
HOST_NAME VARCHAR(64) NOT NULL COMMENT 'host name',
PORT VARCHAR(64) NOT NULL COMMENT 'port',
TYPE INT NOT NULL COMMENT 'node type: ACTUAL or CONTAINER',
LAUNCH_DATE DATE NOT NULL COMMENT 'launch date',
MODIFIED TIMESTAMP NOT NULL COMMENT 'modified time',
CREATED TIMESTAMP NOT NULL COMMENT 'created time',
PRIMARY KEY(ID)
) ENGINE = INNODB;
`

// createService creates an account with exactly the privileges that schema.sql recommends, and returns
// its DSN.
func createService(t *testing.T, s *mariadbtest.Server, db *sqlx.DB, database string) string {
	t.Helper()
	user := "service_" + database[len(database)-6:]
	statements := schematest.MySQL().Section(t, "PRIVILEGES", "<password>", "secret", "'service'", "'"+user+"'", "ids.", database+".")
	db.MustExec(statements.Next("CREATE USER"))
	db.MustExec(statements.Next("GRANT INSERT ("))
	statements.Remaining = nil // the statements that change the privileges of an existing account
	return s.DSN(user, "secret", database)
}

// tableRow is a row of the table. Whether its times are right is computed by the server.
type tableRow struct {
	ID           int64  `db:"ID"`
	Host         string `db:"HOST_NAME"`
	Port         string `db:"PORT"`
	Type         int    `db:"TYPE"`
	LaunchDateOK bool   `db:"LAUNCHED"`
	ModifiedOK   bool   `db:"IS_MODIFIED"`
	CreatedOK    bool   `db:"IS_CREATED"`
}

const selectRows = `SELECT ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE BETWEEN CURRENT_DATE - INTERVAL 1 DAY AND CURRENT_DATE AS LAUNCHED,
	MODIFIED BETWEEN NOW() - INTERVAL 5 MINUTE AND NOW() AS IS_MODIFIED,
	CREATED BETWEEN NOW() - INTERVAL 5 MINUTE AND NOW() AS IS_CREATED FROM WORKER_NODE ORDER BY ID`

// discardLog returns an option that discards log records, for tests that cause warnings.
func discardLog() workerassign.Option { return workerassign.WithLogger(slog.New(slog.DiscardHandler)) }

// logTo returns an option that writes log records to w.
func logTo(w io.Writer) workerassign.Option {
	return workerassign.WithLogger(slog.New(slog.NewTextHandler(w, nil)))
}

// Assign works with every setting of the driver and of the session that could matter.
func TestDriverSettings(t *testing.T) {
	db, dsn := mariadbtest.Connect(t)
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	dsn, _, _ = strings.Cut(dsn, "?") // without its settings
	last := int64(0)
	for _, settings := range []string{
		"", "parseTime=true", "parseTime=false", "parseTime=true&loc=" + url.QueryEscape("Asia/Shanghai"), "loc=Local&parseTime=true",
		"time_zone=" + url.QueryEscape("'-11:00'"), "interpolateParams=true", "interpolateParams=true&parseTime=true&loc=Local",
		"clientFoundRows=true", "multiStatements=true", "collation=utf8mb4_bin", "charset=latin1", "columnsWithAlias=true",
		"sql_mode=" + url.QueryEscape("'ANSI_QUOTES,PIPES_AS_CONCAT'"), "sql_mode=" + url.QueryEscape("'NO_AUTO_VALUE_ON_ZERO'"),
		"sql_mode=" + url.QueryEscape("'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'"), "sql_mode=''", "autocommit=1", "compress=true",
		"timeout=5s&readTimeout=5s&writeTimeout=5s", "checkConnLiveness=false", "rejectReadOnly=true",
	} {
		full := dsn
		if settings != "" {
			full += "?" + settings
		}
		l, err := workerassign.NewDisposable(mariadbtest.Open(t, full)).Assign(context.Background(), workerassign.Request{})
		if err != nil || l.WorkerID() <= last {
			t.Errorf("with %q Assign() = %v, %v; want a worker ID greater than %d", settings, l, err, last)
			continue
		}
		last = l.WorkerID()
	}
	var got []tableRow
	if err := db.Select(&got, selectRows); err != nil {
		t.Fatal(err)
	}
	for _, r := range got {
		if !r.CreatedOK || !r.ModifiedOK || r.Host == "" || r.Port == "" || r.Type < 1 || r.Type > 2 {
			t.Errorf("the row %+v has a wrong column", r)
		}
	}
}

// A server can assign keys with a step greater than 1.
func TestAutoIncrementIncrement(t *testing.T) {
	s := mariadbtest.Start(t, "--auto-increment-increment=3", "--auto-increment-offset=2")
	_, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	a := workerassign.NewDisposable(db, workerassign.WithAttemptTimeout(time.Minute))
	for _, want := range []int64{2, 5, 8} {
		if l, err := a.Assign(context.Background(), workerassign.Request{}); err != nil || l.WorkerID() != want {
			t.Errorf("Assign() = %v, %v; want %d", l, err, want)
		}
	}
}

// Values that are longer than their columns are shortened to their end, on a strict server. The length
// is counted in characters, not in bytes.
func TestLongValues(t *testing.T) {
	db, _ := mariadbtest.Connect(t)
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	node := workerassign.WithNode(strings.Repeat("höst", 40)+"-7", strings.Repeat("9", 100)+"1")
	if _, err := workerassign.NewDisposable(db, node).Assign(context.Background(), workerassign.Request{}); err != nil {
		t.Fatal(err)
	}
	var got []tableRow
	if err := db.Select(&got, selectRows); err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if want := "st" + strings.Repeat("höst", 15) + "-7"; got[0].Host != want || !strings.HasSuffix(got[0].Port, "91") || len(got[0].Port) != 64 {
		t.Errorf("the row is %+v, want host %q", got[0], want)
	}
}

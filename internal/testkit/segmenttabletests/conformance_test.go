//go:build unix

package segmenttabletests

import (
	"context"
	"database/sql"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// open opens a database of the server at these addresses, one after the other for each connection.
func open(tb testing.TB, dsn string, addresses ...string) *sql.DB {
	tb.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Logger = &mysql.NopLogger{}
	var turn atomic.Uint32
	cfg.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addresses[turn.Add(1)%uint32(len(addresses))])
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	db := sql.OpenDB(connector)
	tb.Cleanup(func() { db.Close() })
	return db
}

// restoreRows calls write, and then restores the rows as they were before, as after a restored backup.
func restoreRows(tb testing.TB, db *sqlx.DB, write func()) {
	tb.Helper()
	db.MustExec("DROP TABLE IF EXISTS backup")
	db.MustExec("CREATE TABLE backup AS SELECT * FROM leaf_alloc")
	write()
	db.MustExec("DELETE FROM leaf_alloc")
	db.MustExec("INSERT INTO leaf_alloc SELECT * FROM backup")
}

// conformance runs the suite on a server, with a table that a script creates.
func conformance(t *testing.T, s *mariadbtest.Server, script string, foldsTags bool) {
	proxy := testserver.NewProxy(t, s.Address())
	var last, database string
	var admin *sqlx.DB
	s.Admin().MustExec("CREATE USER 'service'@'%' IDENTIFIED BY 'very-secret'")
	segmenttest.Run(t, segmenttest.Harness{
		New: func(tb testing.TB, name string) segment.Creator {
			if name != last {
				last = name
				database, admin = s.Database()
				testserver.RunScript(t, admin, script)
				admin.MustExec("GRANT SELECT (biz_tag, max_id, step), UPDATE (max_id), INSERT (biz_tag, max_id, step, description) ON " + database + ".leaf_alloc TO 'service'@'%'")
			}
			return sqlstore.New(open(tb, s.DSN("service", "very-secret", database), proxy.Address()), sqlstore.WithAttemptTimeout(testserver.CaseTimeout(tb, 3*time.Second)))
		},
		Secrets:   []string{"very-secret"},
		FoldsTags: foldsTags,
		Faults: segmenttest.Faults{
			Kill:        func(testing.TB) { s.Kill() },
			Start:       func(testing.TB) { s.Restart() },
			Pause:       func(testing.TB) { s.Pause() },
			Resume:      func(testing.TB) { s.Resume() },
			LoseReplies: proxy.LoseReplies,
			SetCounter: func(tb testing.TB, tag string, next int64) {
				admin.MustExec("UPDATE leaf_alloc SET max_id = ? WHERE biz_tag = ?", next, tag)
			},
			LoseWritesUnnoticed: func(tb testing.TB, write func()) { restoreRows(tb, admin, write) },
			Without:             map[string]string{"LoseWrites": "Leaf's table has no record of the server, so that a Table cannot notice it"},
		},
	})
}

func TestTableConformance(t *testing.T) {
	t.Parallel()
	conformance(t, mariadbtest.Start(t), ringuid.MySQLSchema(), false)
}

// The table of Leaf's own script, in the server's default collation, which ignores case and accents.
func TestLeafTableConformance(t *testing.T) {
	testkit.Full(t, "TestTableConformance has the suite on MariaDB")
	t.Parallel()
	conformance(t, mariadbtest.StartMySQL56(t), strings.Replace(leafScript, "step int(11)", "step bigint", 1)+" DEFAULT CHARSET=utf8mb4;\n", true)
}

package postgrestest_test

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// discardLog returns an option that discards log records, for tests that cause warnings.
func discardLog() workerassign.Option {
	return workerassign.WithLogger(slog.New(slog.DiscardHandler))
}

// wrappedDriver hides the type of pgx, as drivers for tracing do.
type wrappedDriver struct{ driver.Driver }

var registerWrapped = sync.OnceFunc(func() { sql.Register("wrapped", wrappedDriver{stdlib.GetDefaultDriver()}) })

// A Disposable recognizes the server, whatever the driver, its settings and the kind of the pool are.
func TestDrivers(t *testing.T) {
	t.Parallel()
	db, dsn := postgrestest.Connect(t)
	testserver.RunScript(t, db, schemaScript(t))
	registerWrapped()
	open := func(name, dsn string) *sql.DB {
		t.Helper()
		db, err := sql.Open(name, dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	parsed := stdlib.OpenDB(*config)
	defer parsed.Close()
	connector, err := pq.NewConnector(dsn)
	if err != nil {
		t.Fatal(err)
	}
	connected := sql.OpenDB(connector)
	defer connected.Close()
	pools := map[string]workerassign.DB{
		"pgx": open("pgx", dsn), "sqlx": sqlx.NewDb(open("pgx", dsn), "pgx"), "pgx with a configuration": parsed,
		"lib/pq": open("postgres", dsn), "a connector of lib/pq": connected, "wrapped": open("wrapped", dsn),
		"wrapped in sqlx": sqlx.NewDb(open("wrapped", dsn), "pgx"), "wrapped, with a wrong name": sqlx.NewDb(open("wrapped", dsn), "other"),
	}
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		pools["pgx "+mode] = open("pgx", dsn+"&default_query_exec_mode="+mode)
	}
	for _, options := range []string{"-c default_transaction_isolation=serializable", "-c synchronous_commit=off", "-c statement_timeout=60s",
		"-c timezone=Asia/Shanghai -c datestyle=german", "-c standard_conforming_strings=off"} {
		pools["pgx "+options] = open("pgx", dsn+"&options="+strings.ReplaceAll(url.QueryEscape(options), "+", "%20"))
	}
	last := int64(0)
	for name, pool := range pools {
		d := workerassign.NewDisposable(pool, workerassign.WithNode("主机-'1", `80"\80`),
			workerassign.WithBackoff(time.Hour, time.Hour), // an attempt that fails would end the test
			workerassign.WithAttemptTimeout(10*time.Minute), workerassign.WithTimeout(10*time.Minute))
		for range 2 {
			l, err := d.Assign(t.Context(), workerassign.Request{})
			if err != nil || l.WorkerID() <= last {
				t.Errorf("%s: Assign() = %v, %v; want a worker ID greater than %d", name, l, err, last)
				break
			}
			last = l.WorkerID()
		}
		if strings.HasSuffix(name, "synchronous_commit=off") {
			conn, err := pool.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var state string
			if err := conn.QueryRowContext(t.Context(), "SHOW synchronous_commit").Scan(&state); err != nil || state != "off" {
				t.Errorf("%s: after Assign it is %s, %v", name, state, err)
			}
			conn.Close()
		}
	}
	var inTransaction int
	if err := db.Get(&inTransaction, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'"); err != nil || inTransaction != 0 {
		t.Errorf("%d sessions are in a transaction, %v", inTransaction, err)
	}
	var wrong int
	if err := db.Get(&wrong, `SELECT count(*) FROM worker_node WHERE host_name <> '主机-''1' OR port <> '80"\80' OR type <> 2 OR launch_date NOT BETWEEN
		CURRENT_DATE - 1 AND CURRENT_DATE + 1 OR abs(extract(epoch FROM now() - created)) > 300 OR abs(extract(epoch FROM now() - modified)) > 300`); err != nil || wrong != 0 {
		t.Errorf("%d rows have wrong columns, %v", wrong, err)
	}
	if id := last; id != int64(2*len(pools)) {
		t.Errorf("the last worker ID is %d, want %d", id, 2*len(pools))
	}
}

// A generator works, and its restart takes the next worker ID.
func TestGenerator(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	createService(t, db)
	service := openAsService(t, s)
	for want := int64(1); want <= 2; want++ {
		g, err := uid.NewCached(t.Context(), workerassign.NewDisposable(service, workerassign.WithAttemptTimeout(10*time.Minute)))
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]uid.ID, 10_000)
		if n, err := g.NextN(ids); n != len(ids) || err != nil {
			t.Fatalf("NextN() = %d, %v", n, err)
		}
		if p := g.Parse(ids[0]); p.WorkerID != want {
			t.Errorf("the worker ID is %d, want %d", p.WorkerID, want)
		}
		g.Close()
	}
}

// Settings with which a server or a table can lose rows are logged, once per Disposable. The recommended
// privileges are sufficient for that.
func TestRiskySettings(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t, "fsync=off", "full_page_writes=off")
	db := idsDatabase(t, s)
	createService(t, db)
	const columns = ", host_name VARCHAR(64), port VARCHAR(64), type INT, launch_date DATE, modified TIMESTAMP, created TIMESTAMP)"
	db.MustExec("CREATE UNLOGGED TABLE unlogged (id BIGINT GENERATED ALWAYS AS IDENTITY" + columns)
	db.MustExec("CREATE TABLE again (id BIGINT GENERATED ALWAYS AS IDENTITY (MAXVALUE 100 CYCLE)" + columns)
	db.MustExec("GRANT INSERT, SELECT ON unlogged, again TO service")
	for table, want := range map[string][]string{
		"WORKER_NODE": nil, "unlogged": {`setting="the table's persistence" value=u`}, "again": {`setting="the sequence's CYCLE" value=true`},
	} {
		var log bytes.Buffer
		d := workerassign.NewDisposable(openAsService(t, s), workerassign.WithTable(table), workerassign.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		for range 3 {
			if _, err := d.Assign(t.Context(), workerassign.Request{}); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, "setting=fsync value=off", "setting=full_page_writes value=off")
		for _, text := range want {
			if strings.Count(log.String(), text) != 1 {
				t.Errorf("table %s: the log is %s, want %q once", table, log.String(), text)
			}
		}
		if n := strings.Count(log.String(), "setting="); n != len(want) {
			t.Errorf("table %s: %d settings were logged, want %d: %s", table, n, len(want), log.String())
		}
	}
	s.Stop()
	s.RestartWith("fsync=on", "full_page_writes=on")
	var log bytes.Buffer
	if _, err := workerassign.NewDisposable(openAsService(t, s), workerassign.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))).
		Assign(t.Context(), workerassign.Request{}); err != nil || strings.Contains(log.String(), "setting=") {
		t.Errorf("with durable settings Assign() = %v, and the log is %q, want no setting in it", err, log.String())
	}
}

// A row with an ID that somebody has chosen makes one insert fail; the next one succeeds.
func TestChosenID(t *testing.T) {
	t.Parallel()
	db := idsDatabase(t, postgrestest.Start(t))
	addRows(t, db, schematest.AgedRow{ID: 2, Ago: 0})
	for i, want := range []int64{1, 3} {
		if id := mustAssign(t, db); id != want {
			t.Errorf("worker ID %d of Assign %s, want %d", id, strconv.Itoa(i+1), want)
		}
	}
}

package postgrestest_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/ringuid/ringuid/internal/postgrestest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// discardLog returns an option that discards log records, for tests that cause warnings.
func discardLog() workerassign.Option {
	return workerassign.WithLogger(slog.New(slog.DiscardHandler))
}

// wantState checks that err is an error of the server with the SQLSTATE.
func wantState(t *testing.T, err error, what, state string) {
	t.Helper()
	var server interface {
		error
		SQLState() string
	}
	if !errors.As(err, &server) || server.SQLState() != state {
		t.Errorf("%s: %v, want the error %s", what, err, state)
	}
}

// wrappedDriver hides the type of pgx, as drivers for tracing do.
type wrappedDriver struct{ driver.Driver }

// A Disposable recognizes the server, whatever the driver, its settings and the kind of the pool are.
func TestDrivers(t *testing.T) {
	db, dsn := postgrestest.Connect(t)
	postgrestest.RunScript(t, db, schemaScript(t))
	sql.Register("wrapped", wrappedDriver{stdlib.GetDefaultDriver()})
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
	for _, options := range []string{"-c default_transaction_isolation=serializable", "-c synchronous_commit=off", "-c statement_timeout=5s",
		"-c timezone=Asia/Shanghai -c datestyle=german", "-c standard_conforming_strings=off"} {
		pools["pgx "+options] = open("pgx", dsn+"&options="+strings.ReplaceAll(url.QueryEscape(options), "+", "%20"))
	}
	last := int64(0)
	for name, pool := range pools {
		d := workerassign.NewDisposable(pool, workerassign.WithNode(workerassign.Node{HostName: "主机-'1", Port: `80"\80`, Type: workerassign.Actual}),
			workerassign.WithBackoff(time.Hour, time.Hour)) // an attempt that fails would take an hour
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
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	createService(t, db)
	service := openAsService(t, s)
	for want := int64(1); want <= 2; want++ {
		g, err := uid.NewCached(t.Context(), workerassign.NewDisposable(service))
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

// Permanent errors are returned immediately, with advice and the server's address.
func TestPermanentErrors(t *testing.T) {
	s := postgrestest.Start(t)
	database, db := s.Database()
	postgrestest.RunScript(t, db, schemaScript(t))
	db.MustExec("CREATE TABLE no_column (id BIGINT GENERATED ALWAYS AS IDENTITY, host_name VARCHAR(64))")
	const columns = ", host_name VARCHAR(64), port VARCHAR(64), type INT, launch_date DATE, modified TIMESTAMP, created TIMESTAMP)"
	db.MustExec("CREATE TABLE used_up (id BIGINT GENERATED ALWAYS AS IDENTITY (MAXVALUE 3 START 3)" + columns)
	db.MustExec("INSERT INTO used_up DEFAULT VALUES")
	db.MustExec("CREATE TABLE narrow (id SMALLINT DEFAULT 40000" + columns)
	db.MustExec("CREATE TABLE no_key (id BIGINT DEFAULT -5" + columns)
	db.MustExec("CREATE TABLE uuids (id UUID DEFAULT gen_random_uuid()" + columns)
	db.MustExec("CREATE TABLE ignored (id BIGINT" + columns)
	db.MustExec("CREATE FUNCTION ignore() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
	db.MustExec("CREATE TRIGGER ignore BEFORE INSERT ON ignored FOR EACH ROW EXECUTE FUNCTION ignore()")
	db.MustExec("CREATE TABLE short (id BIGINT GENERATED ALWAYS AS IDENTITY, host_name VARCHAR(1), port VARCHAR(64), type INT, launch_date DATE, modified TIMESTAMP, created TIMESTAMP)")
	db.MustExec("CREATE ROLE nobody LOGIN")
	db.MustExec("CREATE DATABASE latin1 ENCODING LATIN1 TEMPLATE template0")
	latin1 := s.DSN("postgres", "", "latin1")
	postgrestest.RunScript(t, postgrestest.Open(t, latin1), schemaScript(t))
	for _, driverName := range []string{"pgx", "postgres"} {
		for _, tt := range []struct {
			name, dsn, table string
			want             error
			text             string
		}{
			{"no table", s.DSN("postgres", "", database), "none", workerassign.ErrPermanent, "apply schema.postgres.sql"},
			{"no schema", s.DSN("postgres", "", database), "nowhere.t", workerassign.ErrPermanent, "apply schema.postgres.sql"},
			{"another case", s.DSN("postgres", "", database), "Worker_Node", workerassign.ErrPermanent, "apply schema.postgres.sql"},
			{"no database", s.DSN("postgres", "", "nowhere"), "WORKER_NODE", workerassign.ErrPermanent, "name an existing one in the DSN"},
			{"no privilege", s.DSN("nobody", "", database), "WORKER_NODE", workerassign.ErrPermanent, "grant it INSERT on the table and SELECT on its column id"},
			{"an unknown account", s.DSN("unknown", "", database), "WORKER_NODE", workerassign.ErrPermanent, "check user, password and database"},
			{"no column", s.DSN("postgres", "", database), "no_column", workerassign.ErrPermanent, "compare its columns with schema.postgres.sql"},
			{"a short column", s.DSN("postgres", "", database), "short", workerassign.ErrPermanent, "compare its columns with schema.postgres.sql"},
			{"a negative key", s.DSN("postgres", "", database), "no_key", workerassign.ErrNoKey, "GENERATED ALWAYS AS IDENTITY"},
			{"UUIDs", s.DSN("postgres", "", database), "uuids", workerassign.ErrNoKey, "GENERATED ALWAYS AS IDENTITY"},
			{"no row", s.DSN("postgres", "", database), "ignored", workerassign.ErrNoKey, "returned no row"},
			{"keys used up", s.DSN("postgres", "", database), "used_up", workerassign.ErrPermanent, "HOW MANY ARE LEFT"},
			{"a narrow column", s.DSN("postgres", "", database), "narrow", workerassign.ErrPermanent, "HOW MANY ARE LEFT"},
			{"an encoding", latin1, "WORKER_NODE", workerassign.ErrPermanent, "encoding UTF8"},
			{"no TLS", strings.Replace(s.DSN("postgres", "", database), "sslmode=disable", "sslmode=require", 1), "WORKER_NODE", workerassign.ErrPermanent, "check sslmode in the DSN"},
		} {
			if tt.dsn == latin1 && driverName == "pgx" {
				continue // pgx uses the database's encoding, without converting anything
			}
			t.Run(driverName+" "+tt.name, func(t *testing.T) {
				pool, err := sql.Open(driverName, tt.dsn)
				if err != nil {
					t.Fatal(err)
				}
				defer pool.Close()
				begin := time.Now()
				_, err = assign(t, pool, workerassign.WithTable(tt.table), workerassign.WithNode(workerassign.Node{HostName: "主机", Port: "1", Type: 1}))
				if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "table "+tt.table+" at "+s.Address()) {
					t.Errorf("Assign() = %v; want %v with %q", err, tt.want, tt.text)
				}
				if took := time.Since(begin); took > 5*time.Second {
					t.Errorf("Assign took %v, want an immediate error", took)
				}
			})
		}
	}
	if _, err := assign(t, db, workerassign.WithTable(strings.Repeat("x", 64))); !errors.Is(err, workerassign.ErrOption) {
		t.Errorf("with a long name Assign() = %v, want ErrOption", err)
	}
}

// Assign tries again while the table is locked, the server has no connection left, its session is
// terminated, or the server is read-only.
func TestTransientErrors(t *testing.T) {
	s := postgrestest.Start(t, "max_connections=10", "superuser_reserved_connections=3")
	db := idsDatabase(t, s)
	createService(t, db)
	admin := s.Admin()
	for _, driverName := range []string{"pgx", "postgres"} {
		for _, tt := range []struct {
			name         string
			options      string
			block, allow func()
		}{
			{name: "a lock, with lock_timeout", options: "-c lock_timeout=50ms"},
			{name: "a lock, with statement_timeout", options: "-c statement_timeout=50ms"},
			{name: "read-only", block: func() { admin.MustExec("ALTER DATABASE ids SET default_transaction_read_only = on") },
				allow: func() { admin.MustExec("ALTER DATABASE ids RESET default_transaction_read_only") }},
			{name: "no connections", block: func() { admin.MustExec("ALTER ROLE service CONNECTION LIMIT 0") },
				allow: func() { admin.MustExec("ALTER ROLE service CONNECTION LIMIT -1") }},
		} {
			t.Run(driverName+" "+tt.name, func(t *testing.T) {
				if tt.block == nil {
					tx := db.MustBegin()
					defer tx.Rollback()
					tx.MustExec("LOCK TABLE worker_node IN ACCESS EXCLUSIVE MODE")
					tt.block, tt.allow = func() {}, func() { tx.Rollback() }
				}
				tt.block()
				pool, err := sql.Open(driverName, s.DSN("service", "secret", "ids")+"&options="+strings.ReplaceAll(url.QueryEscape(tt.options), "+", "%20"))
				if err != nil {
					t.Fatal(err)
				}
				defer pool.Close()
				time.AfterFunc(500*time.Millisecond, tt.allow)
				begin := time.Now()
				if _, err := assign(t, pool); err != nil || time.Since(begin) < 400*time.Millisecond {
					t.Errorf("Assign() = %v after %v", err, time.Since(begin))
				}
			})
		}
		t.Run(driverName+" terminated", func(t *testing.T) {
			pool, err := sql.Open(driverName, s.DSN("service", "secret", "ids"))
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			pool.SetMaxOpenConns(1)
			for range 5 {
				var pid int
				if err := pool.QueryRow("SELECT pg_backend_pid()").Scan(&pid); err != nil {
					t.Fatal(err)
				}
				admin.MustExec("SELECT pg_terminate_backend($1)", pid)
				if _, err := assign(t, pool); err != nil {
					t.Errorf("Assign() on a terminated connection = %v", err)
				}
			}
		})
	}
}

// 32 processes that start concurrently receive distinct worker IDs, with an account that has only the
// recommended privileges.
func TestInvariant1Processes(t *testing.T) {
	if dsn := os.Getenv("RINGUID_TEST_PROCESS"); dsn != "" {
		fmt.Printf("worker ID %d\n", mustAssign(t, postgrestest.Open(t, dsn)))
		return
	}
	const processes = 32
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	createService(t, db)
	ids := make([]int64, processes)
	var all sync.WaitGroup
	for n := range processes {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestInvariant1Processes$", "-test.count=1")
			cmd.Env = append(os.Environ(), "RINGUID_TEST_PROCESS="+s.DSN("service", "secret", "ids"))
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("process %d: %v\n%s", n, err, out)
				return
			}
			if _, err := fmt.Sscanf(string(out), "worker ID %d\n", &ids[n]); err != nil {
				t.Errorf("process %d: %v\n%s", n, err, out)
			}
		})
	}
	all.Wait()
	slices.Sort(ids)
	for i, id := range ids {
		if id != int64(i+1) {
			t.Fatalf("the worker IDs are %d, want 1 to %d", ids, processes)
		}
	}
}

// The server is killed a hundred times in the middle of Assigns of two drivers. No worker ID is assigned
// twice, and no acknowledged row is lost. With synchronous_commit = off and a log that is written rarely,
// a server would lose rows if Disposable did not set it to on: the test shows that a plain insert is lost.
func TestInvariant1KilledServer(t *testing.T) {
	t.Parallel()
	kills := 100
	if testing.Short() {
		kills = 10
	}
	s := postgrestest.Start(t, "synchronous_commit=off", "wal_writer_delay=10s", "wal_writer_flush_after=1GB")
	db := idsDatabase(t, s)
	createService(t, db)
	db.MustExec("CREATE TABLE plain (n INT)")
	mustAssign(t, openAsService(t, s)) // otherwise the first kill may lose the tables

	var (
		mu      sync.Mutex
		granted = map[int64]bool{}
		all     sync.WaitGroup
		ctx     context.Context
		stop    context.CancelFunc
	)
	ctx, stop = context.WithCancel(t.Context())
	defer all.Wait()
	defer stop()
	for n := range 4 {
		driverName := []string{"pgx", "postgres"}[n%2]
		pool, err := sql.Open(driverName, s.DSN("service", "secret", "ids"))
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		d := workerassign.NewDisposable(pool, discardLog(), workerassign.WithBackoff(time.Millisecond, 20*time.Millisecond))
		all.Go(func() {
			for ctx.Err() == nil {
				l, err := d.Assign(ctx, workerassign.Request{})
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("Assign() = %v", err)
						return
					}
					continue
				}
				mu.Lock()
				if granted[l.WorkerID()] {
					t.Errorf("worker ID %d was assigned twice", l.WorkerID())
				}
				granted[l.WorkerID()] = true
				mu.Unlock()
			}
		})
	}
	for range kills {
		time.Sleep(rand.N(30 * time.Millisecond))
		s.Kill()
		s.Restart()
		db = postgrestest.Open(t, s.DSN("postgres", "", "ids"))
	}
	stop()
	all.Wait()
	var rows []int64
	if err := db.Select(&rows, "SELECT id FROM worker_node"); err != nil {
		t.Fatal(err)
	}
	for _, id := range rows {
		delete(granted, id)
	}
	if len(granted) > 0 {
		t.Errorf("%d acknowledged rows are lost", len(granted))
	}

	// Nothing else writes to the log now. A server writes its log once when it has started, on a busy machine after
	// the inserts. So this is tried again, with a longer pause.
	lost := 0
	for try := 0; lost == 0 && try < 10; try++ {
		time.Sleep(time.Duration(try) * 100 * time.Millisecond)
		db.MustExec("INSERT INTO plain SELECT $1::int FROM generate_series(1, 3)", try)
		s.Kill()
		s.Restart()
		db = postgrestest.Open(t, s.DSN("postgres", "", "ids"))
		if err := db.Get(&lost, "SELECT 3 - count(*) FROM plain WHERE n = $1", try); err != nil {
			t.Fatal(err)
		}
	}
	if lost == 0 {
		t.Error("no plain row was lost: this test could not show that synchronous_commit matters")
	}
	t.Logf("%d worker IDs were assigned, with %d kills", len(rows), kills)
}

// Settings with which a server or a table can lose rows are logged, once per Disposable. The recommended
// privileges are sufficient for that.
func TestRiskySettings(t *testing.T) {
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
		if n := strings.Count(log.String(), "\n"); n != len(want) {
			t.Errorf("table %s: %d lines were logged, want %d: %s", table, n, len(want), log.String())
		}
	}
	s.Stop()
	s.RestartWith("fsync=on", "full_page_writes=on")
	var log bytes.Buffer
	if _, err := workerassign.NewDisposable(openAsService(t, s), workerassign.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))).
		Assign(t.Context(), workerassign.Request{}); err != nil || log.Len() > 0 {
		t.Errorf("with durable settings Assign() = %v, and the log is %q, want it empty", err, log.String())
	}
}

// A row with an ID that somebody has chosen makes one insert fail; the next one succeeds.
func TestChosenID(t *testing.T) {
	db := idsDatabase(t, postgrestest.Start(t))
	addRows(t, db, agedRow{2, 0})
	for i, want := range []int64{1, 3} {
		if id := mustAssign(t, db); id != want {
			t.Errorf("worker ID %d of Assign %s, want %d", id, strconv.Itoa(i+1), want)
		}
	}
}

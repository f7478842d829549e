package postgrestest_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/workerassign"
)

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

// Permanent errors are returned immediately, with advice and the server's address.
func TestPermanentErrors(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	database, db := s.Database()
	testserver.RunScript(t, db, schemaScript(t))
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
	testserver.RunScript(t, postgrestest.Open(t, latin1), schemaScript(t))
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
				_, err = assign(t, pool, workerassign.WithTable(tt.table), workerassign.WithServerName(s.Address()), workerassign.WithNode("主机", "1"),
					workerassign.WithBackoff(time.Hour, time.Hour)) // another attempt would take an hour
				if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "table "+tt.table+" at "+s.Address()) {
					t.Errorf("Assign() = %v; want %v with %q", err, tt.want, tt.text)
				}
			})
		}
	}
	if _, err := assign(t, db, workerassign.WithTable(strings.Repeat("x", 64))); !errors.Is(err, workerassign.ErrOption) {
		t.Errorf("with a long name Assign() = %v, want ErrOption", err)
	}
}

// attempts is a log of a Disposable. It calls failed after the second attempt that failed.
type attempts struct {
	slog.Handler
	n      atomic.Int64
	failed func()
}

// Enabled implements slog.Handler.
func (a *attempts) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (a *attempts) WithAttrs([]slog.Attr) slog.Handler { return a }

// Handle implements slog.Handler.
func (a *attempts) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "trying again") && a.n.Add(1) == 2 {
		a.failed()
	}
	return nil
}

// Assign tries again while the table is locked, the server has no connection left, its session is
// terminated, or the server is read-only.
func TestTransientErrors(t *testing.T) {
	t.Parallel()
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
				log := &attempts{Handler: slog.DiscardHandler, failed: tt.allow}
				if _, err := assign(t, pool, workerassign.WithLogger(slog.New(log))); err != nil || log.n.Load() == 0 {
					t.Errorf("Assign() = %v after %d attempts that failed", err, log.n.Load())
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

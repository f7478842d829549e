package workerassign

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/jmoiron/sqlx"
)

// sqlStateError is an error with an SQLSTATE, as pgx and lib/pq have it.
type sqlStateError string

func (e sqlStateError) Error() string    { return "SQLSTATE " + string(e) }
func (e sqlStateError) SQLState() string { return string(e) }

// On PostgreSQL, names are quoted, except that the default name stands for the table of Java services.
func TestPostgresTableNames(t *testing.T) {
	for name, want := range map[string]string{
		DefaultTable: `"worker_node"`, "Nodes": `"Nodes"`, "s.t": `"s"."t"`, `a"b`: `"a""b"`, strings.Repeat("x", 63): `"` + strings.Repeat("x", 63) + `"`,
	} {
		if got, err := quotePostgresTable(name); err != nil || got != want {
			t.Errorf("quotePostgresTable(%q) = %s, %v; want %s", name, got, err, want)
		}
	}
	for _, invalid := range []string{strings.Repeat("x", 64), strings.Repeat("é", 32), "a." + strings.Repeat("x", 64)} {
		if got, err := quotePostgresTable(invalid); err == nil {
			t.Errorf("quotePostgresTable(%q) = %s, want an error", invalid, got)
		}
	}
}

// Each state has one entry, and a class comes after its states, whose entries would otherwise have no effect.
func TestStateErrors(t *testing.T) {
	var seen []string
	for _, e := range stateErrors() {
		if len(e.state) != 5 && len(e.state) != 2 || e.name == "" || e.advice == "" {
			t.Errorf("the entry %+v is not complete", e)
		}
		if slices.ContainsFunc(seen, func(s string) bool { return strings.HasPrefix(e.state, s) }) {
			t.Errorf("the entry of %s has no effect", e.state)
		}
		seen = append(seen, e.state)
	}
	for state, want := range map[string]failureAction{
		"40001": actionRetry, "40P01": actionRetry, "08006": actionReconnect, "08P01": actionReconnect, "57P01": actionReconnect, "57P02": actionReconnect,
		"57P03": actionReconnect, "25006": actionReconnect, "53300": actionRetry, "53400": actionRetry, "42P01": actionStop, "42501": actionStop,
		"28P01": actionStop, "42601": actionStop, "P0001": actionStop, "": actionStop,
	} {
		f := classify(fmt.Errorf("wrapped: %w", sqlStateError(state)))
		if f.action != want {
			t.Errorf("the action for the state %q is %d, want %d", state, f.action, want)
		}
	}
	for _, text := range []string{"read only connection", "pq: session is read-only"} {
		if f := classify(errors.New(text)); f.action != actionReconnect || f.advice != adviceReadOnlyPostgres {
			t.Errorf("classify(%s) = %v", text, f)
		}
	}
}

// If the driver does not show that the server is a PostgreSQL server, its refusal of MySQL's statement does.
// The second statement follows without a pause, and later Assigns use it at once.
func TestUnknownDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mocked, m := newMockDisposable(t)
		d := NewDisposable(mocked.db.(*sqlx.DB).DB, WithNode(testNode), WithBackoff(time.Hour, time.Hour))
		d.settingsChecked.Store(true)
		begin := time.Now()
		expectInsert(m).WillReturnError(sqlStateError("42601"))
		expectRollback(m)
		for key := int64(1); key <= 2; key++ {
			m.ExpectExec(postgresInserts().begin).WillReturnResult(sqlmock.NewResult(0, 0))
			insert, _ := postgresInsertStatement(`"worker_node"`, testNode)
			m.ExpectQuery(insert).WithArgs("host-1", "8080", 2).WillReturnRows(sqlmock.NewRows([]string{"id", "set_config"}).AddRow(key, "on"))
			m.ExpectExec("COMMIT").WillReturnResult(sqlmock.NewResult(0, 0))
			if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != key {
				t.Fatalf("Assign() = %v, %v; want %d", l, err, key)
			}
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("the Assigns took %v, want no pause", took)
		}
	})
}

// *sqlx.DB has the name of the driver, which matters if its type is not known.
func TestServerKind(t *testing.T) {
	mocked, _, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	known, err := sql.Open("mysql", "root@tcp(db)/ids")
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	for _, tt := range []struct {
		name string
		db   DB
		want serverKind
	}{
		{"go-sql-driver/mysql", known, serverMySQL},
		{"go-sql-driver/mysql with another name", sqlx.NewDb(known, "pgx"), serverMySQL},
		{"unknown", mocked, serverUnknown},
		{"unknown, named mysql", sqlx.NewDb(mocked, "mysql"), serverMySQL},
		{"unknown, named pgx", sqlx.NewDb(mocked, "pgx"), serverPostgres},
		{"unknown, with another name", sqlx.NewDb(mocked, "x"), serverUnknown},
		{"a DB of the user", customDB{}, serverUnknown},
		{"a pool that was not opened", &sql.DB{}, serverUnknown},
	} {
		if got := serverKindOf(tt.db); got != tt.want {
			t.Errorf("serverKindOf(%s) = %d, want %d", tt.name, got, tt.want)
		}
	}
}

// Only the host of a DSN of PostgreSQL is part of errors, and never a password.
func TestHostOfDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://user:secret@db:5432/ids?sslmode=disable": "db:5432",
		"postgresql://a:1,b:2/ids":                           "a:1,b:2",
		"postgres://db":                                      "db",
		"postgres://user:se@cret@db/ids":                     "db",
		"postgres://user:sec/ret@db/ids":                     "",
		"postgres://user:sec?ret@db/ids":                     "",
		"postgres://user:sec#ret@db/ids":                     "",
		"host=db port=5433 password=secret":                  "db:5433",
		"host=/run/postgresql port=5433":                     "/run/postgresql",
		"password='a host=secret' dbname=ids":                "",
		`password=a\ host=secret dbname=ids`:                 "",
		"":                                                   "",
	} {
		if got := hostOfDSN(dsn); got != want {
			t.Errorf("hostOfDSN(%q) = %q, want %q", dsn, got, want)
		}
	}
}

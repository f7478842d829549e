package sqlstore

import (
	"context"
	"database/sql"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

// If a release of Go or of the driver changes its private fields, this test fails. The only
// consequence for users is that errors do not include the server's address.
func TestServerAddress(t *testing.T) {
	open := func(dsn string) *sql.DB {
		db, err := sql.Open("mysql", dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr = "tcp", "db.example.com:3307"
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	connected := sql.OpenDB(connector)
	defer connected.Close()
	mocked, _, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		db   DB
		want string
	}{
		{"*sql.DB", open("user:secret@tcp(db:3306)/ids"), "db:3306"},
		{"*sqlx.DB", sqlx.NewDb(open("user:secret@tcp(db)/ids"), "mysql"), "db:3306"},
		{"a socket", open("user:secret@unix(/run/db.sock)/ids"), "/run/db.sock"},
		{"a connector", connected, "db.example.com:3307"},
		{"another driver", mocked, ""},
		{"another DB", customDB{}, ""},
		{"nil", (*sqlx.DB)(nil), ""},
	} {
		if got := ServerAddress(tt.db); got != tt.want {
			t.Errorf("ServerAddress(%s) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// customDB is a DB that the user implements.
type customDB struct{}

func (customDB) Conn(context.Context) (*sql.Conn, error) { return nil, sql.ErrConnDone }
func (customDB) Stats() sql.DBStats                      { return sql.DBStats{} }

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

package postgrestest

import (
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/jmoiron/sqlx"
)

// Open opens the database of a data source name with the driver pgx, and closes it at the end of the test.
func Open(tb testing.TB, dsn string) *sqlx.DB {
	tb.Helper()
	db, err := open(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

// open opens the database of a data source name.
func open(dsn string) (*sqlx.DB, error) { return sqlx.Open("pgx", dsn) }

// Admin returns a connection to the database postgres as a superuser. It is closed at the end of the test.
func (s *Server) Admin() *sqlx.DB {
	s.tb.Helper()
	return Open(s.tb, s.DSN("postgres", "", "postgres"))
}

// Database creates a database with a new name. It returns the name and a connection to the database as a
// superuser.
func (s *Server) Database() (string, *sqlx.DB) {
	s.tb.Helper()
	name := newName()
	s.Admin().MustExec("CREATE DATABASE " + name)
	return name, Open(s.tb, s.DSN("postgres", "", name))
}

// newName returns a name for a database.
func newName() string { return "ringuid_" + strings.ToLower(rand.Text()[:8]) }

// Connect returns a connection to a new database, and its data source name. The database is removed at the
// end of the test. It is on the server of DSNEnv, if that is set, and otherwise on a new server.
func Connect(tb testing.TB) (*sqlx.DB, string) {
	tb.Helper()
	dsn := os.Getenv(DSNEnv)
	if dsn == "" {
		s := Start(tb)
		name, db := s.Database()
		return db, s.DSN("postgres", "", name)
	}
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		tb.Fatalf("%s must be a URL: %v", DSNEnv, err)
	}
	admin, name := Open(tb, dsn), newName()
	admin.MustExec("CREATE DATABASE " + name)
	tb.Cleanup(func() { admin.MustExec("DROP DATABASE " + name + " WITH (FORCE)") })
	u.Path = "/" + name
	return Open(tb, u.String()), u.String()
}

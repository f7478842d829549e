package mariadbtest

import (
	"crypto/rand"
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

// Open opens the database of a data source name, and closes it at the end of the test.
func Open(tb testing.TB, dsn string) *sqlx.DB {
	tb.Helper()
	db, err := open(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

// open opens the database of a data source name. The driver logs nothing, because killed servers would
// cause many log lines.
func open(dsn string) (*sqlx.DB, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	cfg.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sqlx.NewDb(sql.OpenDB(connector), "mysql"), nil
}

// Database creates a database with a new name. It returns the name and a connection to the database as
// root.
func (s *Server) Database() (string, *sqlx.DB) {
	s.tb.Helper()
	name := "ringuid_" + strings.ToLower(rand.Text()[:8])
	Open(s.tb, s.DSN("root", "", "")).MustExec("CREATE DATABASE " + name)
	return name, Open(s.tb, s.DSN("root", "", name))
}

// Connect returns a connection to a new database, and its data source name. The database is removed at
// the end of the test. It is on the server of DSNEnv, if that is set, and otherwise on a new server.
func Connect(tb testing.TB) (*sqlx.DB, string) {
	tb.Helper()
	dsn := os.Getenv(DSNEnv)
	if dsn == "" {
		s := Start(tb)
		name, db := s.Database()
		return db, s.DSN("root", "", name)
	}
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatalf("%s: %v", DSNEnv, err)
	}
	cfg.DBName = ""
	admin := Open(tb, cfg.FormatDSN())
	cfg.DBName = "ringuid_" + strings.ToLower(rand.Text()[:8])
	admin.MustExec("CREATE DATABASE " + cfg.DBName)
	tb.Cleanup(func() { admin.MustExec("DROP DATABASE " + cfg.DBName) })
	return Open(tb, cfg.FormatDSN()), cfg.FormatDSN()
}

// Package sqlitetest runs the SQL of package sqltext in SQLite. It is a module of its own, because nothing else needs SQLite.
package sqlitetest

import (
	"database/sql"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/sqltext/sqltexttest"
)

func TestSQLite(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	sqltexttest.Run(t, db, sqltexttest.Database{Dialect: "sqlite", Literal: "'%s'", Text: "%s", Layout: "2006-01-02 15:04:05.000"})
}

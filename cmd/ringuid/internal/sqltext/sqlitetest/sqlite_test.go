// Package sqlitetest runs the SQL of package sqltext in SQLite. It is a module of its own, because nothing else needs SQLite.
package sqlitetest

import (
	"database/sql"
	"testing"
	"time"

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
	sqltexttest.Run(t, db, sqltexttest.Database{
		UIDs:     10_000,
		Dialect:  "sqlite",
		Types:    []string{"INTEGER", "BIGINT"},
		Sessions: []string{""},
		Bounds: []func(time.Time) string{
			func(t time.Time) string { return t.UTC().Format("'" + sqltexttest.Layout + "'") },
			func(t time.Time) string { return t.UTC().Format("'2006-01-02T15:04:05.999999Z'") },
			func(t time.Time) string {
				return t.In(time.FixedZone("", 19800)).Format("'2006-01-02' || '" + " 15:04:05.000000-07:00'")
			},
			func(t time.Time) string { // milliseconds
				if t.Nanosecond()%1_000_000 != 0 {
					return ""
				}
				return t.UTC().Format("julianday('2006-01-02 15:04:05.000')")
			},
		},
		Parameters: [2]string{"?1", "?2"},
		Extreme:    [2]string{"0", "'9999-12-31 23:59:59.999'"},
		Text:       "%s",
		Explain:    "EXPLAIN QUERY PLAN", Plan: []string{"SEARCH ids USING", ">? AND ", "<?"},
	})
	sqltexttest.RunColumn(t, db, "sqlite", "`")
}

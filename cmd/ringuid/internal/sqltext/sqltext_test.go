package sqltext_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/sqltext"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/sqltext/sqltexttest"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/uid"
)

// in returns a function that formats a time in a zone, for a format for fmt.
func in(format, layout string, shift time.Duration, zone *time.Location) func(time.Time) string {
	return func(t time.Time) string { return fmt.Sprintf(format, t.Add(shift).In(zone).Format(layout)) }
}

func TestMariaDB(t *testing.T) {
	db, _ := mariadbtest.Connect(t)
	db.SetMaxOpenConns(1) // the session has a time zone
	sqltexttest.Run(t, db.DB, sqltexttest.Database{
		UIDs:     testkit.Size(500, 10_000),
		Dialect:  "mysql",
		Types:    []string{"BIGINT", "BIGINT UNSIGNED"},
		Sessions: []string{"SET time_zone = '-08:00'", "SET time_zone = '+05:30'", "SET time_zone = '+00:00'"},
		Bounds: []func(time.Time) string{
			in("TIMESTAMP'%s'", sqltexttest.Layout, 0, time.UTC),
			in("'%s'", sqltexttest.Layout, 0, time.UTC),
			in("TIMESTAMP'%s' - INTERVAL 1 HOUR", sqltexttest.Layout, time.Hour, time.UTC),
		},
		Parameters: [2]string{"?", "?"},
		Extreme:    [2]string{"DATE'0001-01-01'", "'9999-12-31 23:59:59.999999'"},
		Text:       "DATE_FORMAT(%s, '%%Y-%%m-%%d %%H:%%i:%%s.%%f')",
		Explain:    "EXPLAIN", Plan: []string{"range", "PRIMARY"},
	})
	sqltexttest.RunColumn(t, db.DB, "mysql", "`")
}

func TestPostgreSQL(t *testing.T) {
	db, _ := postgrestest.Connect(t)
	db.SetMaxOpenConns(1) // the session has a time zone
	db.MustExec("SET enable_seqscan = off")
	sqltexttest.Run(t, db.DB, sqltexttest.Database{
		UIDs:     testkit.Size(500, 10_000),
		Dialect:  "postgres",
		Types:    []string{"bigint"},
		Sessions: []string{"SET TimeZone = 'America/New_York'", "SET TimeZone = 'Asia/Kolkata'", "SET TimeZone = 'UTC'"},
		Bounds: []func(time.Time) string{
			in("timestamptz '%s'", sqltexttest.Layout+"-07", 0, time.UTC),
			in("'%s'", sqltexttest.Layout+"-07:00", 0, time.FixedZone("", 19800)),
			in("timestamptz '%s' - interval '1 hour'", sqltexttest.Layout+"-07", time.Hour, time.UTC),
			in("timestamp '%s' AT TIME ZONE 'UTC'", sqltexttest.Layout, 0, time.UTC),
		},
		Parameters: [2]string{"$1", "$2"},
		Extreme:    [2]string{"'-infinity'", "'infinity'"},
		Text:       "to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')",
		Explain:    "EXPLAIN", Plan: []string{"Index Cond: ((id >", "(id <="},
	})
	sqltexttest.RunColumn(t, db.DB, "postgres", `"`)
}

func TestRefuses(t *testing.T) {
	f, err := uid.NewFormat(uid.WithTimeUnit(time.Second / 512))
	if err != nil {
		t.Fatal(err)
	}
	good, err := uid.NewFormat()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		dialect, column string
		format          uid.Format
		want            string
	}{
		{"mysql", "id", f, "whole microseconds"},
		{"oracle", "id", good, "the dialect is"},
		{"mysql", "id; DROP TABLE x", good, "the column is"},
		{"mysql", "a + b", good, "the column is"},
		{"mysql", `"id"`, good, "as in `order id`"}, // a text
		{"mysql", "`a`b`", good, "the column is"},
		{"mysql", "``", good, "the column is"},
		{"clickhouse", "`a\\`", good, "the column is"},
		{"sqlite", "`a\n`", good, "the column is"},
		{"postgres", "`id`", good, `as in "order id"`},
	} {
		text, err := sqltext.New(test.dialect, test.column, test.format)
		if err == nil || !strings.Contains(err.Error(), test.want) || text.Where != "" {
			t.Errorf("%s, %s: %v, %v; want %s", test.dialect, test.column, text, err, test.want)
		}
	}
}

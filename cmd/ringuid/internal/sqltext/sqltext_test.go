package sqltext_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/sqltext"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/sqltext/sqltexttest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/uid"
)

func TestMariaDB(t *testing.T) {
	db, _ := mariadbtest.Connect(t)
	sqltexttest.Run(t, db.DB, sqltexttest.Database{
		Dialect: "mysql", Literal: "TIMESTAMP'%s'", Text: "DATE_FORMAT(%s, '%%Y-%%m-%%d %%H:%%i:%%s.%%f')", Layout: "2006-01-02 15:04:05.000000",
	})
}

func TestPostgreSQL(t *testing.T) {
	db, _ := postgrestest.Connect(t)
	sqltexttest.Run(t, db.DB, sqltexttest.Database{
		Dialect: "postgres", Literal: "timestamptz '%s+00'", Text: "to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')", Layout: "2006-01-02 15:04:05.000000",
	})
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
	for want, call := range map[string]func() (sqltext.Text, error){
		"whole microseconds": func() (sqltext.Text, error) { return sqltext.New("mysql", "id", f) },
		"the dialect is":     func() (sqltext.Text, error) { return sqltext.New("oracle", "id", good) },
		"the column is":      func() (sqltext.Text, error) { return sqltext.New("mysql", "id; DROP TABLE x", good) },
	} {
		if text, err := call(); err == nil || !strings.Contains(err.Error(), want) || text.Where != "" {
			t.Errorf("%v, %v; want %s", text, err, want)
		}
	}
}

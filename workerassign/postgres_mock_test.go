package workerassign

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/DATA-DOG/go-sqlmock"
)

// expectPostgresInsert expects a transaction of PostgreSQL up to its insert.
func expectPostgresInsert(m sqlmock.Sqlmock) *sqlmock.ExpectedQuery {
	m.ExpectExec("START TRANSACTION ISOLATION LEVEL READ COMMITTED").WillReturnResult(sqlmock.NewResult(0, 0))
	insert, _ := postgresInsertStatement(`"worker_node"`, testNode)
	return m.ExpectQuery(insert).WithArgs("host-1", "8080", 2)
}

// keyRow is the row that the insert returns.
func keyRow(key driver.Value) *sqlmock.Rows {
	return sqlmock.NewRows([]string{"id", "set_config"}).AddRow(key, "on")
}

// On PostgreSQL, an insert that returns no row, or something else than an integer, is an error, and its transaction is rolled back.
func TestPostgresNoKey(t *testing.T) {
	for name, rows := range map[string]*sqlmock.Rows{
		"returned no row":     sqlmock.NewRows([]string{"id", "set_config"}),
		"x is not an integer": keyRow("x"),
		"the key is 0":        keyRow(int64(0)),
		"the key is -1":       keyRow(int64(-1)),
	} {
		synctest.Test(t, func(t *testing.T) {
			d, m := newPrefixDisposable(t, "pgx")
			expectPostgresInsert(m).WillReturnRows(rows)
			m.ExpectExec("ROLLBACK").WillReturnResult(sqlmock.NewResult(0, 0))
			if l, err := d.Assign(t.Context(), Request{}); l != nil || !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "GENERATED ALWAYS AS IDENTITY") {
				t.Errorf("Assign() = %v, %v; want ErrNoKey with %q", l, err, name)
			}
		})
	}
}

// Settings with which a PostgreSQL server can lose committed rows are logged.
func TestPostgresRisks(t *testing.T) {
	for _, c := range []struct {
		name                                        string
		fsync, pages, commit, standbys, persistence string
		cycle                                       bool
		want                                        []string
	}{
		{"durable", "on", "on", "on", "s1", "p", false, nil},
		{"durable, one server", "on", "on", "local", "", "p", false, nil},
		{"off, which each transaction changes", "on", "on", "off", "s1", "p", false, nil},
		{"fsync", "off", "on", "on", "", "p", false, []string{"setting=fsync value=off"}},
		{"pages", "on", "off", "on", "", "p", false, []string{"setting=full_page_writes value=off"}},
		{"local", "on", "on", "local", "s1", "p", false, []string{"setting=synchronous_commit value=local"}},
		{"remote_write", "on", "on", "remote_write", "s1", "p", false, []string{"setting=synchronous_commit value=remote_write"}},
		{"unlogged", "on", "on", "on", "", "u", false, []string{`setting="the table's persistence" value=u`}},
		{"cycle", "on", "on", "on", "", "p", true, []string{`setting="the sequence's CYCLE" value=true`}},
		{"all", "off", "off", "local", "s1", "u", true, []string{"fsync", "full_page_writes", "synchronous_commit", "persistence", "CYCLE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				d, m := newPrefixDisposable(t, "pgx", WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				d.settingsChecked.Store(false)
				expectPostgresInsert(m).WillReturnRows(keyRow(int64(5)))
				m.ExpectExec("COMMIT").WillReturnResult(sqlmock.NewResult(0, 0))
				m.ExpectQuery("SELECT current_setting('fsync')").WithArgs(`"worker_node"`).WillReturnRows(sqlmock.NewRows(make([]string, 6)).AddRow(c.fsync, c.pages, c.commit, c.standbys, c.persistence, c.cycle))
				if l, err := d.Assign(t.Context(), Request{}); err != nil || l.WorkerID() != 5 {
					t.Fatalf("Assign() = %v, %v", l, err)
				}
				if n := strings.Count(log.String(), "\n"); n != len(c.want) {
					t.Errorf("%d lines were logged, want %d: %s", n, len(c.want), log.String())
				}
				for _, want := range c.want {
					if !strings.Contains(log.String(), want) {
						t.Errorf("the log is %s, want %q", log.String(), want)
					}
				}
			})
		})
	}
}

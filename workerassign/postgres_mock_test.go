package workerassign

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// A slot table on PostgreSQL: each write is a transaction, which waits for its commit to be durable, and texts are sent as
// hexadecimal digits in both directions.
func TestPostgresSlotTable(t *testing.T) {
	hexed := func(s string) string { return hex.EncodeToString([]byte(s)) }
	m := newRecordedTable(t, "PostgreSQL 15.4 on x86_64")
	inspect := func(encoding string, unlogged int) {
		m.ExpectQuery("server_encoding").WillReturnRows(sqlmock.NewRows(make([]string, 6)).AddRow("on", "on", "on", "", encoding, unlogged))
	}
	poolRow, slotRow := append([]driver.Value{}, poolRow...), append([]driver.Value{}, slotRow...)
	for _, texts := range []struct {
		row     []driver.Value
		columns []int
	}{{poolRow, []int{2, 5}}, {slotRow, []int{2, 5, 8, 9, 10}}} {
		for _, i := range texts.columns {
			texts.row[i] = hexed(texts.row[i].(string))
		}
	}
	m.expectRead(append(append(headRow("h", 5, 0, ""), poolRow...), slotRow...))
	inspect("UTF8", 0)
	m.wantState(t, SlotQuery{}, PoolState{Now: time.UnixMilli(5).UTC(), History: "h", Pool: rowPool, Slots: []Slot{rowSlot}})

	m.expectExecs("START TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT set_config('synchronous_commit'")
	m.expectWrite(`UPDATE "worker_slot" SET`, 1)
	m.expectExecs("COMMIT")
	if written, err := m.Write(t.Context(), swapOf(Slot{WorkerID: 5, Revision: 2})); !written || err != nil {
		t.Errorf("Write() = %v, %v", written, err)
	}

	poolRow[2] = "no digits"
	m.expectRead(append(headRow("h", 5, 0, ""), poolRow...))
	if s, err := m.Read(t.Context(), SlotQuery{}); err == nil {
		t.Errorf("Read() of a text that is not hexadecimal = %+v", s)
	}
}

// The settings of a PostgreSQL server decide whether it can be used.
func TestPostgresSlotTableSettings(t *testing.T) {
	for _, c := range []struct {
		name     string
		fsync    string
		encoding string
		unlogged int
		history  string
		want     string
	}{
		{"durable", "on", "UTF8", 0, "", ""},
		{"declared", "on", "UTF8", 0, "mine", ""},
		{"not durable", "off", "UTF8", 1, "", ""},
		{"declared, not durable", "off", "UTF8", 0, "mine", "it can: fsync is off: rows may be lost"},
		{"declared, unlogged", "on", "UTF8", 1, "mine", "it can: a table is UNLOGGED"},
		{"encoding", "on", "LATIN1", 0, "", "the database's encoding is LATIN1; must be UTF8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var opts []SlotTableOption
			if c.history != "" {
				opts = append(opts, WithHistory(c.history))
			}
			m := newRecordedTable(t, "PostgreSQL 15.4", opts...)
			for range 2 { // there is no pool, so that its history is another one
				m.expectRead(headRow("h", 5, 0, ""))
			}
			m.ExpectQuery("server_encoding").WillReturnRows(sqlmock.NewRows(make([]string, 6)).AddRow(c.fsync, "on", "on", "", c.encoding, c.unlogged))
			s, err := m.Read(t.Context(), SlotQuery{})
			if c.want == "" && (err != nil || s.NoLoss != (c.history != "")) || c.want != "" && (!errors.Is(err, ErrPermanent) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("Read() = %+v, %v; want the error %q", s, err, c.want)
			}
		})
	}
}

// After an error of a statement, another connection is tried if PostgreSQL has refused it; a conflict is no error.
func TestPostgresSlotTableErrors(t *testing.T) {
	w := swapOf(Slot{WorkerID: 5, Revision: 2})
	for state, want := range map[string]string{"40001": "false", "23505": "false", "42P01": "permanent", "25006": "again"} {
		m := newRecordedTable(t, "PostgreSQL 15.4")
		m.expectExecs("START")
		m.ExpectExec("UPDATE").WillReturnError(sqlStateError(state))
		if want == "false" {
			m.expectExecs("ROLLBACK")
		}
		if want == "again" {
			m.expectExecs("START")
			m.expectWrite("UPDATE", 1)
			m.expectExecs("COMMIT")
		}
		written, err := m.Write(context.Background(), w)
		if written != (want == "again") || errors.Is(err, ErrPermanent) != (want == "permanent") || (err != nil) != (want == "permanent") {
			t.Errorf("after SQLSTATE %s Write() = %v, %v; want %s", state, written, err, want)
		}
	}
}

package sqlstore

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

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
	m.wantState(t, recycled.Query{}, recycled.State{Now: time.UnixMilli(5).UTC(), History: "h", Pool: rowPool, Slots: []recycled.Slot{rowSlot}})

	m.expectExecs("START TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT set_config('synchronous_commit'")
	m.expectWrite(`UPDATE "worker_slot" SET`, 1)
	m.expectExecs("COMMIT")
	if written, err := m.Write(t.Context(), swapOf(recycled.Slot{WorkerID: 5, Revision: 2})); !written || err != nil {
		t.Errorf("Write() = %v, %v", written, err)
	}

	poolRow[2] = "no digits"
	m.expectRead(append(headRow("h", 5, 0, ""), poolRow...))
	if s, err := m.Read(t.Context(), recycled.Query{}); err == nil {
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
			var opts []Option
			if c.history != "" {
				opts = append(opts, WithHistory(c.history))
			}
			m := newRecordedTable(t, "PostgreSQL 15.4", opts...)
			for range 2 { // there is no pool, so that its history is another one
				m.expectRead(headRow("h", 5, 0, ""))
			}
			m.ExpectQuery("server_encoding").WillReturnRows(sqlmock.NewRows(make([]string, 6)).AddRow(c.fsync, "on", "on", "", c.encoding, c.unlogged))
			s, err := m.Read(t.Context(), recycled.Query{})
			if c.want == "" && (err != nil || s.NoLoss != (c.history != "")) || c.want != "" && (!errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("Read() = %+v, %v; want the error %q", s, err, c.want)
			}
		})
	}
}

// After an error of a statement, another connection is tried if PostgreSQL has refused it; a conflict is no error.
func TestPostgresSlotTableErrors(t *testing.T) {
	w := swapOf(recycled.Slot{WorkerID: 5, Revision: 2})
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
		if written != (want == "again") || errors.Is(err, workerassign.ErrPermanent) != (want == "permanent") || (err != nil) != (want == "permanent") {
			t.Errorf("after SQLSTATE %s Write() = %v, %v; want %s", state, written, err, want)
		}
	}
}

// sqlStateError is an error with an SQLSTATE, as pgx and lib/pq have it.
type sqlStateError string

func (e sqlStateError) Error() string    { return "SQLSTATE " + string(e) }
func (e sqlStateError) SQLState() string { return string(e) }

package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sqlmock "github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/internal/testkit/fakedb"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// mockTable is a slot table on a mock of a server, which records the statements.
type mockTable struct {
	*Store
	sqlmock.Sqlmock
	db         *sql.DB
	statements []string // in the order of their execution
}

// newRecordedTable returns a slot table on a mock of a server with that version. The kind of the server is known already.
func newRecordedTable(t *testing.T, version string, opts ...Option) *mockTable {
	t.Helper()
	m := &mockTable{}
	db, mock, kept := fakedb.Mock(t, sqlmock.QueryMatcherFunc(func(expected, actual string) error {
		if !strings.Contains(actual, expected) {
			return fmt.Errorf("the statement is %q, want %q", actual, expected)
		}
		m.statements = append(m.statements, actual)
		return nil
	}))
	m.db, m.Sqlmock, m.Store = db, mock, New(db, opts...)
	mock.ExpectQuery("SELECT VERSION").WillReturnRows(sqlmock.NewRows([]string{"v"}).AddRow(version))
	if !strings.HasPrefix(version, "PostgreSQL") {
		m.expectVariables("transaction_isolation", "x")
	}
	if _, err := m.detect(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	m.statements = nil
	return m
}

// expectVariables expects a read of variables of the server.
func (m *mockTable) expectVariables(variables ...string) {
	rows := sqlmock.NewRows([]string{"Variable_name", "Value"})
	for pair := range slices.Chunk(variables, 2) {
		rows.AddRow(pair[0], pair[1])
	}
	m.ExpectQuery("SHOW GLOBAL VARIABLES").WillReturnRows(rows)
}

// expectInspection expects the look at the tables' engines and at the settings of a server of the MySQL family.
func (m *mockTable) expectInspection(settings ...string) {
	for range 2 {
		m.ExpectQuery("SELECT ENGINE").WillReturnRows(sqlmock.NewRows([]string{"e"}))
	}
	m.expectVariables(settings...)
}

// headRow returns a row of a read, without a pool and a slot. A row has these columns, those of the pool, and
// those of a slot.
func headRow(history string, now int64, readOnly int, session string) []driver.Value {
	return []driver.Value{history, now, readOnly, session}
}

// stateRow returns a row of a read with a pool that has the same history.
func stateRow(history string, now int64, readOnly int, session string) []driver.Value {
	pool := slices.Clone(poolRow)
	pool[5] = history
	return append(headRow(history, now, readOnly, session), pool...)
}

// stateAt returns the state of stateRow.
func stateAt(history string, now int64) recycled.State {
	p := rowPool
	p.History = history
	return recycled.State{Pool: p, Now: time.UnixMilli(now).UTC(), History: history}
}

// expectRead expects the statement of a read. Columns that are missing at the end of a row are NULL.
func (m *mockTable) expectRead(rows ...[]driver.Value) {
	columns := make([]string, 4+len(poolFields(recycled.Pool{}))+len(slotFields(recycled.Slot{})))
	result := sqlmock.NewRows(columns)
	for _, row := range rows {
		result.AddRow(append(slices.Clone(row), make([]driver.Value, len(columns)-len(row))...)...)
	}
	m.ExpectQuery("AS session_state").WillReturnRows(result)
}

// expectExecs expects statements without a result.
func (m *mockTable) expectExecs(statements ...string) {
	for _, s := range statements {
		m.ExpectExec(s).WillReturnResult(sqlmock.NewResult(0, 0))
	}
}

// expectWrite expects a statement that changes so many rows.
func (m *mockTable) expectWrite(statement string, rows int64) {
	m.ExpectExec(statement).WillReturnResult(sqlmock.NewResult(0, rows))
}

// wantState reads the pool, which must succeed.
func (m *mockTable) wantState(t *testing.T, q recycled.Query, want recycled.State) {
	t.Helper()
	if got, err := m.Read(t.Context(), q); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Read() = %+v, %v; want %+v", got, err, want)
	}
}

const cleanSession = "1 REPEATABLE-READ"

var (
	poolRow = []driver.Value{1, 7, "format", 5, 2, "h", int64(1_800_000_000_001), int64(1_800_000_000_002), 75_001, 30_002, 5_003}
	slotRow = []driver.Value{5, 3, "token", int64(1_800_000_000_003), int64(1_800_000_000_004), "h since 1", int64(1_800_000_000_005), int64(1_800_000_000_006),
		"name", "host", "process", int64(1_800_000_000_007)}

	rowPool = recycled.Pool{Revision: 7, Format: "format", First: 5, Slots: 2, History: "h", Since: time.UnixMilli(1_800_000_000_001).UTC(),
		Floor: time.UnixMilli(1_800_000_000_002).UTC(), Horizon: 75_001 * time.Millisecond, Fencing: 30_002 * time.Millisecond, Skew: 5_003 * time.Millisecond}
	rowSlot = recycled.Slot{WorkerID: 5, Revision: 3, Token: "token", From: time.UnixMilli(1_800_000_000_003).UTC(), Until: time.UnixMilli(1_800_000_000_004).UTC(),
		History: "h since 1", Written: time.UnixMilli(1_800_000_000_005).UTC(), FreeAt: time.UnixMilli(1_800_000_000_006).UTC(),
		Holder: recycled.Holder{Name: "name", Host: "host", Process: "process", Since: time.UnixMilli(1_800_000_000_007).UTC()}}
)

// Each column of the tables is in its field, and NULL is the zero value.
func TestSlotTableColumns(t *testing.T) {
	m := newRecordedTable(t, "10.11.2-MariaDB")
	head := headRow("h", 1_900_000_000_000, 0, cleanSession)
	now := time.UnixMilli(1_900_000_000_000).UTC()
	for range 2 { // there is no pool, so that its history is another one
		m.expectRead(head)
	}
	m.expectInspection()
	m.wantState(t, recycled.Query{All: true}, recycled.State{Now: now, History: "h"})

	m.expectRead(slices.Concat(head, poolRow)) // the settings are known
	m.wantState(t, recycled.Query{All: true}, recycled.State{Now: now, History: "h", Pool: rowPool})

	released := []driver.Value{6, 4, nil, 1, 2, "h", 3, 4, nil, nil, nil, nil}
	m.expectRead(slices.Concat(head, poolRow, slotRow), slices.Concat(head, poolRow, released))
	m.wantState(t, recycled.Query{All: true}, recycled.State{Now: now, History: "h", Pool: rowPool, Slots: []recycled.Slot{rowSlot, {WorkerID: 6, Revision: 4,
		From: time.UnixMilli(1).UTC(), Until: time.UnixMilli(2).UTC(), History: "h", Written: time.UnixMilli(3).UTC(), FreeAt: time.UnixMilli(4).UTC()}}})

	floorless, want := slices.Clone(poolRow), rowPool
	floorless[7], want.Floor = nil, time.Time{}
	m.expectRead(slices.Concat(head, floorless))
	m.wantState(t, recycled.Query{All: true}, recycled.State{Now: now, History: "h", Pool: want})

	// A duration that does not fit is not turned into another one that does.
	impossible := slices.Clone(poolRow)
	impossible[8] = int64(1) << 62
	m.expectRead(slices.Concat(head, impossible))
	if s, err := m.Read(t.Context(), recycled.Query{All: true}); err != nil || s.Pool.Horizon <= millis.MaxDuration {
		t.Errorf("Read() = %+v, %v; want a horizon that is refused", s, err)
	}
}

// With WithHistory, the history of the server is not asked for.
func TestSlotTableOwnHistory(t *testing.T) {
	m := newRecordedTable(t, "10.11.2-MariaDB", WithHistory("mine"))
	pool := slices.Clone(poolRow)
	pool[5] = "mine"
	m.expectRead(slices.Concat(headRow("-", 1_900_000_000_000, 0, cleanSession), pool))
	own := stateAt("mine", 1_900_000_000_000)
	own.NoLoss = true
	m.expectInspection("innodb_flush_log_at_trx_commit", "1", "log_bin", "OFF")
	m.wantState(t, recycled.Query{}, own)
	if strings.Contains(m.statements[0], "@@server_id") {
		t.Errorf("the statement reads the server's history: %s", m.statements[0])
	}
	if written, err := m.Write(t.Context(), recycled.Write{History: "other", Slots: []recycled.Slot{{WorkerID: 5, Revision: 1}}, Replaced: []recycled.Slot{{}}}); written || err != nil {
		t.Errorf("Write() for another history = %v, %v; want false without a statement", written, err)
	}
	m.expectWrite("INSERT", 1)
	m.expectExecs("COMMIT")
	if written, err := m.Write(t.Context(), recycled.Write{History: "mine", Slots: []recycled.Slot{{WorkerID: 5, Revision: 1}}, Replaced: []recycled.Slot{{}}}); !written || err != nil {
		t.Errorf("Write() = %v, %v", written, err)
	}
}

// In a session in which a read may see uncommitted rows, or is part of an earlier transaction, the read is repeated in a
// transaction of its own, which is ended.
func TestSlotTableSessions(t *testing.T) {
	for session, clean := range map[string]bool{
		"1 REPEATABLE-READ": true, "1 READ-COMMITTED": true, "1 SERIALIZABLE": true,
		"1 READ-UNCOMMITTED": false, "0 REPEATABLE-READ": false, "0 READ-COMMITTED": false, "0 SERIALIZABLE": false,
	} {
		t.Run(session, func(t *testing.T) {
			m := newRecordedTable(t, "10.11.2-MariaDB")
			want := int64(1)
			m.expectRead(stateRow("h", 1, 0, session))
			if !clean {
				want = 2
				m.expectExecs("COMMIT", "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION")
				m.expectRead(stateRow("h", want, 0, session))
			}
			m.expectInspection()
			if !clean {
				m.expectExecs("COMMIT")
			}
			m.wantState(t, recycled.Query{}, stateAt("h", want))
		})
	}
}

// An error of each statement of a read is an error of Read, and its connection is not used again.
func TestSlotTableReadErrors(t *testing.T) {
	fault := &mysql.MySQLError{Number: 1227, Message: "denied"}
	dirty := stateRow("h", 1, 0, "0 REPEATABLE-READ")
	for name, prepare := range map[string]func(m *mockTable){
		"the read":   func(m *mockTable) { m.ExpectQuery("session_state").WillReturnError(fault) },
		"its commit": func(m *mockTable) { m.expectRead(dirty); m.ExpectExec("COMMIT").WillReturnError(fault) },
		"the second read": func(m *mockTable) {
			m.expectRead(dirty)
			m.expectExecs("COMMIT", "SET TRANSACTION", "START TRANSACTION")
			m.ExpectQuery("session_state").WillReturnError(fault)
		},
		"the read of another history": func(m *mockTable) {
			m.expectRead(slices.Concat(headRow("h2", 1, 0, cleanSession), poolRow))
			m.ExpectQuery("session_state").WillReturnError(fault)
		},
		"the engine": func(m *mockTable) {
			m.expectRead(stateRow("h", 1, 0, cleanSession))
			m.ExpectQuery("ENGINE").WillReturnError(fault)
		},
		"the second table": func(m *mockTable) {
			m.expectRead(stateRow("h", 1, 0, cleanSession))
			m.ExpectQuery("ENGINE").WillReturnRows(sqlmock.NewRows([]string{"e"}))
			m.ExpectQuery("ENGINE").WillReturnError(fault)
		},
		"the settings": func(m *mockTable) {
			m.expectRead(stateRow("h", 1, 0, cleanSession))
			for range 2 {
				m.ExpectQuery("ENGINE").WillReturnRows(sqlmock.NewRows([]string{"e"}))
			}
			m.ExpectQuery("SHOW GLOBAL VARIABLES").WillReturnError(fault)
		},
		"the last commit": func(m *mockTable) {
			m.expectRead(dirty)
			m.expectExecs("COMMIT", "SET TRANSACTION", "START TRANSACTION")
			m.expectRead(dirty)
			m.expectInspection()
			m.ExpectExec("COMMIT").WillReturnError(fault)
		},
		"a row that is not complete": func(m *mockTable) {
			m.ExpectQuery("session_state").WillReturnRows(sqlmock.NewRows([]string{"a"}).AddRow(1))
		},
		"the rows": func(m *mockTable) {
			m.ExpectQuery("session_state").WillReturnRows(sqlmock.NewRows([]string{"a"}).AddRow(1).RowError(0, fault))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newRecordedTable(t, "10.11.2-MariaDB")
			prepare(m)
			if s, err := m.Read(t.Context(), recycled.Query{}); !errors.Is(err, workerassign.ErrPermanent) {
				t.Errorf("Read() = %+v, %v; want a permanent error", s, err)
			}
			if n := m.db.Stats().Idle; n != 0 {
				t.Errorf("%d connections are kept, want 0", n)
			}
		})
	}
}

// R7: if the pool has another history, the state is read again, and it is read-only if the server was so before.
func TestRule7SlotTableReadsAgain(t *testing.T) {
	for _, first := range []int{0, 1} {
		for _, second := range []int{0, 1} {
			m := newRecordedTable(t, "10.11.2-MariaDB")
			m.expectRead(slices.Concat(headRow("h2", 1, first, cleanSession), poolRow))
			m.expectRead(slices.Concat(headRow("h2", 2, second, cleanSession), poolRow))
			m.expectInspection()
			m.wantState(t, recycled.Query{}, recycled.State{Now: time.UnixMilli(2).UTC(), History: "h2", Pool: rowPool, ReadOnly: first == 1 || second == 1})
		}
	}
}

// The settings of a server decide whether it loses acknowledged writes, and whether it can be used.
func TestSlotTableDurability(t *testing.T) {
	const flush, binlog, logBin, format, wsrep = "innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "binlog_format", "wsrep_on"
	for _, c := range []struct {
		name          string
		settings      []string
		noLoss        bool
		refused, risk string
	}{
		{name: "a single server", settings: []string{flush, "1", logBin, "OFF"}},
		{name: "a primary", settings: []string{flush, "1", logBin, "ON", binlog, "1", format, "ROW"}},
		{name: "a primary that loses", settings: []string{flush, "2", logBin, "ON", binlog, "0", format, "MIXED"},
			risk: "it can: innodb_flush_log_at_trx_commit is 2: rows may be lost if the machine loses power; sync_binlog is 0: rows may be lost"},
		{name: "Galera", settings: []string{flush, "1", wsrep, "ON", logBin, "ON", binlog, "0", format, "ROW"}, noLoss: true},
		{name: "Galera that loses", settings: []string{flush, "0", wsrep, "ON", logBin, "OFF"}, risk: "it can: innodb_flush_log_at_trx_commit is 0"},
		{name: "statements", settings: []string{flush, "1", logBin, "ON", binlog, "1", format, "Statement"}, refused: "binlog_format is STATEMENT"},
		{name: "statements without a log", settings: []string{flush, "1", logBin, "OFF", format, "STATEMENT"}},
	} {
		for _, history := range []string{"", "mine"} {
			t.Run(c.name+" "+history, func(t *testing.T) {
				var opts []Option
				if history != "" {
					opts = append(opts, WithHistory(history))
				}
				m := newRecordedTable(t, "10.11.2-MariaDB", opts...)
				m.expectRead(stateRow(cmp.Or(history, "h"), 1, 0, cleanSession))
				m.expectInspection(c.settings...)
				s, err := m.Read(t.Context(), recycled.Query{})
				want := c.refused
				if history != "" && want == "" {
					want = c.risk
				}
				switch {
				case want != "":
					if !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), want) {
						t.Errorf("Read() = %v, want a permanent error with %q", err, want)
					}
				case err != nil || s.NoLoss != (c.noLoss || history != ""):
					t.Errorf("Read() = %+v, %v; want NoLoss %v", s, err, c.noLoss || history != "")
				}
			})
		}
	}
	t.Run("another engine", func(t *testing.T) {
		m := newRecordedTable(t, "10.11.2-MariaDB")
		m.expectRead(stateRow("h", 1, 0, cleanSession))
		m.ExpectQuery("ENGINE").WillReturnRows(sqlmock.NewRows([]string{"e"}))
		m.ExpectQuery("ENGINE").WillReturnRows(sqlmock.NewRows([]string{"e"}).AddRow("MyISAM"))
		if _, err := m.Read(t.Context(), recycled.Query{}); !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), "storage engine of table `WORKER_SLOT` is MyISAM") {
			t.Errorf("Read() = %v", err)
		}
	})
	t.Run("TiDB", func(t *testing.T) {
		m := newRecordedTable(t, "8.0.11-TiDB-v7.5.0")
		m.expectRead(stateRow("TiDB", 1, 0, cleanSession))
		want := stateAt("TiDB", 1)
		want.NoLoss = true
		m.wantState(t, recycled.Query{}, want)
	})
}

// The settings are read again after a minute, and when another server answers.
func TestSlotTableSettingsAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newRecordedTable(t, "10.11.2-MariaDB")
		read := func(history string, inspected, noLoss bool) {
			t.Helper()
			m.expectRead(stateRow(history, 1, 0, cleanSession))
			if inspected {
				m.expectInspection("wsrep_on", map[bool]string{true: "ON", false: "OFF"}[noLoss], "innodb_flush_log_at_trx_commit", "1")
			}
			want := stateAt(history, 1)
			want.NoLoss = noLoss
			m.wantState(t, recycled.Query{}, want)
		}
		read("a", true, true)
		time.Sleep(time.Minute - 1)
		read("a", false, true)
		time.Sleep(time.Nanosecond)
		read("a", true, false)
		read("b", true, true)
		read("b", false, true)
		read("a", true, true)
	})
}

// A read finds a connection that works, if those before it were lost or lead to a server that does not answer it, and
// is repeated if the server has rolled it back. Each connection that failed is closed.
func TestSlotTableTriesAgain(t *testing.T) {
	const idle = 3
	for _, c := range []struct {
		name     string
		fault    error
		failures int
		ok       bool
	}{
		{"lost", mysql.ErrInvalidConn, idle + 1, true},
		{"always lost", mysql.ErrInvalidConn, idle + 2, false},
		{"outside of the cluster", &mysql.MySQLError{Number: 1047}, idle, true},
		{"rolled back", &mysql.MySQLError{Number: 1213}, maxRolledBack, true},
		{"always rolled back", &mysql.MySQLError{Number: 1213}, maxRolledBack + 1, false},
		{"too many connections", &mysql.MySQLError{Number: 1040}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newRecordedTable(t, "10.11.2-MariaDB")
			m.db.SetMaxIdleConns(10)
			var conns []*sql.Conn
			for range idle {
				conn, err := m.db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				conns = append(conns, conn)
			}
			for _, conn := range conns {
				conn.Close()
			}
			for range c.failures {
				m.ExpectQuery("session_state").WillReturnError(c.fault)
			}
			if c.ok {
				m.expectRead(stateRow("h", 1, 0, cleanSession))
				m.expectInspection()
			}
			_, err := m.Read(t.Context(), recycled.Query{})
			if (err == nil) != c.ok || errors.Is(err, workerassign.ErrPermanent) {
				t.Errorf("Read() = %v, want an error: %v", err, !c.ok)
			}
			if n, left := m.db.Stats().Idle, max(idle-c.failures, 0); !c.ok && n != left {
				t.Errorf("%d connections are kept, want %d", n, left)
			}
		})
	}
}

// A write is tried on another connection only if nothing was written: it failed before its commit, and either its
// transaction was open or the server has refused the statement.
func TestSlotTableWriteTriesAgain(t *testing.T) {
	slot := recycled.Slot{WorkerID: 5, Revision: 2}
	for _, c := range []struct {
		name     string
		w        recycled.Write
		fail     func(m *mockTable)
		again    bool
		restWork func(m *mockTable)
	}{
		{"a statement that was not sent", swapOf(slot),
			func(m *mockTable) { m.ExpectExec("UPDATE").WillReturnError(&mysql.MySQLError{Number: 1290}) }, true,
			func(m *mockTable) { m.expectWrite("UPDATE", 1); m.expectExecs("COMMIT") }},
		{"a statement that may have been executed", swapOf(slot),
			func(m *mockTable) { m.ExpectExec("UPDATE").WillReturnError(mysql.ErrInvalidConn) }, false, nil},
		{"the begin", swapOf(slot, recycled.Slot{WorkerID: 6, Revision: 2}),
			func(m *mockTable) { m.ExpectExec("START").WillReturnError(mysql.ErrInvalidConn) }, true,
			func(m *mockTable) {
				m.expectExecs("START")
				m.expectWrite("UPDATE", 1)
				m.expectWrite("UPDATE", 1)
				m.expectExecs("COMMIT")
			}},
		{"the second statement", swapOf(slot, recycled.Slot{WorkerID: 6, Revision: 2}),
			func(m *mockTable) {
				m.expectExecs("START")
				m.expectWrite("UPDATE", 1)
				m.ExpectExec("UPDATE").WillReturnError(mysql.ErrInvalidConn)
			}, true,
			func(m *mockTable) {
				m.expectExecs("START")
				m.expectWrite("UPDATE", 1)
				m.expectWrite("UPDATE", 1)
				m.expectExecs("COMMIT")
			}},
		{"the commit", swapOf(slot, recycled.Slot{WorkerID: 6, Revision: 2}),
			func(m *mockTable) {
				m.expectExecs("START")
				m.expectWrite("UPDATE", 1)
				m.expectWrite("UPDATE", 1)
				m.ExpectExec("COMMIT").WillReturnError(mysql.ErrInvalidConn)
			}, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newRecordedTable(t, "10.11.2-MariaDB")
			c.fail(m)
			if c.again {
				c.restWork(m)
			}
			if written, err := m.Write(t.Context(), c.w); written != c.again || (err == nil) != c.again {
				t.Errorf("Write() = %v, %v; want another try: %v", written, err, c.again)
			}
		})
	}
}

// A write executes these statements: the first one compares the history, each one the revision and what is replaced, and
// new slots are one statement.
func TestSlotTableStatements(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	pool := recycled.Pool{Revision: 8, Format: "f", First: 5, Slots: 4, History: "h", Since: at(1), Horizon: 3 * time.Millisecond, Fencing: time.Millisecond, Skew: 3 * time.Millisecond}
	slot := func(id, revision int64) recycled.Slot {
		return recycled.Slot{WorkerID: id, Revision: revision, From: at(11), Until: at(12), History: "hh", Written: at(13), FreeAt: at(14)}
	}
	const (
		history     = "CONCAT('MySQL ', @@server_uuid, ' ', UNIX_TIMESTAMP() - CAST((SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Uptime') AS SIGNED))"
		compare     = "CAST(" + history + " AS BINARY) = _utf8mb4 X'68'"
		slotColumns = "worker_id, revision, token, from_ms, until_ms, history, written_ms, free_at_ms, holder_name, holder_host, holder_process, holder_since_ms"
		setPool     = "UPDATE `WORKER_POOL` SET revision = 8, format = _utf8mb4 X'66', first_worker_id = 5, slot_count = 4, history = _utf8mb4 X'68'," +
			" since_ms = 1, floor_ms = NULL, horizon_ms = 3, fencing_ms = 1, skew_ms = 3 WHERE id = 1 AND revision = 7"
		values = "NULL, 11, 12, _utf8mb4 X'6868', 13, 14, NULL, NULL, NULL, NULL"
	)
	for _, c := range []struct {
		name string
		opts []Option
		w    recycled.Write
		rows []int64 // of the statements that write
		want []string
	}{
		{"a new slot", nil, swapOf(slot(5, 1)), []int64{1}, []string{
			"INSERT INTO `WORKER_SLOT` (" + slotColumns + ") SELECT 5, 1, " + values + " FROM (SELECT 1 AS one) AS one WHERE " + compare,
			"COMMIT AND NO CHAIN NO RELEASE"}},
		{"a slot", nil, recycled.Write{History: "h", Slots: []recycled.Slot{slot(5, 2)}, Replaced: []recycled.Slot{{Until: at(9), Token: "t"}}}, []int64{1}, []string{
			"UPDATE `WORKER_SLOT` SET revision = 2, token = NULL, from_ms = 11, until_ms = 12, history = _utf8mb4 X'6868', written_ms = 13, free_at_ms = 14," +
				" holder_name = NULL, holder_host = NULL, holder_process = NULL, holder_since_ms = NULL" +
				" WHERE worker_id = 5 AND revision = 1 AND until_ms = 9 AND token = _utf8mb4 X'74' AND " + compare,
			"COMMIT AND NO CHAIN NO RELEASE"}},
		{"new slots", nil, recycled.Write{History: "h", Pool: &pool, Slots: []recycled.Slot{slot(7, 1), slot(6, 1), slot(5, 2)}, Replaced: []recycled.Slot{{}, {}, {Until: at(9)}},
			ReplacedPool: &recycled.Pool{Revision: 7, History: "g", Since: at(2), Slots: 3}}, []int64{1, 1, 2}, []string{
			"START TRANSACTION",
			setPool + " AND history = _utf8mb4 X'67' AND since_ms = 2 AND floor_ms IS NULL AND slot_count = 3 AND " + compare,
			"UPDATE `WORKER_SLOT` SET revision = 2, token = NULL, from_ms = 11, until_ms = 12, history = _utf8mb4 X'6868', written_ms = 13, free_at_ms = 14," +
				" holder_name = NULL, holder_host = NULL, holder_process = NULL, holder_since_ms = NULL" +
				" WHERE worker_id = 5 AND revision = 1 AND until_ms = 9 AND token IS NULL",
			"INSERT INTO `WORKER_SLOT` (" + slotColumns + ") VALUES (6, 1, " + values + "), (7, 1, " + values + ")",
			"COMMIT AND NO CHAIN NO RELEASE"}},
		{"the pool, whose floor is compared", nil, recycled.Write{History: "h", Pool: &pool, ReplacedPool: &recycled.Pool{History: "g", Since: at(2), Floor: at(3), Slots: 3}}, []int64{1}, []string{
			setPool + " AND history = _utf8mb4 X'67' AND since_ms = 2 AND floor_ms = 3 AND slot_count = 3 AND " + compare,
			"COMMIT AND NO CHAIN NO RELEASE"}},
		{"a new pool and a new slot, without the server's history", []Option{WithHistory("h"), WithPoolTables("p", "d.s")},
			recycled.Write{History: "h", Pool: &recycled.Pool{Revision: 1, Since: at(1)}, Slots: []recycled.Slot{slot(5, 1)}, Replaced: []recycled.Slot{{}}}, []int64{1, 1}, []string{
				"START TRANSACTION",
				"INSERT INTO `p` (id, revision, format, first_worker_id, slot_count, history, since_ms, floor_ms, horizon_ms, fencing_ms, skew_ms)" +
					" VALUES (1, 1, _utf8mb4 X'', 0, 0, _utf8mb4 X'', 1, NULL, 0, 0, 0)",
				"INSERT INTO `d`.`s` (" + slotColumns + ") VALUES (5, 1, " + values + ")",
				"COMMIT AND NO CHAIN NO RELEASE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for wrong := range len(c.rows) + 1 { // the statement that changes too few rows, if it is one of them
				m := newRecordedTable(t, "8.0.36", c.opts...)
				n := 0
				for _, want := range c.want {
					switch {
					case !strings.HasPrefix(want, "UPDATE") && !strings.HasPrefix(want, "INSERT"):
						m.expectExecs(want)
						continue
					case n == wrong:
						m.expectWrite(want, c.rows[n]-1)
						m.expectExecs("ROLLBACK")
					default:
						m.expectWrite(want, c.rows[n])
					}
					if n == wrong {
						break
					}
					n++
				}
				written, err := m.Write(t.Context(), c.w)
				if err != nil || written != (wrong == len(c.rows)) {
					t.Errorf("Write() = %v, %v; the statement %d changes too few rows", written, err, wrong)
				}
				if n := m.db.Stats().Idle; n != 1 {
					t.Errorf("%d connections are idle after a write, want 1", n)
				}
				if written && !slices.Equal(m.statements, c.want) {
					t.Errorf("the statements are\n%s\nwant\n%s", strings.Join(m.statements, "\n"), strings.Join(c.want, "\n"))
				}
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		for history, want := range map[string]bool{"h": true, "other": false} {
			m := newRecordedTable(t, "8.0.36")
			m.expectRead(stateRow("h", 1, 0, cleanSession))
			m.expectInspection()
			if written, err := m.Write(t.Context(), recycled.Write{History: history}); written != want || err != nil {
				t.Errorf("Write() of nothing for the history %q = %v, %v", history, written, err)
			}
		}
	})
}

// The texts that are compared must fit into their columns. The lengths count characters.
func TestSlotTableTextLengths(t *testing.T) {
	for _, c := range []struct {
		what   string
		length int
		write  func(text string) recycled.Write
	}{
		{"format", 1024, func(s string) recycled.Write {
			return recycled.Write{History: "h", Pool: &recycled.Pool{Revision: 2, Format: s}, ReplacedPool: &recycled.Pool{}}
		}},
		{"history", 255, func(s string) recycled.Write {
			return recycled.Write{History: "h", Pool: &recycled.Pool{Revision: 2, History: s}, ReplacedPool: &recycled.Pool{}}
		}},
		{"name", 128, func(s string) recycled.Write {
			return swapOf(recycled.Slot{Revision: 2, Holder: recycled.Holder{Name: s}})
		}},
		{"token", 64, func(s string) recycled.Write { return swapOf(recycled.Slot{Revision: 2, Token: s}) }},
		{"history", 255, func(s string) recycled.Write { return swapOf(recycled.Slot{Revision: 2, History: s}) }},
	} {
		m := newRecordedTable(t, "8.0.36")
		for _, bad := range []string{strings.Repeat("é", c.length+1), "\xff"} {
			if written, err := m.Write(t.Context(), c.write(bad)); written || !errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), "the "+c.what+" is") {
				t.Errorf("Write() of a %s of %d bytes = %v, %v; want ErrOption", c.what, len(bad), written, err)
			}
		}
		m.expectWrite("UPDATE", 1)
		m.expectExecs("COMMIT")
		if written, err := m.Write(t.Context(), c.write(strings.Repeat("é", c.length))); !written || err != nil {
			t.Errorf("Write() of a %s of %d characters = %v, %v", c.what, c.length, written, err)
		}
	}
	// What is only for people is cut.
	m := newRecordedTable(t, "8.0.36")
	m.expectWrite("holder_host = _utf8mb4 X'"+strings.Repeat("c3a9", 255)+"', holder_process = _utf8mb4 X'"+strings.Repeat("61", 255)+"'", 1)
	m.expectExecs("COMMIT")
	w := swapOf(recycled.Slot{Revision: 2, Holder: recycled.Holder{Host: strings.Repeat("é", 256), Process: strings.Repeat("a", 255)}})
	if written, err := m.Write(t.Context(), w); !written || err != nil {
		t.Errorf("Write() = %v, %v", written, err)
	}
}

// A read selects the slots of the query, and no others.
func TestSlotTableQueries(t *testing.T) {
	byID, byName, byFree := "worker_id IN (3, 4)", "holder_name = _utf8mb4 X'6e616d65' AND OCTET_LENGTH(holder_name) = 4", "ORDER BY free_at_ms LIMIT 16"
	for text, cast := range map[string]bool{"p.format": true, "p.history": true, "s.token": true, "s.history": true, "s.holder_name": true,
		"s.holder_host": true, "s.holder_process": true, "p.revision": false, "p.floor_ms": false, "s.worker_id": false, "s.holder_since_ms": false} {
		b, err := newRecordedTable(t, "8.0.36").readStatement(mysqlDialect{Dialect: sqlattempt.Dialect{Kind: sqlattempt.MySQL}}, recycled.Query{})
		if err != nil || strings.Contains(b.query.String(), "CAST("+text+" AS BINARY)") != cast || !strings.Contains(b.query.String(), text) {
			t.Errorf("the bytes of %s are read: want %v: %s, %v", text, cast, b.query.String(), err)
		}
	}
	for _, c := range []struct {
		q       recycled.Query
		want    []string
		without []string
	}{
		{recycled.Query{}, []string{"WHERE 1 = 0"}, []string{byID, byName, "LIMIT"}},
		{recycled.Query{WorkerIDs: []int64{3, 4}}, []string{byID}, []string{"1 = 0", byName, "LIMIT"}},
		{recycled.Query{Name: "name"}, []string{"1 = 0", byName}, []string{byID, "LIMIT"}},
		{recycled.Query{Free: 16}, []string{"1 = 0", byFree}, []string{byID, byName}},
		{recycled.Query{Free: 16, Name: "name", WorkerIDs: []int64{3, 4}}, []string{byID, byName, byFree}, nil},
		{recycled.Query{All: true, Free: 16, Name: "name", WorkerIDs: []int64{3, 4}}, []string{"LEFT JOIN `WORKER_SLOT` AS s ON 1 = 1"}, []string{byID, byName, byFree}},
	} {
		m := newRecordedTable(t, "8.0.36")
		m.expectRead(stateRow("h", 1, 0, cleanSession))
		m.expectInspection()
		if _, err := m.Read(t.Context(), c.q); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(m.statements[0], want) {
				t.Errorf("the statement for %+v has no %q: %s", c.q, want, m.statements[0])
			}
		}
		for _, without := range c.without {
			if strings.Contains(m.statements[0], without) {
				t.Errorf("the statement for %+v has %q: %s", c.q, without, m.statements[0])
			}
		}
	}
}

// If all connections of the pool are in use, the error says so; if the server does not answer, it says that.
func TestSlotTableWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newRecordedTable(t, "8.0.36")
		m.db.SetMaxOpenConns(1) // the one that is kept
		begin := time.Now()
		_, err := m.Read(t.Context(), recycled.Query{})
		if err == nil || !strings.Contains(err.Error(), "all connections of the pool are in use") || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, workerassign.ErrPermanent) {
			t.Errorf("Read() = %v", err)
		}
		if took := time.Since(begin); took < defaultAttemptTimeout || took > 3*defaultAttemptTimeout {
			t.Errorf("Read took %v", took)
		}
		m.db.SetMaxOpenConns(2)
		m.ExpectExec("UPDATE").WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(0, 1))
		begin = time.Now()
		written, err := m.Write(t.Context(), swapOf(recycled.Slot{WorkerID: 5, Revision: 2}))
		if written || err == nil || !strings.Contains(err.Error(), "no answer within 10s") || strings.Contains(err.Error(), "connections of the pool") {
			t.Errorf("Write() = %v, %v", written, err)
		}
		if took := time.Since(begin); took != defaultAttemptTimeout {
			t.Errorf("Write took %v, want %v", took, defaultAttemptTimeout)
		}
	})
}

// A connection whose rollback failed is not used again.
func TestSlotTableRollbackFails(t *testing.T) {
	m := newRecordedTable(t, "8.0.36")
	m.expectWrite("UPDATE", 0)
	m.ExpectExec("ROLLBACK").WillReturnError(mysql.ErrInvalidConn)
	written, err := m.Write(t.Context(), swapOf(recycled.Slot{WorkerID: 5, Revision: 2}))
	if written || err != nil || m.db.Stats().Idle != 0 {
		t.Errorf("Write() = %v, %v, and %d connections are idle; want false and 0", written, err, m.db.Stats().Idle)
	}
}

// The name of a slot table has the name of the server and no password, and the name of a history may have 128 bytes.
func TestSlotTableName(t *testing.T) {
	db, err := sql.Open("mysql", "user:secret@tcp(db.example.com:3307)/ids")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if name := New(db, WithServerName("db.example.com:3307")).String(); !strings.Contains(name, "leaf_alloc at db.example.com:3307") || strings.Contains(name, "secret") {
		t.Errorf("the name is %q", name)
	}
	if err := New(db, WithHistory(strings.Repeat("h", 128))).cfg.err; err != nil {
		t.Error(err)
	}
}

// A server of the versions before 5.7 has the status of the session in another table.
func TestMySQLVersions(t *testing.T) {
	for version, want := range map[string]bool{
		"5.6.51": true, "5.5.62-log": true, "4.1.22": true, "5.6": true, "5.7": false, "5.7.0": false, "5.7.44-log": false, "8.0.36": false, "8.4.0": false, "10.1.1": false,
		"": false, "5": false, "x.y.z": false, "5.x": false, "x.6": false,
	} {
		if got := isBeforeMySQL57(version); got != want {
			t.Errorf("isBeforeMySQL57(%q) = %v", version, got)
		}
	}
}

// TiDB may execute a transaction that is not pessimistic again at the commit, when its condition no longer holds: so a write of one
// record begins one, too.
func TestInvariant1WriteOnTiDBIsPessimistic(t *testing.T) {
	m := newRecordedTable(t, "8.0.11-TiDB-v7.5.0")
	m.expectExecs("BEGIN PESSIMISTIC")
	m.expectWrite("UPDATE", 1)
	m.expectExecs("COMMIT")
	if written, err := m.Write(t.Context(), recycled.Write{History: "TiDB", Slots: []recycled.Slot{{WorkerID: 5, Revision: 2}}, Replaced: []recycled.Slot{{}}}); !written || err != nil {
		t.Errorf("Write() = %v, %v", written, err)
	}
}

// The statement that creates a pool compares the history of the server, unless WithHistory names it, and finds slots that are left.
func TestCreatePoolStatement(t *testing.T) {
	pool := recycled.Pool{Revision: 1, First: 5, History: "h", Since: time.UnixMilli(1234), Horizon: time.Minute, Fencing: time.Second, Skew: time.Millisecond}
	for _, tt := range []struct {
		version string
		opts    []Option
		want    string
	}{
		{"8.0.36", nil, "INSERT INTO `WORKER_POOL` (id, revision, format, first_worker_id, slot_count, history, since_ms, floor_ms, horizon_ms, fencing_ms, skew_ms)\n" +
			"SELECT 1, 1, _utf8mb4 X'', 5, 0, _utf8mb4 X'68', 1234, NULL, 60000, 1000, 1\n" +
			"FROM (SELECT 1 AS one) AS one\nWHERE NOT EXISTS (SELECT 1 FROM `WORKER_SLOT`) AND CAST(CONCAT('MySQL ', @@server_uuid"},
		{"8.0.36", []Option{WithHistory("h"), WithPoolTables("p", "s")}, "\nWHERE NOT EXISTS (SELECT 1 FROM `s`);"},
		{"PostgreSQL 15.1", nil, "\nWHERE NOT EXISTS (SELECT 1 FROM \"worker_slot\") AND (SELECT concat('PostgreSQL '"},
	} {
		m := newRecordedTable(t, tt.version, tt.opts...)
		got, err := m.CreatePoolStatement(t.Context(), pool)
		if err != nil || !strings.Contains(got, tt.want) || !strings.HasSuffix(got, ";") || len(m.statements) > 3 {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.version, err, got, tt.want)
		}
	}
	if got, err := newRecordedTable(t, "PostgreSQL 15.1", WithPoolTables("a`b", "c.d.e")).CreatePoolStatement(t.Context(), pool); err == nil {
		t.Errorf("with a wrong name: %s", got)
	}
	if got, err := (*Store)(nil).CreatePoolStatement(t.Context(), pool); !errors.Is(err, workerassign.ErrOption) {
		t.Errorf("nil: %s, %v", got, err)
	}
}

// When the server was replaced by one of another version, which refuses the statements, the next call uses those of the new one.
func TestSlotTableServerOfAnotherVersion(t *testing.T) {
	m := newRecordedTable(t, "10.11.6-MariaDB")
	m.ExpectQuery("information_schema.SESSION_STATUS").WillReturnError(&mysql.MySQLError{Number: 1109, Message: "Unknown table 'SESSION_STATUS' in information_schema"})
	if _, err := m.Read(t.Context(), recycled.Query{}); !errors.Is(err, workerassign.ErrPermanent) {
		t.Fatalf("Read on a server that refuses the statement = %v", err)
	}
	m.ExpectQuery("SELECT VERSION").WillReturnRows(sqlmock.NewRows([]string{"v"}).AddRow("8.0.36"))
	m.expectVariables("transaction_isolation", "x")
	m.ExpectQuery("performance_schema.session_status").WillReturnError(&mysql.MySQLError{Number: 1146})
	m.Read(t.Context(), recycled.Query{})
	if err := m.ExpectationsWereMet(); err != nil {
		t.Error(err)
	}
}

package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	sqlmock "github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// swapOf returns a write of slots that replaces records without a token.
func swapOf(slots ...recycled.Slot) recycled.Write {
	return recycled.Write{History: "h", Slots: slots, Replaced: make([]recycled.Slot, len(slots))}
}

// newMockTable returns a slot table on a mock of a server with that version and these variables.
func newMockTable(t *testing.T, version string, variables ...string) (*Store, sqlmock.Sqlmock) {
	t.Helper()
	db, mock, err := sqlmock.New(sqlmock.QueryMatcherOption(sqlmock.QueryMatcherRegexp))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	mock.ExpectQuery("SELECT VERSION").WillReturnRows(sqlmock.NewRows([]string{"v"}).AddRow(version))
	rows := sqlmock.NewRows([]string{"Variable_name", "Value"})
	for i := 0; i < len(variables); i += 2 {
		rows.AddRow(variables[i], variables[i+1])
	}
	mock.ExpectQuery("SHOW GLOBAL VARIABLES").WillReturnRows(rows)
	return New(db), mock
}

// The statements have what each kind of server requires, also those that cannot be tested here.
func TestSlotTableDialects(t *testing.T) {
	for _, c := range []struct {
		version       string
		variables     []string
		want, without string // parts of the statement of a read
	}{
		{"10.4.34-MariaDB-log", []string{"wsrep_on", "OFF"}, "'MariaDB ', @@hostname, ':', @@port, ':', @@server_id; information_schema.SESSION_STATUS; @@wsrep_on; @@tx_isolation", "SET STATEMENT; performance_schema"},
		{"11.8.3-MariaDB", []string{"wsrep_on", "ON", "transaction_isolation", "REPEATABLE-READ"}, "SET STATEMENT wsrep_sync_wait = 1 FOR SELECT ; wsrep_cluster_state_uuid; @@transaction_isolation", "server_uuid, ;"},
		{"10.11.2-MariaDB", nil, "'MariaDB '", "wsrep"},
		{"8.0.36", []string{"transaction_isolation", "x"}, "'MySQL ', @@server_uuid; performance_schema.session_status; @@transaction_isolation", "wsrep; information_schema"},
		{"5.7.44-log", []string{"transaction_isolation", "x"}, "'MySQL ', @@server_uuid; performance_schema.session_status", "information_schema"},
		{"5.6.24", nil, "'MySQL ', @@server_uuid; information_schema.SESSION_STATUS; @@tx_isolation", "performance_schema"},
		{"8.0.36-28.1", []string{"wsrep_on", "ON", "transaction_isolation", "x"}, "SELECT /*+ SET_VAR(wsrep_sync_wait = 1) */ ; performance_schema.session_status WHERE VARIABLE_NAME = 'wsrep_cluster_state_uuid'", "SET STATEMENT"},
		{"8.0.11-TiDB-v7.5.0", []string{"transaction_isolation", "x"}, "CAST('TiDB' AS BINARY)", "Uptime; server_uuid; wsrep"},
	} {
		table, _ := newMockTable(t, c.version, c.variables...)
		conn, err := table.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d, err := table.detect(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		b, err := table.readStatement(d, recycled.Query{Name: "n", Free: 16, WorkerIDs: []int64{1, 2}})
		if err != nil {
			t.Errorf("%s: %v", c.version, err)
		}
		text := b.query.String()
		for _, want := range strings.Split(c.want, "; ") {
			if !strings.Contains(text, want) {
				t.Errorf("the statement for %s does not contain %q:\n%s", c.version, want, text)
			}
		}
		for _, without := range strings.Split(c.without, "; ") {
			if strings.Contains(text, without) {
				t.Errorf("the statement for %s contains %q:\n%s", c.version, without, text)
			}
		}
		conn.Close()
	}
}

// After each error of a statement that writes, Write says what is known: false, if nothing was written and
// nothing will be; an error, if it is not known.
func TestSlotTableWriteErrors(t *testing.T) {
	number := func(n uint16) error { return &mysql.MySQLError{Number: n, Message: "m"} }
	for _, c := range []struct {
		name           string
		update, commit error
		rollback       error
		affected       int64
		written, isErr bool
		permanent      bool
	}{
		{name: "success", affected: 1, written: true},
		{name: "another revision", affected: 0},
		{name: "another revision, and a conflict on Galera", affected: 0, rollback: number(1213)},
		{name: "another revision, and the connection is lost", affected: 0, rollback: mysql.ErrInvalidConn},
		{name: "deadlock", update: number(1213)},
		{name: "lock wait", update: number(1205)},
		{name: "snapshot", update: number(1020)},
		{name: "duplicate key", update: number(1062)},
		{name: "TiDB conflict", update: number(9007)},
		{name: "certification", affected: 1, commit: number(1213)},
		{name: "Group Replication", affected: 1, commit: number(3101)},
		{name: "interrupted", update: number(1317), isErr: true},
		{name: "error during commit", affected: 1, commit: number(1180), isErr: true},
		{name: "lost", update: mysql.ErrInvalidConn, isErr: true},
		{name: "lost in commit", affected: 1, commit: mysql.ErrInvalidConn, isErr: true},
		{name: "bad connection in commit", affected: 1, commit: driver.ErrBadConn, isErr: true}, // with autocommit the row is written
		{name: "read-only in commit", affected: 1, commit: number(1290), isErr: true},
		{name: "no table", update: number(1146), isErr: true, permanent: true},
		{name: "unknown", update: number(9999), isErr: true, permanent: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			table, mock := newMockTable(t, "10.11.2-MariaDB")
			update := mock.ExpectExec("^UPDATE .* WHERE worker_id = 5 AND revision = 1 AND .* = _utf8mb4 X'68'$")
			if c.update != nil {
				update.WillReturnError(c.update)
			} else {
				update.WillReturnResult(sqlmock.NewResult(0, c.affected))
			}
			if c.rollback != nil {
				mock.ExpectExec("ROLLBACK AND NO CHAIN NO RELEASE").WillReturnError(c.rollback)
			} else if c.commit != nil {
				mock.ExpectExec("COMMIT AND NO CHAIN NO RELEASE").WillReturnError(c.commit)
			} else {
				mock.ExpectExec("(COMMIT|ROLLBACK) AND NO CHAIN NO RELEASE").WillReturnResult(sqlmock.NewResult(0, 0))
			}
			written, err := table.Write(t.Context(), swapOf(recycled.Slot{WorkerID: 5, Revision: 2}))
			if written != c.written || (err != nil) != c.isErr || errors.Is(err, workerassign.ErrPermanent) != c.permanent {
				t.Errorf("Write() = %v, %v; want %v, an error: %v", written, err, c.written, c.isErr)
			}
		})
	}
}

// Invalid arguments are errors of each call that wrap ErrOption, and name the value. An assigner does not try again.
func TestSlotTableOptions(t *testing.T) {
	db, _, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, c := range []struct {
		store recycled.Store
		want  string
	}{
		{(*Store)(nil), "must be created by New"},
		{&Store{}, "must be created by New"},
		{New(nil), "the database is nil"},
		{New(db, nil), "an option is nil"},
		{New(db, WithPoolTables("a.b.c", "s")), `table name "a.b.c" has more than one dot`},
		{New(db, WithPoolTables("p", "")), `table name "" has an empty part`},
		{New(db, WithPoolTables("p", "p")), `are both "p"`},
		{New(db, WithHistory("")), `history's name is ""`},
		{New(db, WithHistory(strings.Repeat("h", 129))), "must be 1 to 128 bytes"},
		{New(db, WithHistory("\xff")), "UTF-8"},
	} {
		_, err := c.store.Read(context.Background(), recycled.Query{})
		written, writeErr := c.store.Write(context.Background(), recycled.Write{})
		_, assignErr := recycled.New(c.store, recycled.WithTimeout(5*time.Second)).Assign(t.Context(), workerassign.Request{Format: "f", MaxWorkerID: 3})
		for _, err := range []error{err, writeErr, assignErr} {
			if !errors.Is(err, workerassign.ErrOption) || errors.Is(err, workerassign.ErrGaveUp) || !strings.Contains(fmt.Sprint(err), c.want) || written {
				t.Errorf("the error is %v; want ErrOption with %q", err, c.want)
			}
		}
	}
	table := New(db, WithPoolTables("ids.pool", "slots"))
	b, err := table.readStatement(mysqlDialect{Dialect: sqlattempt.Dialect{Kind: sqlattempt.MySQL}}, recycled.Query{All: true})
	if err != nil || !strings.Contains(b.query.String(), "`ids`.`pool`") || !strings.Contains(b.query.String(), "`slots`") {
		t.Errorf("the statement is %v, %v", b.query.String(), err)
	}
}

// A server that does not answer is an error after a bounded time, which does not match the error of a context
// that the caller does not know.
func TestSlotTableTimeoutError(t *testing.T) {
	table, mock := newMockTable(t, "10.11.2-MariaDB")
	mock.ExpectExec("UPDATE").WillDelayFor(time.Minute).WillReturnResult(sqlmock.NewResult(0, 1))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	written, err := table.Write(ctx, swapOf(recycled.Slot{WorkerID: 5, Revision: 2}))
	if written || err == nil || !strings.Contains(err.Error(), "no answer within") || time.Since(begin) > 30*time.Second {
		t.Errorf("Write() = %v, %v after %v", written, err, time.Since(begin))
	}
}

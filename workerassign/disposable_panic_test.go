package workerassign

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A panic of a driver in a statement is the caller's. The call does not block: database/sql keeps a lock of the connection after a
// panic in a query. The connection, whose transaction may be open, is closed and not used again.
func TestDisposableDriverPanics(t *testing.T) {
	for _, statement := range []string{"START TRANSACTION", "INSERT", "SELECT (SELECT PORT", "COMMIT", "SHOW GLOBAL VARIABLES", "ROLLBACK"} {
		synctest.Test(t, func(t *testing.T) {
			d := &panickingStatements{statement: statement}
			db := sql.OpenDB(d)
			defer db.Close()
			a := NewDisposable(db, WithNode(testNode), WithVerification(Verification{}))
			if v := panicOf(func() { a.Assign(t.Context(), Request{}) }); v != "in "+statement {
				t.Errorf("%s: the panic of Assign is %v", statement, v)
			}
			if d.opened != 1 || d.closed != 1 {
				t.Errorf("%s: %d connections were opened and %d closed; want 1", statement, d.opened, d.closed)
			}
			d.statement = "none"
			if l, err := a.Assign(t.Context(), Request{}); err != nil || l.WorkerID() != 7 {
				t.Errorf("%s: Assign() after the panic = %v, %v", statement, l, err)
			}
		})
	}
}

// panicOf returns what f panics with.
func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// The same when a verified lease looks for its row.
func TestVerifiedLeaseDriverPanics(t *testing.T) {
	for _, statement := range []string{"START TRANSACTION", "SELECT (SELECT PORT", "ROLLBACK"} {
		synctest.Test(t, func(t *testing.T) {
			d := &panickingStatements{statement: "none"}
			db := sql.OpenDB(d)
			defer db.Close()
			l, err := NewDisposable(db, WithNode(testNode), WithVerification(Verification{})).Assign(t.Context(), Request{})
			if err != nil {
				t.Fatal(err)
			}
			until := time.Now().Add(time.Hour)
			d.statement, d.closed = statement, 0
			if v := panicOf(func() { l.Reserve(t.Context(), until) }); v != "in "+statement {
				t.Errorf("%s: the panic of Reserve is %v", statement, v)
			}
			if d.closed != 1 {
				t.Errorf("%s: %d connections were closed; want 1", statement, d.closed)
			}
			d.statement = "none"
			if _, err := l.Reserve(t.Context(), until); err != nil {
				t.Errorf("%s: Reserve() after the panic: %v", statement, err)
			}
		})
	}
}

// panickingStatements is a driver of a server whose next key is 7. Its connections panic in statements with a prefix.
type panickingStatements struct {
	statement      string
	opened, closed int
	port           string // the content of the column PORT of the last insert
}

func (d *panickingStatements) Connect(context.Context) (driver.Conn, error) {
	d.opened++
	return &panickingStatementsConn{d: d}, nil
}
func (d *panickingStatements) Driver() driver.Driver { return nil }

type panickingStatementsConn struct {
	driver.Conn
	d *panickingStatements
}

func (c *panickingStatementsConn) Close() error { c.d.closed++; return nil }

func (c *panickingStatementsConn) check(statement string) {
	if strings.HasPrefix(statement, c.d.statement) {
		panic("in " + c.d.statement)
	}
}

func (c *panickingStatementsConn) ExecContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Result, error) {
	c.check(statement)
	if strings.HasPrefix(statement, "INSERT") {
		_, port, _ := strings.Cut(statement, "', _utf8mb4 X'") // the second text
		port, _, _ = strings.Cut(port, "'")
		text, err := hex.DecodeString(port)
		if err != nil {
			return nil, err
		}
		c.d.port = string(text)
	}
	return insertedKey(7), nil
}

func (c *panickingStatementsConn) QueryContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Rows, error) {
	c.check(statement)
	if strings.HasPrefix(statement, "SELECT (SELECT PORT") {
		return &oneRow{values: []driver.Value{c.d.port, time.Now().UnixMilli(), "0"}}, nil
	}
	return &oneRow{}, nil
}

type insertedKey int64

func (k insertedKey) LastInsertId() (int64, error) { return int64(k), nil }
func (k insertedKey) RowsAffected() (int64, error) { return 1, nil }

// oneRow is at most one row.
type oneRow struct{ values []driver.Value }

func (r *oneRow) Columns() []string { return []string{"a", "b", "c"}[:len(r.values)] }
func (r *oneRow) Close() error      { return nil }
func (r *oneRow) Next(into []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	copy(into, r.values)
	r.values = nil
	return nil
}

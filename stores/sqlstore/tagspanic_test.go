package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ringuid/ringuid/segment"
)

// A panic of a driver in a statement is the caller's, and the connection, whose transaction may be open, is closed and not used
// again.
func TestTableDriverPanics(t *testing.T) {
	for _, statement := range []string{"SELECT VERSION()", "SELECT ENGINE", "START TRANSACTION", "UPDATE", "SELECT CAST", "COMMIT"} {
		synctest.Test(t, func(t *testing.T) {
			d := &panickingDriver{statement: statement}
			db := sql.OpenDB(d)
			defer db.Close()
			if v := panicOf(func() { New(db).Take(t.Context(), segment.Request{Tag: "a"}) }); v != "in "+statement {
				t.Errorf("%s: the panic of Take is %v", statement, v)
			}
			if d.opened != 1 || d.closed != 1 {
				t.Errorf("%s: %d connections were opened and %d closed; want 1", statement, d.opened, d.closed)
			}
			d.statement = "none"
			if got, err := New(db).Take(t.Context(), segment.Request{Tag: "a"}); err != nil || got.First != 7 {
				t.Errorf("%s: Take() after the panic = %+v, %v", statement, got, err)
			}
		})
	}
}

// panickingDriver is a driver whose connections panic in statements with a prefix.
type panickingDriver struct {
	statement      string
	opened, closed int
}

func (d *panickingDriver) Connect(context.Context) (driver.Conn, error) {
	d.opened++
	return &panickingConn{d: d}, nil
}
func (d *panickingDriver) Driver() driver.Driver { return nil }

type panickingConn struct {
	driver.Conn
	d *panickingDriver
}

func (c *panickingConn) Close() error { c.d.closed++; return nil }

func (c *panickingConn) check(statement string) {
	if strings.HasPrefix(statement, c.d.statement) {
		panic("in " + c.d.statement)
	}
}

func (c *panickingConn) ExecContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Result, error) {
	c.check(statement)
	return foundSeven{}, nil
}

func (c *panickingConn) QueryContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Rows, error) {
	c.check(statement)
	switch {
	case strings.HasPrefix(statement, "SELECT VERSION()"):
		return &panickingRows{values: []driver.Value{"10.11.6-MariaDB"}}, nil
	case strings.HasPrefix(statement, "SELECT ENGINE"):
		return &panickingRows{values: []driver.Value{}}, nil
	}
	return &panickingRows{values: []driver.Value{[]byte("a"), int64(17), int64(10)}}, nil
}

// foundSeven is the result of an UPDATE that has found 7 as max_id.
type foundSeven struct{}

func (foundSeven) LastInsertId() (int64, error) { return 8, nil }
func (foundSeven) RowsAffected() (int64, error) { return 1, nil }

// panickingRows is at most one row.
type panickingRows struct{ values []driver.Value }

func (r *panickingRows) Columns() []string {
	return []string{"a", "b", "c"}[:max(len(r.values), 0)]
}
func (r *panickingRows) Close() error { return nil }
func (r *panickingRows) Next(into []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	copy(into, r.values)
	r.values = nil
	return nil
}

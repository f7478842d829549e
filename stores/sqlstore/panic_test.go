package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"
	"testing/synctest"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A panic of a driver in a query is the caller's, and the call does not block permanently: database/sql keeps a lock of the
// connection then.
func TestDriverPanicsInQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &panickingQueries{}
		db := sql.OpenDB(d)
		defer db.Close()
		if v := panicOf(func() { New(db).Read(t.Context(), recycled.Query{}) }); v != "in a query" {
			t.Errorf("the panic of Read is %v", v)
		}
		if d.opened != 1 || d.closed != 1 {
			t.Errorf("%d connections were opened and %d closed; want 1", d.opened, d.closed)
		}
	})
}

// panickingQueries is a driver that panics in queries.
type panickingQueries struct{ opened, closed int }

func (d *panickingQueries) Connect(context.Context) (driver.Conn, error) {
	d.opened++
	return &panickingQueriesConn{d: d}, nil
}

func (d *panickingQueries) Driver() driver.Driver { return nil }

type panickingQueriesConn struct {
	driver.Conn
	d *panickingQueries
}

func (c *panickingQueriesConn) Close() error { c.d.closed++; return nil }

func (c *panickingQueriesConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	panic("in a query")
}

// panicOf returns what f panics with, or nil.
func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

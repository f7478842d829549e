package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"testing"
	"testing/synctest"

	"github.com/ringuid/ringuid/internal/testkit/fakedb"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A panic of a driver in a query is the caller's, and the call does not block permanently: database/sql keeps a lock of the
// connection then.
func TestDriverPanicsInQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakedb.Server{Query: func(string) []driver.Value { panic("in a query") }}
		db := sql.OpenDB(d)
		defer db.Close()
		if v := panicOf(func() { New(db).Read(t.Context(), recycled.Query{}) }); v != "in a query" {
			t.Errorf("the panic of Read is %v", v)
		}
		if d.Opened != 1 || d.Closed != 1 {
			t.Errorf("%d connections were opened and %d closed; want 1", d.Opened, d.Closed)
		}
	})
}

// panicOf returns what f panics with, or nil.
func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

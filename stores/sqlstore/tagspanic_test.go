package sqlstore

import (
	"context"
	"database/sql"
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
			d := NewFakeServer(FakeMariaDB)
			d.Set("a", 7, 10)
			prefix := statement
			d.Before = func(_ context.Context, s string) error {
				if strings.HasPrefix(s, prefix) {
					panic("in " + prefix)
				}
				return nil
			}
			db := sql.OpenDB(d)
			defer db.Close()
			if v := panicOf(func() { New(db).Take(t.Context(), segment.Request{Tag: "a"}) }); v != "in "+statement {
				t.Errorf("%s: the panic of Take is %v", statement, v)
			}
			if opened, closed := d.Connections(); opened != 1 || closed != 1 {
				t.Errorf("%s: %d connections were opened and %d closed; want 1", statement, opened, closed)
			}
			prefix = "none"
			if got, err := New(db).Take(t.Context(), segment.Request{Tag: "a"}); err != nil || got.First != 7 {
				t.Errorf("%s: Take() after the panic = %+v, %v", statement, got, err)
			}
		})
	}
}

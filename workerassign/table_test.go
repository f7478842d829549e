package workerassign

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-sql-driver/mysql"
)

// The name of the table is quoted.
func TestTableName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithTable("ids.nodes"))
		expectBegin(m)
		m.ExpectExec(strings.Replace(insertSQL, "`WORKER_NODE`", "`ids`.`nodes`", 1)).WithoutArgs().WillReturnError(&mysql.MySQLError{Number: 1146})
		expectRollback(m)
		if _, err := d.Assign(context.Background(), Request{}); err == nil || !strings.Contains(err.Error(), "table ids.nodes") {
			t.Errorf("Assign() = %v, want an error that names the table", err)
		}
	})
}

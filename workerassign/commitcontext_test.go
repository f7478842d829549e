package workerassign

import (
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit/fakedb"
)

// The key of a commit that PostgreSQL acknowledged after the attempt had ended is not used: no standby may have it. PostgreSQL
// acknowledges a commit that the driver has canceled while it waits for a synchronous standby.
func TestPostgresLateCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late, key := time.Second+1, int64(0)
		db := sql.OpenDB(&fakedb.Server{
			Exec: func(statement string) driver.Result {
				if strings.HasPrefix(statement, "COMMIT") {
					time.Sleep(late)
					late = time.Second - 1
				}
				return driver.RowsAffected(1)
			},
			Query: func(statement string) []driver.Value {
				switch {
				case strings.HasPrefix(statement, "SELECT VERSION"):
					return []driver.Value{"PostgreSQL 15.4"}
				case strings.HasPrefix(statement, "INSERT"):
					key++
					return []driver.Value{key, "on"}
				}
				return []driver.Value{"a", "b"}
			},
		})
		defer db.Close()
		d := NewDisposable(sqlx.NewDb(db, "pgx"), withTestNode, WithAttemptTimeout(time.Second))
		d.settingsChecked.Store(true)
		if l, err := d.Assign(t.Context(), Request{}); err != nil || l.WorkerID() != 2 {
			t.Errorf("Assign() = %v, %v; want the key of the second commit", l, err)
		}
	})
}

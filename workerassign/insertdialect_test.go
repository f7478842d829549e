package workerassign

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/jmoiron/sqlx"
)

// sqlStateError is an error with an SQLSTATE, as pgx and lib/pq have it.
type sqlStateError string

func (e sqlStateError) Error() string    { return "SQLSTATE " + string(e) }
func (e sqlStateError) SQLState() string { return string(e) }

// If the driver does not show that the server is a PostgreSQL server, its refusal of MySQL's statement does.
// The second statement follows without a pause, and later Assigns use it at once.
func TestUnknownDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mocked, m := newMockDisposable(t)
		d := NewDisposable(mocked.db.(*sqlx.DB).DB, withTestNode, WithBackoff(time.Hour, time.Hour))
		d.settingsChecked.Store(true)
		begin := time.Now()
		expectInsert(m).WillReturnError(sqlStateError("42601"))
		expectRollback(m)
		for key := int64(1); key <= 2; key++ {
			m.ExpectExec("START TRANSACTION ISOLATION LEVEL READ COMMITTED").WillReturnResult(sqlmock.NewResult(0, 0))
			insert, _ := postgresInsertStatement(`"worker_node"`, testNode)
			m.ExpectQuery(insert).WithArgs("host-1", "8080", 2).WillReturnRows(sqlmock.NewRows([]string{"id", "set_config"}).AddRow(key, "on"))
			m.ExpectExec("COMMIT").WillReturnResult(sqlmock.NewResult(0, 0))
			if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != key {
				t.Fatalf("Assign() = %v, %v; want %d", l, err, key)
			}
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("the Assigns took %v, want no pause", took)
		}
	})
}

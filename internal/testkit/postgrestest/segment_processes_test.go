//go:build unix

package postgrestest_test

import (
	"context"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// Many processes with several goroutines, which ask for several sizes while the step changes, the server is killed and paused, and
// processes are killed. No number is handed out twice. One goroutine follows Leaf's statements.
func TestSegmentTableProcesses(t *testing.T) {
	if dsn := takertest.ProcessArg(); dsn != "" {
		db := postgrestest.Open(t, dsn)
		db.SetMaxOpenConns(4)
		source := sqlstore.New(db, sqlstore.WithAttemptTimeout(5*time.Second))
		takertest.RunProcess(t, func(ctx context.Context, goroutine int, r segment.Request) (segment.Range, error) {
			if goroutine == 0 {
				return takeLikeLeaf(db)
			}
			return source.Take(ctx, r)
		})
		return
	}
	processes := testkit.Size(4, 16)
	s := postgrestest.Start(t, "max_connections=400")
	name, db := segmentDatabase(t, s)
	db.SetMaxIdleConns(-1) // a connection from before a kill is not used again
	all := takertest.StartProcesses(t, processes, 0, s.DSN("postgres", "", name))
	db.MustExec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 50)")
	all.Wait(int64(processes) * 40)
	for i := range testkit.Size(6, 40) {
		db.Exec("UPDATE leaf_alloc SET step = $1", 10+7*(i%5))
		switch {
		case i%3 == 2:
			all.Replace() // a process, which may be between a statement and its reply
		case !testkit.IsFull():
		case i%3 == 0:
			s.Kill()
			s.Restart()
		default:
			s.Pause()
			time.Sleep(20 * time.Millisecond)
			s.Resume()
		}
		all.Wait(50)
	}
	all.KillAll()
	all.Check()
	var maxID int64
	if err := db.Get(&maxID, "SELECT max_id FROM leaf_alloc"); err != nil || maxID <= all.Last() {
		t.Errorf("max_id is %d, %v, and the greatest number %d", maxID, err, all.Last())
	}
}

// takeLikeLeaf takes a range with Leaf's statements.
func takeLikeLeaf(db *sqlx.DB) (r segment.Range, err error) {
	tx, err := db.Beginx()
	if err != nil {
		return r, err
	}
	defer tx.Rollback()
	if _, err := tx.Exec("UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'orders'"); err != nil {
		return r, err
	}
	var maxID, step int64
	if err := tx.QueryRow("SELECT max_id, step FROM leaf_alloc WHERE biz_tag = 'orders'").Scan(&maxID, &step); err != nil {
		return r, err
	}
	return segment.Range{First: maxID - step, Length: step}, tx.Commit()
}

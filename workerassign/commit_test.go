package workerassign_test

import (
	"context"
	"testing"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/workerassign"
)

// With autocommit off, a worker ID is a committed row before it is used. So none is assigned again
// after the server is killed. No transaction remains open in the pool. The test turns autocommit off in
// each of the three possible ways.
func TestInvariant1AutocommitOff(t *testing.T) {
	for _, tt := range []struct{ name, flag, parameter string }{
		{"by the server", "--autocommit=0", ""},
		{"by the DSN", "--autocommit=1", "?autocommit=0"},
		{"by init_connect", "--init-connect=SET autocommit=0", ""}, // does not apply to root
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mariadbtest.Start(t, tt.flag)
			database, _ := s.Database()
			db := mariadbtest.Open(t, s.DSN("root", "", database)+"?autocommit=1") // so that its reads start no transaction
			testserver.RunScript(t, db, ringuid.MySQLSchema())
			pool := mariadbtest.Open(t, createService(t, s, db, database)+tt.parameter)
			var autocommit bool
			if err := pool.Get(&autocommit, "SELECT @@autocommit"); err != nil || autocommit {
				t.Fatalf("autocommit is %v, %v; want false", autocommit, err)
			}
			seen := map[int64]bool{}
			assign := func() {
				t.Helper()
				for range 5 {
					l, err := workerassign.NewDisposable(pool).Assign(context.Background(), workerassign.Request{})
					if err != nil {
						t.Fatal(err)
					}
					if seen[l.WorkerID()] {
						t.Errorf("worker ID %d was assigned twice", l.WorkerID())
					}
					seen[l.WorkerID()] = true
				}
				var ids []int64
				if err := db.Select(&ids, "SELECT ID FROM WORKER_NODE"); err != nil || len(ids) != len(seen) {
					t.Errorf("the rows %v are committed, %v; want %d rows", ids, err, len(seen))
				}
				// InnoDB has transactions of its own, for statistics of tables; their thread is 0.
				var open []struct {
					Thread int64   `db:"trx_mysql_thread_id"`
					State  string  `db:"trx_state"`
					Query  *string `db:"trx_query"`
				}
				if err := db.Select(&open, "SELECT trx_mysql_thread_id, trx_state, trx_query FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id <> 0"); err != nil || len(open) != 0 {
					t.Errorf("the transactions %+v are open, %v; want none", open, err)
				}
			}
			assign()
			s.Kill()
			s.Restart()
			assign()
		})
	}
}

// The session's completion_type can start another transaction after each commit, or close the
// connection. Other statements on the same pool are committed nevertheless.
func TestCompletionType(t *testing.T) {
	s := mariadbtest.Start(t)
	database, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	for name, value := range map[string]string{"chain": "1", "release": "2"} {
		t.Run(name, func(t *testing.T) {
			pool := mariadbtest.Open(t, s.DSN("root", "", database)+"?completion_type="+value)
			pool.SetMaxOpenConns(1)
			for range 3 {
				// The transaction of the second Assign is rolled back.
				workerassign.NewDisposable(pool, discardLog()).Assign(context.Background(), workerassign.Request{})
				workerassign.NewDisposable(pool, discardLog(), workerassign.WithMinWorkerID(1<<40)).Assign(context.Background(), workerassign.Request{})
			}
			pool.MustExec("INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES (?, '', 3, CURRENT_DATE)", name)
			var rows int
			if err := db.Get(&rows, "SELECT COUNT(*) FROM WORKER_NODE WHERE HOST_NAME = ?", name); err != nil || rows != 1 {
				t.Errorf("%d rows of the other statement are committed, %v; want 1", rows, err)
			}
		})
	}
}

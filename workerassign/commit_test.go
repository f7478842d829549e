package workerassign_test

import (
	"context"
	"testing"

	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/workerassign"
)

// With autocommit off, in each of the three ways, a worker ID is a committed row before it is
// used, so that none comes again after the server was killed; and no transaction stays open in
// the pool.
func TestInvariant1AutocommitOff(t *testing.T) {
	for _, tt := range []struct{ name, flag, parameter string }{
		{"by the server", "--autocommit=0", ""},
		{"by the DSN", "--autocommit=1", "?autocommit=0"},
		{"by init_connect", "--init-connect=SET autocommit=0", ""}, // not for root
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mariadbtest.Start(t, tt.flag)
			database, _ := s.Database()
			db := mariadbtest.Open(t, s.DSN("root", "", database)+"?autocommit=1") // whose reads begin no transaction
			mariadbtest.Script(t, db, schema(t))
			pool := mariadbtest.Open(t, service(t, s, db, database)+tt.parameter)
			var autocommit bool
			if err := pool.Get(&autocommit, "SELECT @@autocommit"); err != nil || autocommit {
				t.Fatalf("autocommit is %v, %v; want it off", autocommit, err)
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
						t.Errorf("worker ID %d comes a second time", l.WorkerID())
					}
					seen[l.WorkerID()] = true
				}
				var ids []int64
				if err := db.Select(&ids, "SELECT ID FROM WORKER_NODE"); err != nil || len(ids) != len(seen) {
					t.Errorf("the rows %v are committed, %v; want %d", ids, err, len(seen))
				}
				var open int
				if err := db.Get(&open, "SELECT COUNT(*) FROM information_schema.INNODB_TRX"); err != nil || open != 0 {
					t.Errorf("%d transactions are open, %v", open, err)
				}
			}
			assign()
			s.Kill()
			s.Restart()
			assign()
		})
	}
}

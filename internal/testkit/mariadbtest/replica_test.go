package mariadbtest_test

import (
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
)

// A replica receives and applies rows, separately, and is read-only.
func TestReplica(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...string) *mariadbtest.Server{
		"MariaDB": mariadbtest.Start, "MySQL 5.6": mariadbtest.StartMySQL56,
	} {
		t.Run(name, func(t *testing.T) {
			primary := start(t, mariadbtest.PrimaryFlags()...)
			database, db := primary.Database()
			db.MustExec("CREATE TABLE t (n INT) ENGINE = InnoDB")
			replica := primary.Replica()
			rows := func() (n int) {
				t.Helper()
				if err := replica.Admin().Get(&n, "SELECT COUNT(*) FROM "+database+".t"); err != nil {
					t.Fatal(err)
				}
				return n
			}
			db.MustExec("INSERT INTO t VALUES (1)")
			if replica.WaitApplied(primary); rows() != 1 {
				t.Errorf("%d rows are applied after WaitApplied, want 1", rows())
			}
			replica.Admin().MustExec("STOP SLAVE SQL_THREAD")
			db.MustExec("INSERT INTO t VALUES (2)")
			if replica.WaitReceived(primary); rows() != 1 {
				t.Errorf("%d rows are applied while the SQL thread is stopped, want 1", rows())
			}
			primary.Kill()
			replica.Admin().MustExec("START SLAVE SQL_THREAD")
			replica.Stop()
			replica.RestartWith("--skip-slave-start")
			var readOnly bool
			if err := replica.Admin().Get(&readOnly, "SELECT @@global.read_only"); err != nil || !readOnly {
				t.Errorf("after a restart read_only is %v, %v; want true", readOnly, err)
			}
		})
	}
}

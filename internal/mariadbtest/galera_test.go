package mariadbtest_test

import (
	"testing"

	"github.com/ringuid/ringuid/internal/mariadbtest"
)

// A cluster replicates rows, and a killed node joins it again.
func TestGalera(t *testing.T) {
	c := mariadbtest.StartGalera(t, 3)
	name, db := c.Database()
	db.MustExec("CREATE TABLE t (n INT PRIMARY KEY)")
	db.MustExec("INSERT INTO t VALUES (1)")
	c.Node(2).Kill()
	c.WaitFor(2)
	db.MustExec("INSERT INTO t VALUES (2)")
	c.Node(2).Restart()
	c.WaitFor(3)
	for i := range c.Size() {
		var n int
		if err := mariadbtest.Open(t, c.Node(i).DSN("root", "", name)+"?wsrep_sync_wait=1").Get(&n, "SELECT COUNT(*) FROM t"); err != nil || n != 2 {
			t.Errorf("node %d has %d rows, %v; want 2", i, n, err)
		}
	}
}

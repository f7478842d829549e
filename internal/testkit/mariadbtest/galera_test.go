package mariadbtest_test

import (
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
)

// A cluster replicates rows, and a killed node joins it again.
func TestGalera(t *testing.T) {
	testkit.Full(t, "only tests in full size use a cluster")
	c := mariadbtest.StartGalera(t, 3)
	name, db := c.Database("CREATE TABLE t (n INT PRIMARY KEY);")
	db.MustExec("INSERT INTO t VALUES (1)")
	// Node 2 applies the statements after node 0 has executed them. It is killed only after that: if
	// MariaDB is killed during a CREATE TABLE, its DDL recovery drops the table at the next start, also
	// if the node has just received the table from another node.
	rows(t, c.Node(2), name, 1)
	c.Node(2).Kill()
	c.WaitFor(2)
	db.MustExec("INSERT INTO t VALUES (2)")
	c.Node(2).Restart()
	c.WaitFor(3)
	for i := range c.Size() {
		rows(t, c.Node(i), name, 2)
	}
}

// rows fails the test unless the table t has n rows on a node, after all that was committed before.
func rows(t *testing.T, node *mariadbtest.Server, database string, n int) {
	t.Helper()
	var got int
	err := mariadbtest.Open(t, node.DSN("root", "", database)+"?wsrep_sync_wait=1").Get(&got, "SELECT COUNT(*) FROM t")
	if err != nil || got != n {
		t.Errorf("the node at %s has %d rows, %v; want %d", node.Address(), got, err, n)
	}
}

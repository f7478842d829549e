//go:build unix

package slottabletests

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/workerassign"
)

// Assigns on all nodes of a Galera cluster return no key twice, and only keys of rows that were committed, although the
// nodes roll back some of the transactions: without wsrep_auto_increment_control all nodes generate the same keys.
func testGaleraDisposable(t *testing.T, c *mariadbtest.Cluster) {
	name, db := c.Database(ringuid.MySQLSchema())
	for i := range c.Size() {
		admin := c.Node(i).Admin()
		admin.MustExec("SET GLOBAL wsrep_auto_increment_control = OFF")
		admin.MustExec("SET GLOBAL auto_increment_increment = 1, GLOBAL auto_increment_offset = 1")
		defer admin.MustExec("SET GLOBAL wsrep_auto_increment_control = ON")
	}
	const perNode, each = 4, 50
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		nodes = map[int64]int{} // of each worker ID, the number of the node, from 1
	)
	for i := range c.Size() {
		nodeDB := mariadbtest.Open(t, c.Node(i).DSN("root", "", name))
		for range perNode {
			all.Go(func() {
				d := workerassign.NewDisposable(nodeDB, workerassign.WithTimeout(time.Minute),
					workerassign.WithLogger(slog.New(slog.DiscardHandler)))
				for range each {
					lease, err := d.Assign(testkit.Patient(t), workerassign.Request{MaxWorkerID: 1 << 22})
					if err != nil {
						t.Errorf("Assign() = %v", err)
						return
					}
					mu.Lock()
					id := lease.WorkerID()
					if other := nodes[id]; other != 0 {
						t.Errorf("node %d assigned the worker ID %d, which node %d assigned before", i+1, id, other)
					}
					nodes[id] = i + 1
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	if len(nodes) != c.Size()*perNode*each {
		t.Errorf("%d worker IDs were assigned, want %d", len(nodes), c.Size()*perNode*each)
	}
	var ids []int64
	db.SetMaxOpenConns(1)
	db.MustExec("SET wsrep_sync_wait = 1") // the node may not have applied the last rows yet
	if err := db.Select(&ids, "SELECT ID FROM WORKER_NODE"); err != nil {
		t.Fatal(err)
	}
	rows := map[int64]bool{}
	for _, id := range ids {
		rows[id] = true
	}
	for id, node := range nodes {
		if !rows[id] {
			t.Errorf("node %d assigned the worker ID %d, but the table has no such row", node, id)
		}
	}
}

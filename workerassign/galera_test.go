package workerassign_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/workerassign"
)

// roundRobinPool opens a pool whose connections go to the nodes of a cluster in turn, as with a load
// balancer that does not check whether nodes work.
func roundRobinPool(t *testing.T, c *mariadbtest.Cluster, database string) *sql.DB {
	t.Helper()
	cfg, err := mysql.ParseDSN(c.Node(0).DSN("root", "", database))
	if err != nil {
		t.Fatal(err)
	}
	var turn atomic.Int64
	cfg.Logger = &mysql.NopLogger{}
	cfg.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, c.Node(int(turn.Add(1))%c.Size()).Address())
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	t.Cleanup(func() { db.Close() })
	return db
}

// The subtests share a cluster, because starting one takes long.
func TestInvariant1Galera(t *testing.T) {
	testkit.Full(t, "it runs a cluster")
	c := mariadbtest.StartGalera(t, 3)
	t.Run("a node left the cluster", func(t *testing.T) { testDisconnectedNode(t, c) })
	c.WaitFor(3)
	t.Run("a node killed, wsrep_auto_increment_control=ON", func(t *testing.T) { testNodeKilled(t, c, "ON") })
	c.Node(2).Restart()
	c.WaitFor(3)
	t.Run("a node killed, wsrep_auto_increment_control=OFF", func(t *testing.T) { testNodeKilled(t, c, "OFF") })
}

// testNodeKilled assigns worker IDs concurrently on all nodes of a cluster while one of them is killed.
// control is the value of wsrep_auto_increment_control: with ON the nodes generate different keys, with
// OFF their keys collide. Every Assign must succeed, each key must be a committed row, and none may be
// assigned twice.
func testNodeKilled(t *testing.T, c *mariadbtest.Cluster, control string) {
	for i := range c.Size() {
		mariadbtest.Open(t, c.Node(i).DSN("root", "", "")).MustExec("SET GLOBAL wsrep_auto_increment_control=" + control)
	}
	name, _ := c.Database(ringuid.MySQLSchema())
	a := workerassign.NewDisposable(roundRobinPool(t, c, name), discardLog())
	const assigners, before, after = 12, 40, 100
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // with OFF, a call may lose every race for longer than DefaultTimeout
	defer cancel()
	var (
		mu       sync.Mutex
		seen     = map[int64]bool{}
		all      sync.WaitGroup
		halfWay  sync.WaitGroup
		assigned = func(n int) {
			for range n {
				l, err := a.Assign(ctx, workerassign.Request{})
				if err != nil {
					t.Errorf("Assign() = %v", err)
					continue
				}
				mu.Lock()
				if id := l.WorkerID(); id < 1 || seen[id] {
					t.Errorf("worker ID %d was assigned twice, or is invalid", id)
				}
				seen[l.WorkerID()] = true
				mu.Unlock()
			}
		}
	)
	halfWay.Add(assigners)
	for range assigners {
		all.Go(func() {
			assigned(before)
			halfWay.Done()
			assigned(after)
		})
	}
	halfWay.Wait()
	c.Node(2).Kill()
	killed := time.Now()
	all.Wait()
	took := time.Since(killed)
	var ids []int64
	if err := mariadbtest.Open(t, c.Node(0).DSN("root", "", name)+"?wsrep_sync_wait=1").Select(&ids, "SELECT ID FROM WORKER_NODE"); err != nil {
		t.Fatal(err)
	}
	rows := map[int64]bool{}
	for _, id := range ids {
		rows[id] = true
	}
	for id := range seen {
		if !rows[id] {
			t.Errorf("worker ID %d has no row in the table", id)
		}
	}
	if want := assigners * (before + after); len(seen) != want && !t.Failed() {
		t.Errorf("%d worker IDs, want %d", len(seen), want)
	}
	t.Logf("%d worker IDs, %d rows; the last was assigned %v after the kill", len(seen), len(ids), took)
}

// testDisconnectedNode checks that connections to a node that left the cluster (error 1047) are discarded, so
// that the next attempt reaches another node.
func testDisconnectedNode(t *testing.T, c *mariadbtest.Cluster) {
	name, _ := c.Database(ringuid.MySQLSchema())
	outside := mariadbtest.Open(t, c.Node(2).DSN("root", "", name))
	outside.MustExec("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")
	defer outside.Exec("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")
	testkit.Retry(t, "leaving the cluster", func() error {
		_, err := outside.Exec("DELETE FROM WORKER_NODE WHERE ID < 0")
		if server := (*mysql.MySQLError)(nil); errors.As(err, &server) && server.Number == 1047 {
			return nil
		}
		return fmt.Errorf("a statement on the node returned %v", err)
	})
	pool := roundRobinPool(t, c, name)
	var conns []*sql.Conn
	for range 12 {
		conn, err := pool.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	// The pool returns the connection that was closed last. So the test closes those to the node that
	// left the cluster last. That node still accepts connections.
	var toOutside []*sql.Conn
	for _, conn := range conns {
		var port int
		if err := conn.QueryRowContext(context.Background(), "SELECT @@port").Scan(&port); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(c.Node(2).Address(), fmt.Sprintf(":%d", port)) {
			toOutside = append(toOutside, conn)
		} else {
			conn.Close()
		}
	}
	for _, conn := range toOutside {
		conn.Close()
	}
	if n := len(toOutside); n != 4 {
		t.Fatalf("%d connections go to the node that left the cluster, want 4", n)
	}
	a := workerassign.NewDisposable(pool, workerassign.WithTimeout(time.Minute), discardLog())
	seen := map[int64]bool{}
	for range 12 {
		l, err := a.Assign(context.Background(), workerassign.Request{})
		if err != nil {
			t.Errorf("Assign() = %v", err)
			continue
		}
		if seen[l.WorkerID()] {
			t.Errorf("worker ID %d was assigned twice", l.WorkerID())
		}
		seen[l.WorkerID()] = true
	}
}

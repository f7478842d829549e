package mariadbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// A Cluster is a Galera cluster of MariaDB servers on the loopback interface. Its methods, and those of
// its nodes, must not be called concurrently.
type Cluster struct {
	tb    testing.TB
	nodes []*Server
}

// StartGalera starts a cluster of n nodes, which is ended at the end of the test. The flags are
// appended to those of each node. If the MariaDB server or the Galera library is not installed, the test
// is skipped or fails, as in Start.
func StartGalera(tb testing.TB, n int, flags ...string) *Cluster {
	tb.Helper()
	kind := mariaDB(tb)
	testserver.Require(tb, "Galera (Debian's packages galera-4 and rsync)", "wsrep_sst_rsync", "rsync")
	library := galeraLibrary()
	if library == "" {
		testkit.Missing(tb, "libgalera_smm.so was not found: install Galera (Debian's packages galera-4 and rsync), or run make test, which does")
	}
	c := &Cluster{tb: tb}
	var processes []*testserver.Process
	for range n {
		s := &Server{tb: tb, kind: kind}
		// The reason for the account is that rsync, which copies the data to a new node, does not write as root.
		s.Process = testserver.New(tb, testserver.Kind{Command: s.command, Ping: s.ping, Ports: 4, Terminate: syscall.SIGTERM, Accounts: []string{"mysql"}, OnDisk: true})
		tb.Cleanup(func() { killRsync(s) })
		c.nodes, processes = append(c.nodes, s), append(processes, s.Process)
	}
	testserver.StartOnFreePorts(tb, func() error { return c.start(library, flags) }, processes...)
	c.WaitFor(n)
	return c
}

// galeraLibrary returns the path of the Galera library, or "".
func galeraLibrary() string {
	for _, pattern := range []string{"/usr/lib/galera/libgalera_smm.so", "/usr/lib*/galera*/libgalera_smm.so", "/usr/lib/*/galera*/libgalera_smm.so"} {
		if paths, _ := filepath.Glob(pattern); len(paths) > 0 {
			return paths[0]
		}
	}
	return ""
}

// start starts the nodes one after the other.
func (c *Cluster) start(library string, flags []string) error {
	var addresses []string
	for _, node := range c.nodes {
		addresses = append(addresses, node.AddressOf(1))
	}
	for i, node := range c.nodes {
		// The cluster notices within about six seconds that a node has crashed, or has not answered for so long. On a busy machine
		// nodes do not answer for seconds. What a node has recovered of its cache after a kill can be damaged, and no node that gets it can join.
		provider := fmt.Sprintf("gmcast.listen_addr=tcp://%s;ist.recv_addr=%s;gcache.size=8M;gcache.recover=no;"+
			"evs.keepalive_period=PT0.3S;evs.inactive_check_period=PT0.3S;evs.suspect_timeout=PT5S;evs.inactive_timeout=PT10S",
			node.AddressOf(1), node.AddressOf(2))
		node.flags = append([]string{
			"--wsrep-cluster-address=gcomm://" + strings.Join(addresses, ","),
			"--wsrep-on=ON", "--wsrep-provider=" + library, "--wsrep-cluster-name=ringuid",
			"--wsrep-node-address=" + node.AddressOf(1), "--wsrep-provider-options=" + provider,
			"--wsrep-sst-method=rsync", "--wsrep-sst-receive-address=" + node.AddressOf(3),
			"--binlog-format=ROW", "--default-storage-engine=InnoDB", "--innodb-autoinc-lock-mode=2",
		}, flags...)
		killRsync(node) // of an earlier attempt
		if err := node.kind.install(node); err != nil {
			return err
		}
		var first []string
		if i == 0 {
			first = []string{"--wsrep-new-cluster"}
		}
		if err := node.Start(first...); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	return nil
}

// killRsync kills the rsync daemon of a node that ended while it received data from another node.
func killRsync(s *Server) {
	text, err := os.ReadFile(s.Path("data/rsync_sst.pid"))
	if err != nil {
		return // usually the daemon has ended and deleted the file
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 {
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill()
		}
	}
}

// Node returns the node with index i, which starts at 0.
func (c *Cluster) Node(i int) *Server { return c.nodes[i] }

// Size returns the number of nodes, including those that are stopped.
func (c *Cluster) Size() int { return len(c.nodes) }

// isReady asks whether a node belongs to a cluster of a size, and executes statements.
const isReady = `SELECT COUNT(*) = 3 FROM information_schema.GLOBAL_STATUS WHERE (VARIABLE_NAME, VARIABLE_VALUE) IN
	(('WSREP_CLUSTER_SIZE', ?), ('WSREP_READY', 'ON'), ('WSREP_LOCAL_STATE_COMMENT', 'Synced'))`

// WaitFor waits until the running nodes form one cluster of that size. It fails the test if that takes
// too long.
func (c *Cluster) WaitFor(size int) {
	c.tb.Helper()
	var connections []*sqlx.DB
	for _, node := range c.nodes {
		if node.Running() {
			db := node.Admin()
			defer db.Close()
			connections = append(connections, db)
		}
	}
	testkit.Eventually(c.tb, fmt.Sprintf("%d nodes form a cluster", size), func() bool {
		ready := 0
		for _, db := range connections {
			var is bool
			if err := db.Get(&is, isReady, strconv.Itoa(size)); err == nil && is {
				ready++
			}
		}
		return ready == size
	})
}

// Database creates a database with a new name, with the tables of a script, and waits until all running nodes have
// applied that. It returns the name and a connection to the database as root, on node 0.
func (c *Cluster) Database(script string) (string, *sqlx.DB) {
	c.tb.Helper()
	name, db := c.nodes[0].Database()
	testserver.RunScript(c.tb, db, script)
	tables := func(db *sqlx.DB) (n int, err error) {
		return n, db.Get(&n, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?", name)
	}
	for _, node := range c.nodes {
		if !node.Running() {
			continue
		}
		admin := node.Admin()
		testkit.Eventually(c.tb, "the node at "+node.Address()+" has all tables", func() bool {
			want, err := tables(db)
			got, nodeErr := tables(admin)
			return err == nil && nodeErr == nil && got == want
		})
		admin.Close()
	}
	return name, db
}

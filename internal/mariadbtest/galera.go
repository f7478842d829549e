package mariadbtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/freeport"
	"github.com/ringuid/ringuid/internal/testkit"
)

// A Cluster is a Galera cluster of MariaDB servers on the loopback interface. Its methods, and those of
// its nodes, must not be called concurrently.
type Cluster struct {
	tb    testing.TB
	nodes []*Server
}

// StartGalera starts a cluster of n nodes, which is stopped at the end of the test. The flags are
// appended to those of each node. If the MariaDB server or the Galera library is not installed, the test
// is skipped or fails, as in Start.
func StartGalera(tb testing.TB, n int, flags ...string) *Cluster {
	tb.Helper()
	testkit.Slow(tb, "it starts a cluster")
	library, err := galeraLibrary()
	if err != nil {
		testkit.Missing(tb, err, ": install it (Debian's packages galera-4 and rsync), or run make test, which does")
	}
	c := &Cluster{tb: tb}
	// Another process may take a port before the node listens on it.
	for attempt := 1; ; attempt++ {
		err := c.start(library, n, flags)
		if err == nil {
			return c
		}
		for _, node := range c.nodes {
			err = fmt.Errorf("%w\n%s", err, node.Log())
			node.Stop()
			killRsync(node)
		}
		if attempt == 3 {
			tb.Fatalf("the cluster does not start: %v", err)
		}
		c.nodes = nil
	}
}

// galeraLibrary returns the path of the Galera library. It returns an error if anything that a cluster
// requires is not installed.
func galeraLibrary() (string, error) {
	for _, program := range []string{"mariadbd", "mariadb-install-db", "wsrep_sst_rsync", "rsync"} {
		if _, err := findProgram(program); err != nil {
			return "", err
		}
	}
	for _, pattern := range []string{"/usr/lib/galera/libgalera_smm.so", "/usr/lib*/galera*/libgalera_smm.so", "/usr/lib/*/galera*/libgalera_smm.so"} {
		if paths, _ := filepath.Glob(pattern); len(paths) > 0 {
			return paths[0], nil
		}
	}
	return "", errors.New("libgalera_smm.so was not found")
}

// start starts the nodes one after the other, and waits until they form a cluster.
func (c *Cluster) start(library string, n int, flags []string) error {
	program, err := findProgram("mariadbd")
	if err != nil {
		return err
	}
	var addresses []string
	for range n {
		ports, err := freeport.Choose(4)
		if err != nil {
			return err
		}
		directory, err := os.MkdirTemp("", "ringuid-db")
		if err != nil {
			return err
		}
		address := "127.0.0.1:" + strconv.Itoa(ports[1])
		s := &Server{tb: c.tb, kind: serverKind{program: program, install: newMariaDBData}, directory: directory, port: ports[0]}
		c.tb.Cleanup(func() {
			s.Stop()
			killRsync(s)
			if c.tb.Failed() {
				c.tb.Logf("the log of the node at %s ends with:\n%s", address, s.Log())
			}
			os.RemoveAll(directory)
		})
		// With these timeouts the cluster notices within about two seconds that a node has crashed,
		// instead of fifteen.
		provider := fmt.Sprintf("gmcast.listen_addr=tcp://%s;ist.recv_addr=127.0.0.1:%d;gcache.size=8M;"+
			"evs.keepalive_period=PT0.3S;evs.inactive_check_period=PT0.3S;evs.suspect_timeout=PT1S;evs.inactive_timeout=PT3S",
			address, ports[2])
		s.flags = append([]string{
			"--wsrep-on=ON", "--wsrep-provider=" + library, "--wsrep-cluster-name=ringuid",
			"--wsrep-node-address=" + address, "--wsrep-provider-options=" + provider,
			"--wsrep-sst-method=rsync", "--wsrep-sst-receive-address=127.0.0.1:" + strconv.Itoa(ports[3]),
			"--binlog-format=ROW", "--default-storage-engine=InnoDB", "--innodb-autoinc-lock-mode=2",
		}, flags...)
		c.nodes = append(c.nodes, s)
		addresses = append(addresses, address)
	}
	for i, node := range c.nodes {
		node.flags = append([]string{"--wsrep-cluster-address=gcomm://" + strings.Join(addresses, ",")}, node.flags...)
		if err := node.kind.install(node); err != nil {
			return err
		}
		if err := node.chownToMySQL(); err != nil {
			return err
		}
		if i == 0 {
			node.extraFlags = []string{"--wsrep-new-cluster"}
		}
		err := node.start()
		node.extraFlags = nil // after a restart the node joins the others
		if err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	return c.waitReady(n)
}

// chownToMySQL makes the account mysql of Debian's package the owner of a node's files, and runs the
// node with that account, if this process runs as root. The reason is that rsync, which copies the data
// to a new node, does not write as root.
func (s *Server) chownToMySQL() error {
	if os.Geteuid() != 0 {
		return nil
	}
	account, err := user.Lookup("mysql")
	if err != nil {
		return err
	}
	uid, err1 := strconv.Atoi(account.Uid)
	gid, err2 := strconv.Atoi(account.Gid)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	s.account = []string{"--user=" + account.Username}
	return filepath.WalkDir(s.directory, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, gid))
	})
}

// killRsync kills the rsync daemon of a node that ended while it received data from another node.
func killRsync(s *Server) {
	text, err := os.ReadFile(s.path("data/rsync_sst.pid"))
	if err != nil {
		return // usually the daemon has ended and deleted the file
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 {
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill()
		}
	}
}

// waitReady waits until the running nodes form one cluster of that size.
func (c *Cluster) waitReady(size int) error {
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(50 * time.Millisecond) {
		ready := 0
		for _, node := range c.nodes {
			if node.running() && node.status("wsrep_cluster_size") == strconv.Itoa(size) && node.status("wsrep_ready") == "ON" &&
				node.status("wsrep_local_state_comment") == "Synced" {
				ready++
			}
		}
		if ready == size {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d nodes are ready after %v", ready, size, startTimeout)
		}
	}
}

// status returns the value of a status variable, or "" if the node does not answer.
func (s *Server) status(name string) string {
	db, err := open(s.DSN("root", "", ""))
	if err != nil {
		return ""
	}
	defer db.Close()
	var row struct {
		Name  string `db:"Variable_name"`
		Value string `db:"Value"`
	}
	if err := db.Get(&row, "SHOW GLOBAL STATUS LIKE '"+name+"'"); err != nil {
		return ""
	}
	return row.Value
}

// running reports whether the server's process is running.
func (s *Server) running() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// Node returns the node with index i, which starts at 0.
func (c *Cluster) Node(i int) *Server { return c.nodes[i] }

// Size returns the number of nodes, including those that are stopped.
func (c *Cluster) Size() int { return len(c.nodes) }

// WaitFor waits until the running nodes form one cluster of that size. It fails the test if that takes
// too long.
func (c *Cluster) WaitFor(size int) {
	c.tb.Helper()
	if err := c.waitReady(size); err != nil {
		c.tb.Fatal(err)
	}
}

// Database creates a database with a new name on all nodes. It returns the name and a connection to the
// database as root, on node 0.
func (c *Cluster) Database() (string, *sqlx.DB) { return c.nodes[0].Database() }

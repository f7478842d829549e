//go:build unix

package slottabletests

import (
	"context"
	"database/sql"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/ledger"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The subtests share a cluster, because starting one takes long.
func TestGaleraFaults(t *testing.T) {
	testkit.Full(t, "it starts a cluster")
	if addresses := fleettest.ProcessAddress(); addresses != "" {
		runGaleraProcess(t, addresses)
		return
	}
	var c *mariadbtest.Cluster
	newAddresses := func() string { return "" }
	if testkit.ChildArg() == "" { // otherwise this is the process that is stopped
		c = mariadbtest.StartGalera(t, 3)
		newAddresses = func() string { return galeraAddresses(t, c) }
	}
	t.Run("stopped process", func(t *testing.T) { // R3
		fleettest.StoppedProcess(t, func(*testing.T) string { return newAddresses() },
			func(t *testing.T, addresses string) recycled.Store { return sqlstore.New(openGalera(t, addresses)) })
	})
	if c == nil {
		return
	}
	t.Run("60 processes", func(t *testing.T) { testGaleraProcesses(t, c) })
	t.Run("nodes killed", func(t *testing.T) { testGaleraNodesKilled(t, c) })
	t.Run("a node paused", func(t *testing.T) { testGaleraNodePaused(t, c) })
	t.Run("all nodes paused", func(t *testing.T) {
		addresses := newAddresses()
		fleettest.Pause(t, func() recycled.Store { return sqlstore.New(openGalera(t, addresses)) }, func() { forEachNode(c, (*mariadbtest.Server).Pause) }, func() { forEachNode(c, (*mariadbtest.Server).Resume) })
	})
}

// forEachNode calls f with all nodes.
func forEachNode(c *mariadbtest.Cluster, f func(*mariadbtest.Server)) {
	for n := range c.Size() {
		f(c.Node(n))
	}
}

// galeraAddresses creates a database with the tables, and returns a data source name and the addresses of all nodes.
func galeraAddresses(t *testing.T, c *mariadbtest.Cluster) string {
	t.Helper()
	name, _ := c.Database(ringuid.MySQLSchema())
	all := []string{c.Node(0).DSN("root", "", name)}
	for n := range c.Size() {
		all = append(all, c.Node(n).Address())
	}
	return strings.Join(all, " ")
}

// openGalera returns connections to all nodes in turn.
func openGalera(t *testing.T, addresses string) *sql.DB {
	t.Helper()
	all := strings.Fields(addresses)
	cfg, err := mysql.ParseDSN(all[0])
	if err != nil {
		t.Fatal(err)
	}
	var turn atomic.Uint32
	turn.Store(rand.Uint32N(3))
	cfg.Logger = &mysql.NopLogger{}
	cfg.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, all[1+turn.Add(1)%3])
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

// runGaleraProcess is one of the processes of testGaleraProcesses. Their leases are long, because 60 processes share this
// machine: the generators request up to 5.5 seconds ahead.
func runGaleraProcess(t *testing.T, addresses string) {
	const bound = 500 * time.Millisecond
	s := ledger.NewChild(os.Stdout).Client(sqlstore.New(openGalera(t, addresses)), bound)
	a := s.Assigner(recycled.New(s, recycled.WithHorizon(6*time.Second), recycled.WithClockBound(bound), recycled.WithFencing(200*time.Millisecond),
		recycled.WithSkew(200*time.Millisecond), recycled.WithLogger(slog.New(slog.DiscardHandler))))
	layout, err := bitsalloc.New(30, 10, 10)
	if err != nil {
		t.Fatal(err)
	}
	fleettest.RunProcess(s, 2*time.Second, 40*time.Millisecond, func(ctx context.Context, cached bool) (uid.Generator, error) {
		return fleettest.NewKind(ctx, a, cached, uid.WithLayout(layout), uid.WithReserveAhead(time.Second), uid.WithMaxBorrow(4*time.Second), uid.WithBoostPower(0),
			uid.WithLogger(slog.New(slog.DiscardHandler)))
	})
}

// A node is killed while 60 processes take leases on all three nodes. Leases continue on the other nodes, and when
// the node is back. No UID is generated twice.
func testGaleraProcesses(t *testing.T, c *mariadbtest.Cluster) {
	const processes = 60
	addresses := galeraAddresses(t, c)
	f := fleettest.New()
	p := fleettest.NewProcesses(f)
	for range processes {
		p.Start(t, addresses)
	}
	begin := time.Now()
	p.Wait(t, 0, processes/3)
	c.Node(2).Kill() // most processes have no lease yet
	uids, starts := p.Counts()
	t.Logf("a node was killed after %v, %d UIDs and %d leases", time.Since(begin), uids, starts)
	p.Wait(t, 1000, 2*processes)
	c.Node(2).RestartRecovered()
	p.Wait(t, 1000, processes)
	// While the node joins, five of six processes are stopped, because all processes and nodes share the CPUs of this
	// machine. Then the processes continue, beyond their leases.
	p.Pause(processes * 5 / 6)
	c.WaitFor(3)
	p.Resume()
	p.Wait(t, 1000, processes)
	p.KillAll()
	uids, starts = p.Counts()
	t.Logf("%d processes started %d generators", processes, starts)
	f.Check(t, uids)
	state := slottest.Read(t, sqlstore.New(openGalera(t, addresses)), recycled.Query{})
	if !state.Pool.Floor.IsZero() {
		t.Errorf("the floor is %v, want none, because no write was lost", state.Pool.Floor)
	}
}

// The nodes are killed in turn, while generators run on all of them: in rounds, because each kill takes seconds, and a
// run that is cut off should have results.
func testGaleraNodesKilled(t *testing.T, c *mariadbtest.Cluster) {
	const each = 4
	rounds, n := fleettest.Kills()/each, 0
	addresses := galeraAddresses(t, c)
	var last *fleettest.Fleet
	for range rounds {
		t.Run("round", func(t *testing.T) {
			last = fleettest.KillTimes(t, each, last, func() recycled.Store { return sqlstore.New(openGalera(t, addresses)) }, func() { c.Node(n % 3).Kill() }, func() {
				c.Node(n % 3).RestartRecovered()
				c.WaitFor(3)
				n++
			})
		})
	}
}

// A node does not answer for longer than a grant. The others expel it, and leases continue before it does.
func testGaleraNodePaused(t *testing.T, c *mariadbtest.Cluster) {
	addresses := galeraAddresses(t, c)
	f := fleettest.New()
	for n := range 4 {
		f.Run(sqlstore.New(openGalera(t, addresses)), n%2 == 0, time.Second)
	}
	f.RunLeases(sqlstore.New(openGalera(t, addresses)))
	f.WaitAllLeases(t, 10)
	c.Node(1).Pause()
	paused := time.Now()
	time.Sleep(2 * fleettest.Horizon) // beyond all grants
	f.WaitLeases(t, 10)
	t.Logf("%v after a node was paused, generators have new leases", time.Since(paused))
	c.Node(1).Resume()
	c.WaitFor(3)
	f.WaitLeases(t, 10)
	f.Check(t, 1000)
}

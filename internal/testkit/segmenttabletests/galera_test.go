//go:build unix

package segmenttabletests

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// The subtests share a cluster, because starting one takes long.
func TestTableGalera(t *testing.T) {
	if isTaker(t) {
		return
	}
	testkit.Full(t, "TestTableProcesses has one server")
	c := mariadbtest.StartGalera(t, 3)
	t.Run("a node that lags behind", func(t *testing.T) { testGaleraLag(t, c) })
	t.Run("tags created on all nodes", func(t *testing.T) { testGaleraCreate(t, c) })
	t.Run("processes on all nodes", func(t *testing.T) { testGaleraProcesses(t, c, false) })
	t.Run("processes that compare counters", func(t *testing.T) { testGaleraProcesses(t, c, true) })
	t.Run("conformance", func(t *testing.T) { testGaleraConformance(t, c) })
	t.Run("a node killed", func(t *testing.T) { testGaleraNodeKilled(t, c) })
}

// galeraDatabase creates a database with the table on all nodes, and returns its name, a connection to each node, and
// the addresses of all nodes.
func galeraDatabase(t *testing.T, c *mariadbtest.Cluster) (name string, nodes []*sqlx.DB, addresses []string) {
	t.Helper()
	name, _ = c.Database(ringuid.MySQLSchema())
	for i := range c.Size() {
		nodes = append(nodes, mariadbtest.Open(t, c.Node(i).DSN("root", "", name)))
		addresses = append(addresses, c.Node(i).Address())
	}
	return name, nodes, addresses
}

// execOnNode executes a statement until there is no conflict with what other nodes write.
func execOnNode(tb testing.TB, node *sqlx.DB, statement string, args ...any) {
	tb.Helper()
	testkit.Retry(tb, statement, func() error {
		_, err := node.Exec(statement, args...)
		return err
	})
}

// A node that has not applied yet what another node has acknowledged does not report that the counter was set back,
// or that a new tag does not exist.
func testGaleraLag(t *testing.T, c *mariadbtest.Cluster) {
	_, nodes, _ := galeraDatabase(t, c)
	var sources []*sqlstore.Store
	for _, db := range nodes {
		sources = append(sources, sqlstore.New(db, sqlstore.WithAttemptTimeout(time.Minute)))
	}
	if err := sources[0].CreateTag(t.Context(), tag, segment.TagConfig{Step: 10}); err != nil {
		t.Fatal(err)
	}
	var end int64
	for n := range 300 {
		taken, err := sources[n%3].Take(t.Context(), segment.Request{Tag: tag, AtLeast: end})
		if err != nil {
			t.Fatal(err)
		}
		if taken.First < end {
			t.Fatalf("Take() = %+v, want one that begins at %d or later", taken, end)
		}
		end = taken.First + taken.Length
		if n%10 == 0 {
			name := "tag" + strings.Repeat("x", n/10)
			if err := sources[n%3].CreateTag(t.Context(), name, segment.TagConfig{}); err != nil {
				t.Fatal(err)
			}
			if _, err := sources[(n+1)%3].Take(t.Context(), segment.Request{Tag: name}); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A counter that was really set back is refused on each node, and not changed.
	execOnNode(t, nodes[0], "UPDATE leaf_alloc SET max_id = 5 WHERE biz_tag = ?", tag)
	for _, s := range sources {
		if _, err := s.Take(t.Context(), segment.Request{Tag: tag, AtLeast: end}); !errors.Is(err, segment.ErrSetBack) {
			t.Errorf("Take of a counter that was set back = %v, want ErrSetBack", err)
		}
	}
	if got := maxID(t, nodes[0], tag); got != 5 {
		t.Errorf("max_id is %d, want 5", got)
	}
}

// Each tag is created once, although all nodes create it.
func testGaleraCreate(t *testing.T, c *mariadbtest.Cluster) {
	_, nodes, _ := galeraDatabase(t, c)
	var all sync.WaitGroup
	var created sync.Map
	for g := range 6 {
		source := sqlstore.New(nodes[g%3], sqlstore.WithAttemptTimeout(time.Minute))
		all.Go(func() {
			for n := range 30 {
				name := "tag" + strings.Repeat("x", n)
				switch err := source.CreateTag(context.Background(), name, segment.TagConfig{Start: int64(g + 1)}); {
				case err == nil:
					if other, twice := created.LoadOrStore(name, g); twice {
						t.Errorf("%s was created by %d and by %d", name, other, g)
					}
				case !errors.Is(err, segment.ErrTagExists):
					t.Errorf("CreateTag() = %v", err)
				}
			}
		})
	}
	all.Wait()
	for n := range 30 {
		name := "tag" + strings.Repeat("x", n)
		creator, ok := created.Load(name)
		if !ok {
			t.Errorf("nobody created %s", name)
			continue
		}
		mustTake(t, sqlstore.New(nodes[n%3]), segment.Request{Tag: name}, rangeOf(int64(creator.(int)+1), segment.DefaultStep, segment.DefaultStep))
	}
}

// Processes write to all nodes. No number is handed out twice. Conflicts between nodes are tried again; those that
// remain are errors.
func testGaleraProcesses(t *testing.T, c *mariadbtest.Cluster, compares bool) {
	name, nodes, addresses := galeraDatabase(t, c)
	if compares {
		nodes[0].MustExec(auditTable)
		for _, node := range nodes { // a trigger that is replicated has no statement on MariaDB 10.11
			node.SetMaxOpenConns(1)
			node.MustExec("SET wsrep_sync_wait = 15")
			node.MustExec("SELECT COUNT(*) FROM audit")
			node.MustExec("SET wsrep_on = OFF")
			node.MustExec(auditTrigger)
			node.MustExec("SET wsrep_on = ON")
		}
	}
	all := startTakers(t, takertest.Count(), 30, 10*time.Minute, c.Node(0).DSN("root", "", name), addresses...)
	execOnNode(t, nodes[0], insertStatement, tag, 1, 50)
	all.Join()
	all.Check()
	nodes[1].SetMaxOpenConns(1)
	nodes[1].MustExec("SET wsrep_sync_wait = 1")
	if got := maxID(t, nodes[1], tag); got != all.Last()+1 || all.Len() != all.Last() {
		t.Errorf("max_id is %d, and %d numbers up to %d were handed out; want all up to max_id", got, all.Len(), all.Last())
	}
}

// The suite, with a client whose connections lead to all nodes.
func testGaleraConformance(t *testing.T, c *mariadbtest.Cluster) {
	var last, database string
	var nodes []*sqlx.DB
	var addresses []string
	segmenttest.Run(t, segmenttest.Harness{
		New: func(tb testing.TB, name string) segment.Creator {
			if name != last {
				last = name
				database, nodes, addresses = galeraDatabase(t, c)
			}
			return sqlstore.New(open(tb, c.Node(0).DSN("root", "", database), addresses...), sqlstore.WithAttemptTimeout(time.Minute))
		},
		Faults: segmenttest.Faults{
			SetCounter: func(tb testing.TB, tag string, next int64) {
				execOnNode(tb, nodes[1], "UPDATE leaf_alloc SET max_id = ? WHERE biz_tag = ?", next, tag)
				for _, node := range nodes { // a node that has not applied this may reserve numbers before it
					node.MustExec("SET STATEMENT wsrep_sync_wait = 1 FOR SELECT COUNT(*) FROM leaf_alloc")
				}
			},
			Without: map[string]string{
				"Kill": "see the other tests", "Start": "see the other tests", "Pause": "see the other tests", "Resume": "see the other tests",
				"LoseReplies": "see the test of a single server", "LoseWrites": "the cluster loses none",
				"LoseWritesUnnoticed": "see the test of a single server",
			},
		},
	})
}

// A node is killed while processes write to all three. Takes continue on the others, and when it is back.
func testGaleraNodeKilled(t *testing.T, c *mariadbtest.Cluster) {
	name, nodes, addresses := galeraDatabase(t, c)
	all := startTakers(t, 3, 0, 2*time.Second, c.Node(0).DSN("root", "", name), addresses...)
	execOnNode(t, nodes[0], insertStatement, tag, 1, 50)
	all.Wait(50)
	c.WaitFor(3) // a busy machine may have expelled a node: then one of two would be killed, and the other one stops
	c.Node(2).Kill()
	all.Wait(50)
	c.Node(2).RestartRecovered()
	c.WaitFor(3)
	all.Wait(50)
	all.KillAll()
	all.Check()
}

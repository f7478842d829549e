//go:build unix

package slottabletests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The subtests share a cluster, because starting one takes long.
func TestSlotTableGalera(t *testing.T) {
	testkit.Full(t, "it starts a cluster")
	c := mariadbtest.StartGalera(t, 3)
	s := newSlotServer(t, c.Node(0), c.Node(1), c.Node(2))
	t.Run("history", func(t *testing.T) { testGaleraHistory(t, c) })
	t.Run("lost updates", func(t *testing.T) { testGaleraLostUpdates(t, c) })
	t.Run("pool and slots", func(t *testing.T) { testGaleraAdditions(t, c) })
	t.Run("disposable", func(t *testing.T) { testGaleraDisposable(t, c) })
	t.Run("a node left the cluster", func(t *testing.T) { testGaleraNodeLeft(t, c, s) })
	c.WaitFor(3)
	t.Run("another node bootstrapped", func(t *testing.T) { testGaleraBootstrap(t, c) })
}

// galeraStores returns a store for each node, on one pool.
func galeraStores(t *testing.T, c *mariadbtest.Cluster) []recycled.Store {
	t.Helper()
	name, _ := c.Database(ringuid.MySQLSchema())
	stores := make([]recycled.Store, c.Size())
	for i := range stores {
		stores[i] = sqlstore.New(mariadbtest.Open(t, c.Node(i).DSN("root", "", name)))
	}
	return stores
}

// All nodes have one history, and the store loses no writes, unless all nodes may lose them together.
func testGaleraHistory(t *testing.T, c *mariadbtest.Cluster) {
	stores := galeraStores(t, c)
	first := slottest.Read(t, stores[0], recycled.Query{})
	if !first.NoLoss || !strings.HasPrefix(first.History, "Galera ") || len(first.History) != len("Galera ")+36 {
		t.Errorf("the state is %+v, want NoLoss and a history with a UUID", first)
	}
	for _, s := range stores {
		if state := slottest.Read(t, s, recycled.Query{}); state.History != first.History {
			t.Errorf("two nodes have the histories %q and %q", first.History, state.History)
		}
	}
	admin := c.Node(1).Admin()
	admin.MustExec("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
	defer admin.MustExec("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	if state := slottest.Read(t, galeraStores(t, c)[1], recycled.Query{}); state.NoLoss || state.History != first.History {
		t.Errorf("with innodb_flush_log_at_trx_commit = 2 the state is %+v, want NoLoss = false and the same history", state)
	}
}

// Clients of two nodes increment the revisions of the same slots. The number of writes that returned true is
// the increase of the revision: no update is lost.
func testGaleraLostUpdates(t *testing.T, c *mariadbtest.Cluster) {
	stores := galeraStores(t, c)
	empty := slottest.Read(t, stores[0], recycled.Query{})
	p := slottest.Pool(empty.History)
	var slots []recycled.Slot
	for id := range int64(3) {
		slots = append(slots, slottest.Slot(empty.History, id))
	}
	slottest.WantWritten(t, stores[0], true, slottest.Swap(empty, &p, slots...))
	const each = 100
	var written, refused atomic.Int64
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() {
			store := stores[n%2]
			for i := range each {
				ids := []int64{int64(i % 3)}
				if i%5 == 0 { // two slots in one write
					ids = append(ids, int64((i+1)%3))
				}
				state, err := store.Read(context.Background(), recycled.Query{WorkerIDs: ids})
				if err != nil {
					t.Errorf("Read() = %v", err)
					return
				}
				slots := slices.Clone(state.Slots)
				for k := range slots {
					slots[k].Revision++ // nothing else that is compared changes
					slots[k].Holder.Process = fmt.Sprint(n, " ", i)
				}
				ok, err := store.Write(context.Background(), slottest.Swap(state, nil, slots...))
				switch {
				case err != nil:
					t.Errorf("Write() = %v", err)
				case ok:
					written.Add(int64(len(ids)))
				default:
					refused.Add(1)
				}
			}
		})
	}
	all.Wait()
	sum := int64(0)
	for _, slot := range slottest.Read(t, stores[2], recycled.Query{All: true}).Slots {
		sum += slot.Revision - 1
	}
	t.Logf("%d writes of slots, %d refused", written.Load(), refused.Load())
	if sum != written.Load() || refused.Load() == 0 || sum == 0 {
		t.Errorf("the revisions increased by %d, and %d writes of slots were acknowledged, %d refused; want equal numbers, and some refused", sum, written.Load(), refused.Load())
	}
}

// Processes on all nodes add slots to one pool. Each slot is added once, and none is missing.
func testGaleraAdditions(t *testing.T, c *mariadbtest.Cluster) {
	stores := galeraStores(t, c)
	const processes = 30
	var all sync.WaitGroup
	var ids sync.Map
	for n := range processes {
		all.Go(func() {
			r := recycled.New(stores[n%3])
			l, err := r.Assign(testkit.Patient(t), leasetest.Request(1024))
			if err != nil {
				t.Errorf("Assign() = %v", err)
				return
			}
			if _, twice := ids.LoadOrStore(l.WorkerID(), true); twice {
				t.Errorf("worker ID %d was leased twice", l.WorkerID())
			}
		})
	}
	all.Wait()
	state := slottest.Read(t, stores[1], recycled.Query{All: true})
	if int64(len(state.Slots)) != state.Pool.Slots || state.Pool.Slots < processes {
		t.Errorf("%d slots, and the pool has %d; want at least %d", len(state.Slots), state.Pool.Slots, processes)
	}
}

// Connections to a node that left the cluster (error 1047) are discarded, and the call goes to another node.
func testGaleraNodeLeft(t *testing.T, c *mariadbtest.Cluster, s *slotServer) {
	store := s.newStore(t, "left")
	have := slottest.Read(t, store, recycled.Query{})
	h := have.History
	slot := slottest.Slot(h, 5)
	slottest.WantWritten(t, store, true, slottest.Swap(have, nil, slot))
	outside := c.Node(2).Admin()
	outside.MustExec("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")
	defer outside.Exec("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")
	testkit.Eventually(t, "the node leaves the cluster", func() bool {
		_, err := outside.Exec("DELETE FROM `left`.WORKER_SLOT WHERE worker_id < 0")
		server := (*mysql.MySQLError)(nil)
		return errors.As(err, &server) && server.Number == 1047
	})
	outside.MustExec("SET GLOBAL wsrep_dirty_reads = ON") // even if somebody lets it read, it is not the cluster
	defer outside.Exec("SET GLOBAL wsrep_dirty_reads = OFF")
	if state, err := sqlstore.New(mariadbtest.Open(t, c.Node(2).DSN("root", "", "left"))).Read(t.Context(), recycled.Query{}); err == nil && state.History == h {
		t.Errorf("a node outside of the cluster has the history of the cluster, %q", h)
	}
	for range 12 {
		have.Slots = []recycled.Slot{slot}
		slot.Revision++
		slottest.WantWritten(t, store, true, slottest.Swap(have, nil, slot))
		if state := slottest.Read(t, store, recycled.Query{WorkerIDs: []int64{5}}); state.History == h && state.Slots[0].Revision != slot.Revision {
			t.Errorf("the revision is %d, want %d", state.Slots[0].Revision, slot.Revision)
		}
	}
}

// A cluster whose nodes have all failed is bootstrapped from a node that lacks writes. If that node keeps its
// grastate.dat, the history remains, and leases that were lost are granted again: schema.sql says that
// an operator must raise the floor then. Without grastate.dat the cluster has another history.
func testGaleraBootstrap(t *testing.T, c *mariadbtest.Cluster) {
	stores := galeraStores(t, c)
	r := recycled.New(stores[0])
	first, _ := leasetest.MustHold(t, r, 20*time.Second)
	history := slottest.Read(t, stores[2], recycled.Query{}).History
	c.Node(2).Stop()
	c.WaitFor(2)
	lost, until := leasetest.MustHold(t, r, 20*time.Second) // node 2 does not receive it
	c.Node(0).Kill()
	c.Node(1).Kill()
	state := filepath.Join(c.Node(2).Directory(), "data", "grastate.dat")
	text, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "safe_to_bootstrap: 0") {
		t.Errorf("Galera would allow to bootstrap from a node that lacks writes: %s", text)
	}
	// With a forced grastate.dat the cluster keeps its UUID.
	if err := os.WriteFile(state, []byte(strings.Replace(string(text), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	c.Node(2).RestartWith("--wsrep-new-cluster")
	c.WaitFor(1)
	if got := slottest.Read(t, stores[2], recycled.Query{All: true}); got.History != history || len(got.Slots) != 1 {
		t.Errorf("after a forced bootstrap the history is %q and %d slots are there; want %q and 1: correct schema.sql", got.History, len(got.Slots), history)
	}
	c.Node(2).Stop()
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	c.Node(2).RestartWith("--wsrep-new-cluster")
	c.WaitFor(1)
	got := slottest.Read(t, stores[2], recycled.Query{All: true})
	if got.History == history || !strings.HasPrefix(got.History, "Galera ") {
		t.Fatalf("after a bootstrap without grastate.dat the history is %q, and was %q; want another one", got.History, history)
	}
	again, err := recycled.New(stores[2]).Assign(t.Context(), leasetest.Request(1024))
	if err != nil {
		t.Fatal(err)
	}
	if again.WorkerID() == lost.WorkerID() && again.NotBefore().Before(until) {
		t.Errorf("worker ID %d was granted up to %v, and again from %v", lost.WorkerID(), until, again.NotBefore())
	}
	_ = first
}

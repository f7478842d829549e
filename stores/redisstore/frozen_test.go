//go:build unix

package redisstore_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// frozen freezes a primary with two replicas, cuts it off, and continues it when another one was promoted, while some
// clients still have its address. No UID comes twice. Without acknowledgements some do. newClient returns a client
// that follows the failover.
func frozen(t *testing.T, opts []redisstore.Option, primary *redistest.Server, newClient func() goredis.UniversalClient, cut func()) {
	stores := map[string]func() recycled.Store{
		"former": func() recycled.Store { return redisstore.New(connect(t, primary.Address()), opts...) },
		"both": func() recycled.Store {
			c := newClient()
			t.Cleanup(func() { c.Close() })
			return redisstore.New(c, opts...)
		},
	}
	f := fleettest.New()
	f.First(t, stores["former"]()) // as soon as the replicas are attached
	defer f.End()
	for _, newStore := range stores {
		for n := range 2 {
			f.Run(newStore(), n%2 == 0, time.Second)
			f.RunLeases(newStore())
		}
	}
	f.WaitLeases(t, 20)
	awaitServers(t, primary, "3", func() error { return nil })

	history := slottest.Read(t, stores["former"](), recycled.Query{}).History
	primary.Pause()
	cut()
	promoted := stores["both"]()
	testkit.Retry(t, "another primary has replaced the frozen one", func() error {
		state, err := promoted.Read(testkit.Patient(t), recycled.Query{})
		if err == nil && state.Pool.History == history {
			err = errors.New("the pool has the history of the frozen one")
		}
		return err
	})
	f.WaitLeases(t, 20)
	primary.Resume()
	if opts != nil {
		f.WaitDuplicate(t)
		t.Log(f.End())
		return
	}
	former := redisstore.New(connect(t, primary.Address()))
	if err := former.CreateTag(testkit.Patient(t), "x", segment.TagConfig{}); err == nil {
		t.Error("the former primary creates a tag")
	}
	f.WaitLeases(t, 20)
	f.Check(t, 1000)
}

// A primary is frozen, and Sentinel promotes another one.
func TestFrozenPrimarySentinel(t *testing.T) {
	testkit.Full(t, "TestFrozenPrimary is the same without Sentinel")
	t.Parallel()
	for name, opts := range acknowledgedBy {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := redistest.Start(t)
			p := testserver.NewProxy(t, primary.Address())
			for range 2 {
				primary.Replica().Follow(p.Address())
			}
			sentinel := redistest.StartSentinel(t, "unused", primary)
			c := goredis.NewSentinelClient(&goredis.Options{Addr: sentinel})
			t.Cleanup(func() { c.Close() })
			host, port, _ := net.SplitHostPort(p.Address())
			for _, err := range []error{
				c.Monitor(t.Context(), "ids", host, port, "1").Err(),
				// Otherwise it would make the promoted server a replica of the frozen primary again, after 10 s.
				c.Remove(t.Context(), "unused").Err(),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			testkit.Retry(t, "Sentinel knows the replicas", func() error {
				if replicas, err := c.Replicas(t.Context(), "ids").Result(); len(replicas) < 2 {
					return fmt.Errorf("it knows %v, %v", replicas, err)
				}
				return nil
			})
			frozen(t, opts, primary, func() goredis.UniversalClient {
				return goredis.NewFailoverClient(&goredis.FailoverOptions{MasterName: "ids", SentinelAddrs: []string{sentinel}})
			}, func() {
				p.Cut(nil)
				if err := c.Set(t.Context(), "ids", "down-after-milliseconds", "1000").Err(); err != nil { // not earlier: a busy machine needs longer
					t.Fatal(err)
				}
			})
		})
	}
}

// frozenAddress is what the primary of TestFrozenPrimaryCluster has as the source of its connections.
const frozenAddress = "127.0.0.2"

// clusterNode is a node of a cluster whose others reach it through proxies.
type clusterNode struct {
	*redistest.Server
	clients, bus *testserver.Proxy
}

func startClusterNode(t *testing.T, flags ...string) clusterNode {
	n := clusterNode{clients: testserver.NewProxy(t, ""), bus: testserver.NewProxy(t, "")}
	port := func(p *testserver.Proxy) string { return p.Address()[strings.LastIndexByte(p.Address(), ':')+1:] }
	n.Server = redistest.Start(t, append([]string{"--cluster-enabled", "yes", "--cluster-node-timeout", "60000", "--cluster-replica-validity-factor", "0",
		"--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", port(n.clients), "--cluster-announce-bus-port", port(n.bus)}, flags...)...)
	n.clients.SetTarget(n.Address())
	n.bus.SetTarget(fmt.Sprintf("127.0.0.1:%d", n.Port(0)+10000))
	return n
}

// A primary is frozen, and its cluster replaces it. When it continues, it would learn that from the first packet of another node, so
// its packets get lost further.
func TestFrozenPrimaryCluster(t *testing.T) {
	testkit.Full(t, "TestFrozenPrimary is the same without a cluster")
	t.Parallel()
	for name, opts := range acknowledgedBy {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := []clusterNode{startClusterNode(t, "--bind-source-addr", frozenAddress)}
			for range 4 {
				nodes = append(nodes, startClusterNode(t))
			}
			primary := nodes[0]
			for _, n := range nodes[1:] {
				host, port, _ := net.SplitHostPort(n.clients.Address())
				_, busPort, _ := net.SplitHostPort(n.bus.Address())
				primary.MustCommand("CLUSTER", "MEET", host, port, busPort)
			}
			// Two more masters, so that a majority can replace one.
			primary.MustCommand("CLUSTER", "ADDSLOTSRANGE", "2", "16383")
			nodes[1].MustCommand("CLUSTER", "ADDSLOTS", "0")
			nodes[2].MustCommand("CLUSTER", "ADDSLOTS", "1")
			for _, n := range nodes {
				waitForCluster(t, n.Server, "cluster_state:ok", "cluster_known_nodes:5")
			}
			for _, n := range nodes[3:] {
				n.MustCommand("CLUSTER", "REPLICATE", primary.MustCommand("CLUSTER", "MYID"))
				n.WaitSynced(primary.Server)
			}
			testkit.Eventually(t, "all nodes know the replicas", func() bool {
				return !slices.ContainsFunc(nodes, func(n clusterNode) bool {
					return strings.Count(n.MustCommand("CLUSTER", "NODES"), "slave") != 2
				})
			})
			// Cut off, it would refuse writes after its own timeout, perhaps before a UID came twice.
			primary.MustCommand("CONFIG", "SET", "cluster-node-timeout", "3600000")
			frozen(t, opts, primary.Server, func() goredis.UniversalClient {
				return goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{nodes[1].clients.Address()}, ReadTimeout: time.Second})
			}, func() {
				primary.clients.Cut(nil)
				primary.bus.Cut(nil)
				for _, n := range nodes[1:] {
					n.MustCommand("CONFIG", "SET", "cluster-node-timeout", "2000") // not earlier: a busy machine needs longer
					isPrimary := func(client net.Addr) bool { return strings.HasPrefix(client.String(), frozenAddress+":") }
					n.clients.Cut(isPrimary)
					n.bus.Cut(isPrimary)
				}
			})
		})
	}
}

//go:build unix

package allstores

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/stores/storetest"
	"github.com/ringuid/ringuid/workerassign/assigntest"
)

// clusters are kinds of several servers, of which others replace one that is down, or does not answer. They are for TestSoak: a primary
// that was replaced while it was paused still answers who is connected to it, so that reads are not linearizable.
var clusters = map[string]kind{
	"etcd, three members": {startEtcdCluster, openEtcd}, "Galera": {startGalera, openGalera},
	"Redis Sentinel": {startSentinel, openSentinel}, "Redis Cluster": {startRedisCluster, openRedisCluster},
}

// A member is a server of a cluster.
type member interface {
	Kill()
	Pause()
	Resume()
}

// clusterHarness returns a harness in which each fault concerns one of the members. A fault ends when the cluster is whole again.
func clusterHarness[M member](members []M, restart func(M), awaitWhole func()) storetest.Harness {
	var hit M
	choose := func() M {
		hit = members[rand.IntN(len(members))]
		return hit
	}
	return storetest.Harness{Slots: assigntest.Faults{
		Kill:   func(testing.TB) { choose().Kill() },
		Start:  func(testing.TB) { restart(hit); awaitWhole() },
		Pause:  func(testing.TB) { choose().Pause() },
		Resume: func(testing.TB) { hit.Resume(); awaitWhole() },
	}}
}

// named returns addresses of stores by their names.
func named(address string) addressFunc {
	return func(_ testing.TB, name string) string { return address + " " + name }
}

func startEtcdCluster(t *testing.T) (storetest.Harness, addressFunc) {
	members := etcdtest.StartCluster(t, 3)
	var endpoints []string
	for _, m := range members {
		endpoints = append(endpoints, m.Endpoint())
	}
	return clusterHarness(members, (*etcdtest.Server).Restart, func() {}), named(strings.Join(endpoints, ","))
}

func startGalera(t *testing.T) (storetest.Harness, addressFunc) {
	c := mariadbtest.StartGalera(t, 3)
	var members []*mariadbtest.Server
	var addresses []string
	for n := range c.Size() {
		members, addresses = append(members, c.Node(n)), append(addresses, c.Node(n).Address())
	}
	databases := map[string]string{}
	address := func(_ testing.TB, name string) string {
		if databases[name] == "" {
			databases[name], _ = c.Database(ringuid.MySQLSchema())
		}
		return strings.Join(addresses, ",") + " " + databases[name]
	}
	return clusterHarness(members, (*mariadbtest.Server).RestartRecovered, func() { c.WaitFor(3) }), address
}

// openGalera connects to all nodes in turn.
func openGalera(tb testing.TB, address string) storetest.Store {
	addresses, database, _ := strings.Cut(address, " ")
	nodes := strings.Split(addresses, ",")
	var turn atomic.Uint32
	turn.Store(rand.Uint32N(uint32(len(nodes))))
	cfg := mysql.NewConfig()
	cfg.User, cfg.DBName, cfg.Logger = "root", database, &mysql.NopLogger{}
	cfg.Net, cfg.Addr = "tcp", nodes[0]
	cfg.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, nodes[int(turn.Add(1))%len(nodes)])
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	db := sql.OpenDB(connector)
	tb.Cleanup(func() { db.Close() })
	return sqlstore.New(db)
}

// sentinelName is what Sentinel calls the servers.
const sentinelName = "ids"

// redisStore returns the store with a name. Its client is closed at the end of the test. That there are three servers is set as an operator
// can; otherwise the first writes need both replicas.
func redisStore(tb testing.TB, c goredis.UniversalClient, name string) storetest.Store {
	tb.Cleanup(func() { c.Close() })
	testkit.Retry(tb, "the number of servers is set", func() error {
		return c.HSetNX(tb.Context(), "ringuid:{"+name+"}:slots", "servers", "3").Err()
	})
	return redisstore.New(c, redisstore.WithPool(name))
}

func openSentinel(tb testing.TB, address string) storetest.Store {
	address, name, _ := strings.Cut(address, " ")
	return redisStore(tb, goredis.NewFailoverClient(&goredis.FailoverOptions{MasterName: sentinelName, SentinelAddrs: []string{address}, ReadTimeout: time.Second}), name)
}

func startSentinel(t *testing.T) (storetest.Harness, addressFunc) {
	primary := redistest.Start(t, "--appendfsync", "always")
	servers := []*redistest.Server{primary, primary.Replica(), primary.Replica()}
	address := redistest.StartSentinel(t, sentinelName, primary)
	sentinel := goredis.NewSentinelClient(&goredis.Options{Addr: address})
	t.Cleanup(func() { sentinel.Close() })
	for setting, ms := range map[string]string{"down-after-milliseconds": "300", "failover-timeout": "3000"} {
		if err := sentinel.Set(t.Context(), sentinelName, setting, ms).Err(); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Retry(t, "Sentinel knows the replicas", func() error {
		replicas, err := sentinel.Replicas(t.Context(), sentinelName).Result()
		if err == nil && len(replicas) != 2 {
			err = fmt.Errorf("it knows %v", replicas)
		}
		return err
	})
	return clusterHarness(servers, (*redistest.Server).Restart, awaitReplicas(t, servers)), named(address)
}

// awaitReplicas returns a function that waits until one of three servers is the primary of the others, and they are connected to it. At the
// end of the test it is logged how often that was another one.
func awaitReplicas(t *testing.T, servers []*redistest.Server) (await func()) {
	primary, changes := servers[0], 0
	t.Cleanup(func() { t.Logf("another server became the primary %d times", changes) })
	return func() {
		testkit.Retry(t, "a primary has two replicas", func() error {
			all := ""
			var with2 *redistest.Server
			for _, s := range servers {
				info, err := s.Command("INFO", "replication")
				if err != nil { // Sentinel ends the connections of a server that it changes
					return err
				}
				if strings.Contains(info, "connected_slaves:2") {
					with2 = s
				}
				all += info
			}
			if with2 == nil || strings.Count(all, "role:master") != 1 || strings.Count(all, "master_link_status:up") != 2 {
				return errors.New(all)
			}
			if with2 != primary {
				primary = with2
				changes++
			}
			return nil
		})
	}
}

func openRedisCluster(tb testing.TB, address string) storetest.Store {
	addresses, name, _ := strings.Cut(address, " ")
	return redisStore(tb, goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: strings.Split(addresses, ","), ReadTimeout: time.Second}), name)
}

// startRedisCluster starts a primary of nearly all keys, with two replicas, and two other primaries, so that a majority can replace one.
func startRedisCluster(t *testing.T) (storetest.Harness, addressFunc) {
	var nodes []*redistest.Server
	var addresses []string
	for range 5 {
		n := redistest.Start(t, "--appendfsync", "always", "--cluster-enabled", "yes", "--cluster-node-timeout", "500", "--cluster-allow-replica-migration", "no", "--cluster-replica-validity-factor", "0")
		nodes, addresses = append(nodes, n), append(addresses, n.Address())
	}
	primary := nodes[0]
	for _, n := range nodes[1:] {
		host, port, _ := net.SplitHostPort(n.Address())
		primary.MustCommand("CLUSTER", "MEET", host, port)
	}
	primary.MustCommand("CLUSTER", "ADDSLOTSRANGE", "2", "16383")
	nodes[3].MustCommand("CLUSTER", "ADDSLOTS", "0")
	nodes[4].MustCommand("CLUSTER", "ADDSLOTS", "1")
	testkit.Retry(t, "the nodes form a cluster", func() error {
		for _, n := range nodes {
			if info := n.MustCommand("CLUSTER", "INFO"); !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:5") {
				return errors.New(info)
			}
		}
		return nil
	})
	for _, n := range nodes[1:3] {
		n.MustCommand("CLUSTER", "REPLICATE", primary.MustCommand("CLUSTER", "MYID"))
	}
	awaitWhole := awaitReplicas(t, nodes[:3])
	awaitWhole()
	return clusterHarness(nodes[:3], (*redistest.Server).Restart, awaitWhole), named(strings.Join(addresses, ","))
}

//go:build unix

package allstores

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
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

// clusterHarness returns a harness in which each fault concerns one member. Kill and Pause return at once or, half of the time, after
// awaitReplaced; Start and Resume return after awaitWhole.
func clusterHarness[M interface {
	Kill()
	Pause()
	Resume()
}](choose func() M, restart func(M), awaitReplaced func(hit M), awaitWhole func()) storetest.Harness {
	var hit M
	during := func(begin func(M)) func(testing.TB) {
		return func(testing.TB) {
			hit = choose()
			begin(hit)
			if rand.IntN(2) == 0 {
				awaitReplaced(hit)
			}
		}
	}
	return storetest.Harness{Slots: assigntest.Faults{
		Kill:   during(M.Kill),
		Start:  func(testing.TB) { restart(hit); awaitWhole() },
		Pause:  during(M.Pause),
		Resume: func(testing.TB) { hit.Resume(); awaitWhole() },
	}}
}

// oneOf returns a function that returns a random member.
func oneOf[M any](members []M) func() M { return func() M { return members[rand.IntN(len(members))] } }

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
	wait := func(*etcdtest.Server) { time.Sleep(2 * time.Second) } // the others elect a leader after half a second
	return clusterHarness(oneOf(members), (*etcdtest.Server).Restart, wait, func() {}), named(strings.Join(endpoints, ","))
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
	awaitExpelled := func(hit *mariadbtest.Server) {
		other := members[(slices.Index(members, hit)+1)%len(members)]
		admin := other.Admin()
		defer admin.Close()
		testkit.Eventually(t, "the cluster has two nodes", func() bool {
			var size string
			err := admin.Get(&size, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'WSREP_CLUSTER_SIZE'")
			return err == nil && size == "2"
		})
	}
	return clusterHarness(oneOf(members), (*mariadbtest.Server).RestartRecovered, awaitExpelled, func() { c.WaitFor(3) }), address
}

// openGalera connects to all nodes in turn.
func openGalera(tb testing.TB, address string) storetest.Store {
	addresses, database, _ := strings.Cut(address, " ")
	nodes := strings.Split(addresses, ",")
	var turn atomic.Uint32
	turn.Store(rand.Uint32N(uint32(len(nodes))))
	cfg := mysql.NewConfig()
	cfg.User, cfg.DBName, cfg.Logger = "root", database, &mysql.NopLogger{}
	cfg.Net = "tcp"
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

// openSentinel returns a client that follows each failover at once, or one that asks Sentinel when it connects, as by a DNS name: it
// stays with a former primary until that closes the connections.
func openSentinel(tb testing.TB, address string) storetest.Store {
	address, name, _ := strings.Cut(address, " ")
	if rand.IntN(2) == 0 {
		return redisStore(tb, goredis.NewFailoverClient(&goredis.FailoverOptions{MasterName: sentinelName, SentinelAddrs: []string{address}, ReadTimeout: time.Second}), name)
	}
	sentinel := goredis.NewSentinelClient(&goredis.Options{Addr: address})
	tb.Cleanup(func() { sentinel.Close() })
	return redisStore(tb, goredis.NewClient(&goredis.Options{ReadTimeout: time.Second, Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
		primary, err := sentinel.GetMasterAddrByName(ctx, sentinelName).Result()
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(primary[0], primary[1]))
	}}), name)
}

func startSentinel(t *testing.T) (storetest.Harness, addressFunc) {
	primary := redistest.Start(t, "--appendfsync", "always", "--repl-backlog-ttl", "1")
	servers := []*redistest.Server{primary, primary.Replica(), primary.Replica()}
	address := redistest.StartSentinel(t, sentinelName, primary)
	sentinel := goredis.NewSentinelClient(&goredis.Options{Addr: address})
	t.Cleanup(func() { sentinel.Close() })
	// Long, so that a server that gets no CPU for a moment does not count as down: two failovers in a row can bring a former primary back
	// (package redisstore).
	for setting, ms := range map[string]string{"down-after-milliseconds": "5000", "failover-timeout": "10000"} {
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
	return redisHarness(t, servers, func() error {
		state, err := sentinel.Master(t.Context(), sentinelName).Result()
		if err == nil && state["flags"] != "master" {
			err = fmt.Errorf("the primary is %s", state["flags"])
		}
		return err
	}), named(address)
}

// redisHarness returns the harness of three servers, which replace their primary. It logs how often they did. isSteady returns an error during a
// failover.
func redisHarness(t *testing.T, servers []*redistest.Server, isSteady func() error) storetest.Harness {
	primary, changes, vain := servers[0], 0, 0
	t.Cleanup(func() {
		t.Logf("another server became the primary %d times; %d times none did within %v", changes, vain, replaceTime)
		if *soak > 10*time.Minute && changes == 0 && !t.Failed() {
			t.Error("no server was replaced")
		}
	})
	awaitReplaced := func(hit *redistest.Server) {
		if hit != primary {
			return
		}
		for end := time.Now().Add(replaceTime); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			for _, s := range servers {
				if s == hit {
					continue
				}
				if info, err := s.Command("INFO", "replication"); err == nil && strings.Contains(info, "role:master") {
					return
				}
			}
		}
		vain++
	}
	awaitWhole := func() {
		testkit.Retry(t, "one server is the primary of the others", func() error {
			time.Sleep(50 * time.Millisecond)
			var primaries []*redistest.Server
			all := ""
			for _, s := range servers {
				info, err := s.Command("INFO", "replication")
				if err != nil { // Sentinel ends the connections of a server that it changes
					return err
				}
				if strings.Contains(info, "role:master") {
					primaries = append(primaries, s)
				}
				all += info
			}
			if len(primaries) != 1 || !strings.Contains(all, "connected_slaves:2") || strings.Count(all, "master_link_status:up") != 2 {
				return errors.New(all)
			}
			if err := isSteady(); err != nil {
				return err
			}
			if primaries[0] != primary {
				primary = primaries[0]
				changes++
			}
			return nil
		})
	}
	awaitWhole()
	choose := func() *redistest.Server { // the primary more often
		if rand.IntN(2) == 0 {
			return primary
		}
		return oneOf(servers)()
	}
	return clusterHarness(choose, (*redistest.Server).Restart, awaitReplaced, awaitWhole)
}

// replaceTime is how long a fault waits for another primary. Sentinel replaces none soon after a failover that has failed.
const replaceTime = 30 * time.Second

func openRedisCluster(tb testing.TB, address string) storetest.Store {
	addresses, name, _ := strings.Cut(address, " ")
	return redisStore(tb, goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: strings.Split(addresses, ","), ReadTimeout: time.Second}), name)
}

// startRedisCluster starts a primary of nearly all keys, with two replicas, and two other primaries, so that a majority can replace one.
func startRedisCluster(t *testing.T) (storetest.Harness, addressFunc) {
	var nodes []*redistest.Server
	var addresses []string
	for range 5 {
		n := redistest.Start(t, "--appendfsync", "always", "--repl-backlog-ttl", "1", "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-allow-replica-migration", "no", "--cluster-replica-validity-factor", "0")
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
	return redisHarness(t, nodes[:3], func() error { return nil }), named(strings.Join(addresses, ","))
}

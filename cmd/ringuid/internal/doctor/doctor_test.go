package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/doctor"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/internal/testkit/zookeepertest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
)

// discard discards what the client of Redis logs.
type discard struct{}

func (discard) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	goredis.SetLogger(discard{})
	os.Exit(m.Run())
}

// open opens a store until the end of the test.
func open(t *testing.T, text string) *connect.Store {
	t.Helper()
	s, err := connect.Open(context.Background(), text, connect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// findings are the lines of a report: level, check, text.
type findings []string

// examine examines a store. opts set the format.
func examine(t *testing.T, text string, opts ...uid.FormatOption) findings {
	t.Helper()
	f, err := uid.NewFormat(opts...)
	if err != nil {
		t.Fatal(err)
	}
	var found findings
	doctor.Examine(t.Context(), open(t, text), doctor.Options{Format: f, FormatSet: len(opts) > 0, Now: time.Now}, func(f doctor.Finding) {
		if (f.Level == doctor.Fault || f.Level == doctor.Warning) && f.Advice == "" {
			t.Errorf("no advice: %+v", f)
		}
		found = append(found, fmt.Sprintf("%s %s: %s", f.Level, f.Check, f.Text))
	})
	return found
}

// expect checks that the report has lines with these beginnings, with * for any text, and no other faults and warnings.
func (f findings) expect(t *testing.T, want ...string) {
	t.Helper()
	matched := map[string]bool{}
	for _, w := range want {
		begin, part, _ := strings.Cut(w, "*")
		ok := false
		for _, line := range f {
			if strings.HasPrefix(line, begin) && strings.Contains(line[len(begin):], part) {
				ok, matched[line] = true, true
			}
		}
		if !ok {
			t.Errorf("the report lacks %q", w)
		}
	}
	for _, line := range f {
		if (strings.HasPrefix(line, "fault") || strings.HasPrefix(line, "warning")) && !matched[line] {
			t.Errorf("the report has %q", line)
		}
	}
	if t.Failed() {
		t.Fatalf("the report is:\n%s", strings.Join(f, "\n"))
	}
}

// hold takes a worker ID of a store until the end of the test, and a tag.
func hold(t *testing.T, text string) {
	t.Helper()
	s := open(t, text)
	if s.Options().Assign == connect.Recycled {
		if err := s.CreatePool(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	g, err := uid.NewDefault(context.Background(), s.Assigner())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if _, err := g.Next(); err != nil {
		t.Fatal(err)
	}
	if err := s.Source().CreateTag(context.Background(), "orders", segment.TagConfig{Start: 7}); err != nil {
		t.Fatal(err)
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	examine(t, path).expect(t, "ok reachable: the directory of "+path+" exists", "info worker IDs: there is no file "+path, "ok end: the time bits of 1-28-22-13*2034", "ok worker IDs: 0 of 4194303")
	examine(t, "file:"+path+"?assign=recycled").expect(t, "info pool: there is no file")
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 0 {
		t.Fatalf("doctor has created %v (%v)", entries, err)
	}
	hold(t, path)
	examine(t, path).expect(t, "ok worker IDs: 1 of 4194303", "info tags: there is a file of tags")
	// A lock file that cannot be opened, of which the counter shows nothing.
	if err := errors.Join(os.Rename(path+".lock", path+".saved"), os.Mkdir(path+".lock", 0o700)); err != nil {
		t.Fatal(err)
	}
	examine(t, path).expect(t, "fault privileges: open "+path+".lock")
	if err := errors.Join(os.Remove(path+".lock"), os.Rename(path+".saved", path+".lock")); err != nil {
		t.Fatal(err)
	}
	hold(t, "file:"+path+"s?assign=recycled&name=first")
	slots := examine(t, "file:"+path+"s?assign=recycled")
	slots.expect(t, "ok format: the pool's format is 1-28-22-13", "info slots: 1 slots from worker ID 0: 1 held, 0 free",
		"info held: worker ID 0 by first (host *granted until", "ok history", "info clock: the store has no clock")
	examine(t, "file:"+path+"s?assign=recycled", uid.WithTwitterLayout()).expect(t, "fault format: the pool's format is 1-28-22-13*1-41-10-12")
	examine(t, path+"s").expect(t, "fault worker IDs*corrupt worker file")
	examine(t, filepath.Join(path, "none", "worker")).expect(t, "fault reachable")
	// The format has ended, or ends soon.
	examine(t, path, uid.WithEpoch(time.Now().Add(-9*365*24*time.Hour).Truncate(time.Second))).expect(t, "fault end: *no generator works")
	examine(t, path, uid.WithEpoch(time.Now().Add(-8*365*24*time.Hour).Truncate(time.Second))).expect(t, "warning end")
	if _, err := os.Stat(path + "s.tags"); err != nil {
		t.Error(err)
	}
}

func TestMariaDB(t *testing.T) {
	t.Parallel()
	server := mariadbtest.Start(t)
	name, db := server.Database()
	admin := server.DSN("root", "", name)
	examine(t, admin).expect(t, "ok reachable", "info version", "ok durability", "ok clock", "fault tables: there is no table `WORKER_NODE`", "info tables: there is no table `WORKER_POOL`")
	examine(t, admin+"?assign=recycled").expect(t, "fault tables: there is no table `WORKER_POOL`")
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	examine(t, admin+"?assign=recycled").expect(t, "ok privileges: *`WORKER_SLOT`", "info pool: there is no pool", "info first start: *1m50s")
	hold(t, admin)
	hold2 := admin + "?assign=recycled&name=second"
	db.MustExec("DELETE FROM leaf_alloc")
	hold(t, hold2)
	db.MustExec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('last', 9223372036854775807, 10)")
	examine(t, admin).expect(t, "ok privileges: *`WORKER_NODE`", "ok worker IDs: 1 of 4194303", "info pool: `WORKER_POOL` has a pool",
		"info tags: `leaf_alloc` has 2 tags", `info tag: "orders": the next number is 7`, `warning tag: "last": *0 numbers are left`)
	db.MustExec("DELETE FROM leaf_alloc WHERE biz_tag = 'last'")
	examine(t, admin+"?assign=recycled").expect(t, "info history: the store can lose acknowledged writes", "info held: worker ID 0 by second", "ok format", "ok clock")

	// The greatest ID and the rate.
	db.MustExec("UPDATE WORKER_NODE SET CREATED = NOW() - INTERVAL 10 DAY")
	db.MustExec("INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES (4000001, '', '', 3, NOW())")
	examine(t, admin).expect(t, "warning worker IDs: 4000001 of 4194303 *at about 400000 per day")
	db.MustExec("CREATE USER 'verified'@'%'")
	db.MustExec("GRANT SELECT (ID, PORT), INSERT (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) ON " + name + ".WORKER_NODE TO 'verified'@'%'")
	examine(t, server.DSN("verified", "", name)).expect(t, "ok privileges: *`WORKER_NODE`", "warning worker IDs: 4000001 of 4194303")
	db.MustExec("INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES (4194303, '', '', 3, NOW())")
	examine(t, admin).expect(t, "fault worker IDs: 4194303 of 4194303")

	// An account with exactly the privileges of a service, and one with none.
	for _, account := range []string{"service", "nobody"} {
		db.MustExec("CREATE USER '" + account + "'@'%'")
	}
	db.MustExec("GRANT INSERT (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) ON " + name + ".WORKER_NODE TO 'service'@'%'")
	db.MustExec("GRANT SELECT (biz_tag, max_id, step), UPDATE (max_id) ON " + name + ".leaf_alloc TO 'service'@'%'")
	db.MustExec("GRANT SELECT ON " + name + ".leaf_alloc TO 'nobody'@'%'")
	examine(t, server.DSN("service", "", name)).expect(t, "ok privileges: *`WORKER_NODE`", "info worker IDs: the account may not read", "ok end: the time bits of 1-28-22-13", "ok privileges: *`leaf_alloc`", "info slots: the account may not read")
	examine(t, server.DSN("nobody", "", name)).expect(t, "fault privileges: `WORKER_NODE`*denied", "info privileges: `leaf_alloc`*denied")
	examine(t, server.DSN("nobody", "", name)+"?assign=recycled").expect(t, "fault privileges: `WORKER_POOL`*denied")
	examine(t, server.DSN("none", "wrong", name)).expect(t, "fault reachable: *Access denied")

	// Settings, a read-only server, and a restart.
	db.MustExec("TRUNCATE WORKER_NODE")
	db.MustExec("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
	examine(t, admin).expect(t, "fault durability: innodb_flush_log_at_trx_commit is 2")
	db.MustExec("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	db.MustExec("SET GLOBAL read_only = 1")
	db.MustExec("GRANT INSERT, SELECT ON " + name + ".* TO 'service'@'%'")
	examine(t, server.DSN("service", "", name)).expect(t, "fault writable: the server is read-only", "fault writable: `WORKER_NODE`*read-only", "fault writable: `leaf_alloc`*read-only")
	server.Stop()
	server.Restart()
	examine(t, admin+"?assign=recycled").expect(t, "warning history: the server was restarted or replaced")
}

// MySQL 5.6 has an older grammar, and other settings.
func TestMySQL56(t *testing.T) {
	testkit.Full(t, "MariaDB and this server have almost the same grammar")
	t.Parallel()
	server := mariadbtest.StartMySQL56(t)
	name, db := server.Database()
	admin := server.DSN("root", "", name)
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	db.MustExec("INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES ('', '', 3, NOW())")
	examine(t, admin).expect(t, "info version: 5.6", "ok durability", "ok clock", "ok privileges: *`WORKER_NODE`", "ok worker IDs: 1 of 4194303", "ok privileges: *`leaf_alloc`", "info tags: `leaf_alloc` has 0 tags")
	hold(t, admin+"?assign=recycled&name=sixth")
	examine(t, admin+"?assign=recycled").expect(t, "ok privileges: *`WORKER_POOL`", "ok privileges: *`WORKER_SLOT`", "info history", "info held: worker ID 0 by sixth", "ok clock",
		`info tag: "orders": the next number is 7`)
	db.MustExec("CREATE USER 'nobody'@'%'")
	db.MustExec("GRANT SELECT ON " + name + ".leaf_alloc TO 'nobody'@'%'")
	examine(t, server.DSN("nobody", "", name)).expect(t, "fault privileges: `WORKER_NODE`*denied", "info privileges: `leaf_alloc`*denied")
	db.MustExec("SET GLOBAL read_only = 1")
	db.MustExec("GRANT INSERT, SELECT, UPDATE ON " + name + ".* TO 'nobody'@'%'")
	examine(t, server.DSN("nobody", "", name)).expect(t, "fault writable: the server is read-only", "fault writable: `WORKER_NODE`*read-only", "fault writable: `leaf_alloc`*read-only")
}

// A cluster of Galera, and a node of it that has lost the other one.
func TestGalera(t *testing.T) {
	testkit.Full(t, "a cluster takes much time to start")
	t.Parallel()
	c := mariadbtest.StartGalera(t, 2)
	name, db := c.Database(ringuid.MySQLSchema())
	admin := c.Node(0).DSN("root", "", name)
	hold(t, admin)
	examine(t, admin).expect(t, "ok durability", "ok cluster: the node is in the primary component of a Galera cluster with 2 nodes; it assigns every 2-th", "ok privileges: *`WORKER_NODE`", "ok worker IDs")
	db.MustExec("DELETE FROM leaf_alloc")
	hold(t, admin+"?assign=recycled&name=seventh")
	for i := range c.Size() {
		examine(t, c.Node(i).DSN("root", "", name)+"?assign=recycled").expect(t, "ok cluster", "ok privileges: *`WORKER_SLOT`", "info held: worker ID 0 by seventh", "ok clock")
	}
	c.Node(1).Kill()
	var found findings
	testkit.Eventually(t, "the node knows that it is not in the primary component", func() bool {
		found = examine(t, admin)
		return strings.Contains(strings.Join(found, "\n"), "fault cluster: the node is not in the primary component")
	})
	found.expect(t, "fault cluster")
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	name, db := server.Database()
	admin := server.DSN("postgres", "", name)
	examine(t, admin).expect(t, `fault tables: there is no table "worker_node"`)
	testserver.RunScript(t, db, ringuid.PostgreSQLSchema())
	hold(t, admin)
	db.MustExec("DELETE FROM leaf_alloc")
	hold(t, admin+"&assign=recycled")
	examine(t, admin).expect(t, "info version: PostgreSQL", "ok durability: fsync", "info failover", "ok clock", `ok privileges: *"worker_node"`,
		"ok worker IDs: 1 of 4194303", `info tag: "orders": the next number is 7`)
	examine(t, admin+"&assign=recycled").expect(t, `ok privileges: *"worker_pool"`, `ok privileges: *"worker_slot"`, "info slots: 1 slots from worker ID 0: 1 held")
	db.MustExec("UPDATE worker_node SET created = now() - interval '10 days'")
	db.MustExec("INSERT INTO worker_node (id, host_name, port, type, launch_date, modified, created) OVERRIDING SYSTEM VALUE VALUES (4000001, '', '', 3, now(), now(), now())")
	examine(t, admin).expect(t, "warning worker IDs: 4000001 of 4194303 *at about 400000 per day")
	examine(t, admin+"&table=WORKER_NODE").expect(t, "warning worker IDs: 4000001 of 4194303") // as services read the name
	for _, table := range []string{"worker_node", "worker_slot", "leaf_alloc"} {
		db.MustExec("ALTER TABLE " + table + " SET UNLOGGED")
		examine(t, admin).expect(t, `fault durability: "`+table+`" is not a logged table`, "warning worker IDs")
		db.MustExec("ALTER TABLE " + table + " SET LOGGED")
	}
	db.MustExec("ALTER TABLE worker_node ALTER id SET CYCLE")
	examine(t, admin).expect(t, `fault durability: the sequence of "worker_node" has CYCLE`, "warning worker IDs")
	db.MustExec("ALTER TABLE worker_node ALTER id SET NO CYCLE")
	db.MustExec("CREATE ROLE service LOGIN") // with the privileges of schema.postgres.sql
	db.MustExec("GRANT SELECT (id), INSERT (host_name, port, type, launch_date, modified, created) ON worker_node TO service")
	examine(t, server.DSN("service", "", name)).expect(t, `ok privileges: *"worker_node"`, "warning worker IDs: 4000001 of 4194303")
	db.MustExec("DELETE FROM worker_node")
	db.MustExec("CREATE ROLE nobody LOGIN")
	examine(t, server.DSN("nobody", "", name)).expect(t, `fault privileges: "worker_node"*denied`, "info tags: the account may not read")
	db.MustExec("ALTER DATABASE " + name + " SET synchronous_commit = off")
	db.MustExec("ALTER DATABASE " + name + " SET default_transaction_read_only = on")
	examine(t, admin).expect(t, "warning durability: synchronous_commit is off", "fault writable: transactions are read-only", `fault writable: "worker_node"*read-only`, `fault writable: "leaf_alloc"*read-only`)
}

func TestRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url := "redis://" + server.Address()
	examine(t, url).expect(t, "ok reachable", "info version: Redis", "ok durability", "ok clock", "ok privileges", "info pool: there is no pool", "info tags: there are 0 tags")
	hold(t, url+"?name=third")
	examine(t, url).expect(t, "info held: worker ID 0 by third", "info history", `info tag: "orders": the next number is 7`, "info tags: there are 1 tags")
	for n := range 10 {
		if err := open(t, url).Source().CreateTag(t.Context(), fmt.Sprint("tag", n), segment.TagConfig{Start: 100}); err != nil {
			t.Fatal(err)
		}
	}
	if f := examine(t, url); strings.Contains(strings.Join(f, "\n"), `"orders"`) {
		t.Errorf("%q has more than ten tags", f)
	} else {
		f.expect(t, "info tags: there are 11 tags; these 10 have the greatest counters", `info tag: "tag9": the next number is 100`)
	}
	// The user of the store's documentation.
	rights := redistest.DocumentedRights(t, "../../../../stores/redisstore/doc.go")
	server.MustCommand(append([]string{"ACL", "SETUSER", "service", "on", ">secret"}, rights...)...)
	examine(t, "redis://service:secret@"+server.Address()).expect(t, "ok reachable", "ok durability: *may not read", "ok clock", "ok privileges", "info held: worker ID 0 by third")
	server.MustCommand("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	examine(t, url).expect(t, "fault durability: maxmemory-policy is allkeys-lru", "fault pool")
	server.MustCommand("CONFIG", "SET", "maxmemory-policy", "noeviction")
	server.MustCommand("CONFIG", "SET", "appendfsync", "no")
	examine(t, url).expect(t, "warning durability: appendfsync is no")
	server.MustCommand("CONFIG", "SET", "appendfsync", "everysec")
	examine(t, url).expect(t, "ok durability: the append-only file is on, and appendfsync is everysec")
	server.MustCommand("CONFIG", "SET", "appendonly", "no")
	examine(t, url).expect(t, "warning durability: the append-only file is off")
	server.MustCommand("ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@all", "-hdel")
	examine(t, "redis://reader:x@"+server.Address()).expect(t, "fault privileges", "warning durability")
	server.MustCommand("REPLICAOF", "127.0.0.1", "1")
	examine(t, url).expect(t, "fault writable: the server is a slave")
}

// Replicas and the settings that concern them are examined.
func TestRedisReplicas(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := primary.Replica()
	url := "redis://" + primary.Address()
	hold(t, url)
	noFailover := "warning failover: min-replicas-to-write is 0 and min-replicas-max-lag is 10"
	examine(t, url).expect(t, "ok replicas: of 2 servers, 1 replicas must have each write, and 1 are attached", "info replicas: with two servers",
		noFailover, "info failover: repl-backlog-ttl is 3600")
	examine(t, url+"?replicas=0").expect(t, noFailover, "warning replicas: replicas=0", "ok replicas: *0 replicas must have")
	primary.MustCommand("CONFIG", "SET", "min-replicas-to-write", "1")
	examine(t, url).expect(t, "ok failover: min-replicas-to-write is 1 and min-replicas-max-lag is 10")
	examine(t, url+"?fencing=10s").expect(t, "warning failover: min-replicas-max-lag is 10, and F is 10s")
	primary.MustCommand("CONFIG", "SET", "min-replicas-to-write", "0")
	primary.MustCommand("CONFIG", "SET", "appendonly", "no")
	examine(t, url).expect(t, noFailover, "warning durability: the append-only file is off", "warning durability: the primary has replicas, and no append-only file")
	primary.MustCommand("CONFIG", "SET", "appendonly", "yes")
	replica.Stop()
	testkit.Retry(t, "the primary notices that the replica has ended", func() error {
		if n := primary.Info("connected_slaves"); n != "0" {
			return fmt.Errorf("%s replicas are connected", n)
		}
		return nil
	})
	for field, want := range map[string]string{
		"2": "of 2 servers, 1 replicas must have each write, and 0 are attached: nothing is granted", "5 3": "of 5 servers, 3 replicas",
		"five": `the field servers of ringuid:{default}:slots is "five"`,
	} {
		primary.MustCommand("HSET", "ringuid:{default}:slots", "servers", field)
		found := examine(t, url)
		if field == "five" {
			found.expect(t, "fault replicas: "+want)
			continue
		}
		ttl := map[string]string{"2": "*0 prevents that", "5 3": "*set 1, so that"}[field]
		found.expect(t, noFailover, "fault replicas: "+want, "info failover: repl-backlog-ttl is 3600"+ttl)
	}
}

// Replicas that share an address count as one.
func TestRedisReplicasWithOneAddress(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t, "--min-replicas-to-write", "1")
	for range 2 {
		primary.Replica("--replica-announce-ip", "10.0.0.1", "--replica-announce-port", "6379")
	}
	testkit.Eventually(t, "the primary has two replicas", func() bool { return strings.Count(primary.MustCommand("INFO", "replication"), ",state=online,") == 2 })
	examine(t, "redis://"+primary.Address()).expect(t, "warning replicas: 2 replicas are attached with 1 addresses", "ok replicas: of 2 servers")
}

// The node of a Redis Cluster that has the pool is examined.
func TestRedisCluster(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--cluster-enabled", "yes")
	url := "redis-cluster://" + server.Address()
	server.MustCommand("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	testkit.Eventually(t, "the cluster is ready", func() bool { return strings.Contains(server.MustCommand("CLUSTER", "INFO"), "cluster_state:ok") })
	hold(t, url+"?name=eighth")
	examine(t, url).expect(t, "info version: Redis *the node of the pool \"default\" is ", "ok durability", "ok clock", "ok privileges", "info held: worker ID 0 by eighth", `info tag: "orders": the next number is 7`)
	server.MustCommand("HSET", "ringuid:{default}:slots", "servers", "3")
	few := "fault replicas: of 3 servers"
	examine(t, url).expect(t, few, "warning failover: min-replicas-to-write", "warning failover: cluster-allow-replica-migration is yes")
	server.MustCommand("CONFIG", "SET", "cluster-allow-replica-migration", "no")
	examine(t, url).expect(t, few, "warning failover: min-replicas-to-write", "ok failover: cluster-allow-replica-migration is no")
}

// With Sentinel, the primary is examined that it names, and not the Sentinel.
func TestRedisSentinel(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	url := "redis-sentinel://" + redistest.StartSentinel(t, "orders-db", primary) + "/orders-db"
	hold(t, url+"?name=ninth")
	examine(t, url).expect(t, "ok durability", "ok clock", "ok privileges", "info held: worker ID 0 by ninth")
	examine(t, strings.Replace(url, "orders-db", "other", 1)).expect(t, "fault reachable")
}

func TestEtcd(t *testing.T) {
	t.Parallel()
	url := "etcd://" + etcdtest.Start(t).Endpoint()
	single := "warning members: the cluster has 1"
	examine(t, url).expect(t, "ok reachable", "info version: etcd", single, "ok privileges", "info pool: there is no pool", "info tags: there are 0 tags")
	if s := open(t, url); true { // doctor has written nothing
		r, err := s.Clients().Etcd.Get(context.Background(), s.EtcdPrefix(), clientv3.WithPrefix())
		if err != nil || r.Count != 0 {
			t.Fatalf("%v, %v", r, err)
		}
	}
	hold(t, url+"?name=fourth")
	examine(t, url).expect(t, single, "ok history", "info clock: the store has no clock", "info held: worker ID 0 by fourth", `info tag: "orders": the next number is 7`)
}

func TestZooKeeper(t *testing.T) {
	t.Parallel()
	url := "zookeeper://" + zookeepertest.Start(t).Address()
	examine(t, url).expect(t, "ok reachable", "info members: connected", "info pool: there is no pool")
	if ok, _, err := open(t, url).Clients().ZooKeeper.Exists("/ringuid"); ok || err != nil {
		t.Fatalf("doctor has created /ringuid: %v, %v", ok, err)
	}
	if err := open(t, url).Source().CreateTag(context.Background(), "early", segment.TagConfig{Start: 3}); err != nil {
		t.Fatal(err)
	}
	examine(t, url).expect(t, "info pool: there is no pool", `info tag: "early": the next number is 3`)
	hold(t, url+"?name=fifth")
	examine(t, url).expect(t, "ok history", "ok clock", "info held: worker ID 0 by fifth", `info tag: "orders": the next number is 7`)
	examine(t, url, uid.WithTwitterLayout()).expect(t, "fault format")
}

// The clock is compared with the bound of the URL, as generators do.
func TestClockBound(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.UseClock()
	url := "redis://" + server.Address()
	hold(t, url)
	server.SetClock(30 * time.Minute) // round trips add to what is allowed, and take seconds on a busy machine
	examine(t, url).expect(t, "fault clock: *allow 5s")
	examine(t, url+"?clock-bound=1h").expect(t, "warning clock: *allow 1h0m0s")
	examine(t, url+"?clock-bound=3h").expect(t, "ok clock")
}

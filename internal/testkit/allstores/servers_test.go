//go:build unix

package allstores

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/internal/testkit/zookeepertest"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/etcdstore"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/stores/storetest"
	"github.com/ringuid/ringuid/stores/zookeeperstore"
	"github.com/ringuid/ringuid/workerassign/assigntest"
)

func TestMain(m *testing.M) { testkit.RunParallel(m, 3) }

// A kind is one of the stores.
type kind struct {
	isCluster bool // of several servers, which replace each other

	// start starts a server, with a proxy before it. address returns where the store of a name is.
	start func(*testing.T) (h storetest.Harness, address addressFunc)
	// open returns another client, also in another process.
	open func(tb testing.TB, address string) storetest.Store
}

type addressFunc func(tb testing.TB, name string) string

var kinds = map[string]kind{
	"file": {false, startFiles, openFile}, "MariaDB": {false, startMariaDB, openMariaDB}, "PostgreSQL": {false, startPostgreSQL, openPostgreSQL},
	"Redis": {false, startRedis, openRedis}, "etcd": {false, startEtcd, openEtcd}, "ZooKeeper": {false, startZooKeeper, openZooKeeper},
	"etcd of three": {true, startEtcdCluster, openEtcd}, "Galera": {true, startGalera, openGalera},
	"Redis Sentinel": {true, startSentinel, openSentinel}, "Redis Cluster": {true, startRedisCluster, openRedisCluster},
}

// onEach runs a test on each kind of store, on clusters only if withClusters is set. The address that it passes on is for openAddress.
func onEach(t *testing.T, withClusters bool, test func(t *testing.T, h storetest.Harness, address addressFunc)) {
	for name, k := range kinds {
		if k.isCluster && !withClusters {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, address := k.start(t)
			h.New = func(tb testing.TB, name string) storetest.Store { return k.open(tb, address(tb, name)) }
			test(t, h, func(tb testing.TB, store string) string { return name + ": " + address(tb, store) })
		})
	}
}

// openAddress returns another client of the store at an address of onEach.
func openAddress(tb testing.TB, address string) storetest.Store {
	name, address, _ := strings.Cut(address, ": ")
	return kinds[name].open(tb, address)
}

// A server can be killed and paused.
type server interface {
	Address() string
	Kill()
	Restart()
	Pause()
	Resume()
	StepClock(d time.Duration)
}

// harness returns a harness of a server behind a proxy. A failover may replace the server.
func harness[S server](s *S, p *testserver.Proxy) storetest.Harness {
	kill, start := func(testing.TB) { (*s).Kill() }, func(testing.TB) { (*s).Restart() }
	pause, resume := func(testing.TB) { (*s).Pause() }, func(testing.TB) { (*s).Resume() }
	return storetest.Harness{
		Slots: assigntest.Faults{Kill: kill, Start: start, Pause: pause, Resume: resume, LoseRequests: p.LoseRequests, LoseReplies: p.LoseReplies,
			StepClock: func(_ testing.TB, d time.Duration) { (*s).StepClock(d) }},
		Tags: segmenttest.Harness{Faults: segmenttest.Faults{Kill: kill, Start: start, Pause: pause, Resume: resume, LoseReplies: p.LoseReplies}},
	}
}

func openFile(_ testing.TB, path string) storetest.Store { return filestore.New(path) }

// startFiles is for stores in files. They have no server: who holds the locks stops them.
func startFiles(t *testing.T) (storetest.Harness, addressFunc) {
	directory := t.TempDir()
	var names []string // of the files of the store that was opened last
	var locks []*lockedfile.File
	pause := func(tb testing.TB) {
		for _, name := range names {
			lock, err := lockedfile.Open(context.Background(), name, lockedfile.Waiting{MaxPause: time.Millisecond})
			if err != nil {
				tb.Fatal(err)
			}
			locks = append(locks, lock)
		}
	}
	resume := func(testing.TB) {
		for _, lock := range locks {
			lock.Close()
		}
		locks = nil
	}
	h := storetest.Harness{
		Slots: assigntest.Faults{Pause: pause, Resume: resume},
		Tags:  segmenttest.Harness{Faults: segmenttest.Faults{Pause: pause, Resume: resume}},
	}
	return h, func(_ testing.TB, name string) string {
		path := filepath.Join(directory, name)
		names = []string{path, path + filestore.TagsSuffix}
		return path
	}
}

func openMariaDB(tb testing.TB, dsn string) storetest.Store {
	return sqlstore.New(mariadbtest.Open(tb, dsn))
}

func startMariaDB(t *testing.T) (storetest.Harness, addressFunc) {
	s, id := mariadbtest.Start(t, append(mariadbtest.PrimaryFlags(), "--log-slave-updates")...), 1
	s.UseClock()
	p := testserver.NewProxy(t, s.Address())
	p.OneReply = true
	h := harness(&s, p)
	h.Slots.Start = func(testing.TB) {
		s.Restart()
		s.Admin().MustExec("SET GLOBAL read_only = 0") // it may be a replica that was promoted
	}
	h.Tags.Start = h.Slots.Start
	h.Slots.LoseWrites = func(_ testing.TB, write func()) {
		id++
		replica := s.Replica("--server-id=" + strconv.Itoa(id))
		replica.UseClockOf(s.Process)
		replica.WaitApplied(s)
		replica.Admin().MustExec("STOP SLAVE")
		write()
		s.Kill()
		replica.Admin().MustExec("SET GLOBAL read_only = 0")
		s = replica
		p.SetTarget(s.Address())
	}
	return h, func(tb testing.TB, name string) string {
		mariadbtest.Open(tb, s.DSN("root", "", "")).MustExec("CREATE DATABASE IF NOT EXISTS " + name)
		dsn := s.DSN("root", "", name)
		testserver.RunScript(tb, mariadbtest.Open(tb, dsn), ringuid.MySQLSchema())
		return strings.Replace(dsn, s.Address(), p.Address(), 1)
	}
}

func openPostgreSQL(tb testing.TB, dsn string) storetest.Store {
	return sqlstore.New(postgrestest.Open(tb, dsn))
}

func startPostgreSQL(t *testing.T) (storetest.Harness, addressFunc) {
	s := postgrestest.Start(t)
	s.UseClock()
	p := testserver.NewProxy(t, s.Address())
	p.OneReply = true
	h := harness(&s, p)
	h.Slots.LoseWrites = func(_ testing.TB, write func()) {
		standby := s.Standby()
		standby.UseClockOf(s.Process)
		standby.WaitReceived(s)
		standby.Disconnect()
		write()
		s.Kill()
		standby.Promote()
		s = standby
		p.SetTarget(s.Address())
	}
	return h, func(tb testing.TB, name string) string {
		dsn := s.DSN("postgres", "", "postgres") + "&search_path=" + name
		admin := postgrestest.Open(tb, dsn)
		admin.MustExec("CREATE SCHEMA IF NOT EXISTS " + name)
		testserver.RunScript(tb, admin, ringuid.PostgreSQLSchema())
		return strings.Replace(dsn, s.Address(), p.Address(), 1)
	}
}

// at returns addresses of a server that has stores by their names.
func at(p *testserver.Proxy) addressFunc {
	return func(_ testing.TB, name string) string { return p.Address() + " " + name }
}

func openRedis(tb testing.TB, address string) storetest.Store {
	address, name, _ := strings.Cut(address, " ")
	c := goredis.NewClient(&goredis.Options{Addr: address, MaxRetryBackoff: 50 * time.Millisecond})
	tb.Cleanup(func() { c.Close() })
	return redisstore.New(c, redisstore.WithPool(name))
}

func startRedis(t *testing.T) (storetest.Harness, addressFunc) {
	s := redistest.Start(t, "--appendfsync", "always").Replicate()
	p := testserver.NewProxy(t, s.Address())
	h := harness(&s, p)
	h.Slots.DelayWrites = p.DelayRequests
	h.Slots.LoseWrites = func(_ testing.TB, write func()) {
		s.LoseWrites(write)
		p.SetTarget(s.Address())
	}
	h.Tags.LoseWrites = h.Slots.LoseWrites
	last := "" // the name of the store that was opened last
	return h, func(tb testing.TB, name string) string {
		if name != last { // as an operator can; otherwise the first writes need both replicas
			s.MustCommand("HSET", "ringuid:{"+name+"}:slots", "servers", "3")
		}
		last = name
		return at(p)(tb, name)
	}
}

func openEtcd(tb testing.TB, address string) storetest.Store {
	address, name, _ := strings.Cut(address, " ")
	c, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(address, ","), DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return etcdstore.New(c, etcdstore.WithPrefix("tests/"+name+"/"))
}

func startEtcd(t *testing.T) (storetest.Harness, addressFunc) {
	s := etcdtest.Start(t)
	p := testserver.NewProxy(t, s.Address())
	h := harness(&s, p)
	h.Slots.StepClock = nil // etcd uses no clock
	return h, at(p)
}

// quiet logs nothing.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

func openZooKeeper(tb testing.TB, address string) storetest.Store {
	address, name, _ := strings.Cut(address, " ")
	c, _, err := zk.Connect([]string{address}, 4*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return zookeeperstore.New(c, zookeeperstore.WithPath("/tests/"+name))
}

func startZooKeeper(t *testing.T) (storetest.Harness, addressFunc) {
	s := zookeepertest.Start(t)
	s.UseClock()
	p := testserver.NewProxy(t, s.Address())
	h := harness(&s, p)
	return h, at(p)
}

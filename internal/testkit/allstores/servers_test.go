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

// An openFunc returns another client of the store of a name, through a proxy if the store has a server.
type openFunc func(tb testing.TB, name string) storetest.Store

// onEach runs a test on each store.
func onEach(t *testing.T, test func(t *testing.T, h storetest.Harness)) {
	for name, start := range map[string]func(*testing.T) storetest.Harness{
		"file": newFiles, "MariaDB": newMariaDB, "PostgreSQL": newPostgreSQL, "Redis": newRedis, "etcd": newEtcd, "ZooKeeper": newZooKeeper,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t))
		})
	}
}

// A server can be killed and paused.
type server interface {
	Address() string
	Kill()
	Restart()
	Pause()
	Resume()
}

// harness returns a harness of a server behind a proxy. A failover may replace the server.
func harness[S server](s *S, p *testserver.Proxy, open openFunc) storetest.Harness {
	kill, start := func(testing.TB) { (*s).Kill() }, func(testing.TB) { (*s).Restart() }
	pause, resume := func(testing.TB) { (*s).Pause() }, func(testing.TB) { (*s).Resume() }
	return storetest.Harness{
		New:   open,
		Slots: assigntest.Faults{Kill: kill, Start: start, Pause: pause, Resume: resume, LoseRequests: p.LoseRequests, LoseReplies: p.LoseReplies},
		Tags:  segmenttest.Harness{Faults: segmenttest.Faults{Kill: kill, Start: start, Pause: pause, Resume: resume, LoseReplies: p.LoseReplies}},
	}
}

// newFiles returns stores in files. They have no server: who holds the locks stops them.
func newFiles(t *testing.T) storetest.Harness {
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
	return storetest.Harness{
		New: func(_ testing.TB, name string) storetest.Store {
			path := filepath.Join(directory, name)
			names = []string{path, path + filestore.TagsSuffix}
			return filestore.New(path)
		},
		Slots: assigntest.Faults{Pause: pause, Resume: resume},
		Tags:  segmenttest.Harness{Faults: segmenttest.Faults{Pause: pause, Resume: resume}},
	}
}

func newMariaDB(t *testing.T) storetest.Harness {
	s, id := mariadbtest.Start(t, append(mariadbtest.PrimaryFlags(), "--log-slave-updates")...), 1
	p := testserver.NewProxy(t, s.Address())
	p.OneReply = true
	h := harness(&s, p, func(tb testing.TB, name string) storetest.Store {
		mariadbtest.Open(tb, s.DSN("root", "", "")).MustExec("CREATE DATABASE IF NOT EXISTS " + name)
		dsn := s.DSN("root", "", name)
		testserver.RunScript(tb, mariadbtest.Open(tb, dsn), ringuid.MySQLSchema())
		return sqlstore.New(mariadbtest.Open(tb, strings.Replace(dsn, s.Address(), p.Address(), 1)))
	})
	h.Slots.Start = func(testing.TB) {
		s.Restart()
		s.Admin().MustExec("SET GLOBAL read_only = 0") // it may be a replica that was promoted
	}
	h.Tags.Start = h.Slots.Start
	h.Slots.LoseWrites = func(_ testing.TB, write func()) {
		id++
		replica := s.Replica("--server-id=" + strconv.Itoa(id))
		replica.WaitApplied(s)
		replica.Admin().MustExec("STOP SLAVE")
		write()
		s.Kill()
		replica.Admin().MustExec("SET GLOBAL read_only = 0")
		s = replica
		p.SetTarget(s.Address())
	}
	return h
}

func newPostgreSQL(t *testing.T) storetest.Harness {
	s := postgrestest.Start(t)
	p := testserver.NewProxy(t, s.Address())
	p.OneReply = true
	h := harness(&s, p, func(tb testing.TB, name string) storetest.Store {
		dsn := s.DSN("postgres", "", "postgres") + "&search_path=" + name
		admin := postgrestest.Open(tb, dsn)
		admin.MustExec("CREATE SCHEMA IF NOT EXISTS " + name)
		testserver.RunScript(tb, admin, ringuid.PostgreSQLSchema())
		return sqlstore.New(postgrestest.Open(tb, strings.Replace(dsn, s.Address(), p.Address(), 1)))
	})
	h.Slots.LoseWrites = func(_ testing.TB, write func()) {
		standby := s.Standby()
		standby.Disconnect()
		write()
		s.Kill()
		standby.Promote()
		s = standby
		p.SetTarget(s.Address())
	}
	return h
}

func newRedis(t *testing.T) storetest.Harness {
	s := redistest.StartWithClock(t, "--appendfsync", "always")
	p := testserver.NewProxy(t, s.Address())
	h := harness(&s, p, func(tb testing.TB, name string) storetest.Store {
		c := goredis.NewClient(&goredis.Options{Addr: p.Address(), MaxRetryBackoff: 50 * time.Millisecond})
		tb.Cleanup(func() { c.Close() })
		return redisstore.New(c, redisstore.WithPool(name))
	})
	h.Slots.StepClock = func(_ testing.TB, d time.Duration) { s.SetClock(d) }
	return h
}

func newEtcd(t *testing.T) storetest.Harness {
	s := etcdtest.Start(t)
	p := testserver.NewProxy(t, s.Address())
	return harness(&s, p, func(tb testing.TB, name string) storetest.Store {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{p.Address()}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { c.Close() })
		return etcdstore.New(c, etcdstore.WithPrefix("tests/"+name+"/"))
	})
}

// quiet logs nothing.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

func newZooKeeper(t *testing.T) storetest.Harness {
	s := zookeepertest.StartWithClock(t)
	p := testserver.NewProxy(t, s.Address())
	h := harness(&s, p, func(tb testing.TB, name string) storetest.Store {
		c, _, err := zk.Connect([]string{p.Address()}, 4*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(c.Close)
		return zookeeperstore.New(c, zookeeperstore.WithPath("/tests/"+name))
	})
	h.Slots.StepClock = func(_ testing.TB, d time.Duration) { s.SetClock(d) }
	return h
}

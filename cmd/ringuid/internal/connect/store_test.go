package connect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/cli"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
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

// use takes a UID and a number of a segment from a store, which Open has opened by a text.
func use(t *testing.T, s *connect.Store, text string) {
	t.Helper()
	ctx := t.Context()
	if err := s.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	g, err := uid.NewDefault(ctx, s.Assigner())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if id, err := g.NextContext(ctx); err != nil || id <= 0 {
		t.Fatalf("%v, %v", id, err)
	}
	// The command creates a tag in each kind of store, once, and raises its counter.
	tag := func(args ...string) (status int, output string) {
		var b bytes.Buffer
		status = cli.Run(ctx, append(append([]string{"tag"}, args...), "--tag-store", text), strings.NewReader(""), &b, &b, func(string) (string, bool) { return "", false }, nil)
		return status, b.String()
	}
	create := []string{"create", "orders", "--start", "7", "--step", "50", "--description", "numbers of orders"}
	if status, output := tag(create...); status != 0 || output != fmt.Sprintf("The tag \"orders\" was created in %s: its first number is 7.\n", s) {
		t.Fatalf("ringuid tag create: %d, %q", status, output)
	}
	q, err := segment.New(ctx, s.Source(), "orders", segment.WithMaxWait(time.Minute), segment.WithTryTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if n, err := q.Next(); err != nil || n != 7 {
		t.Fatalf("%d, %v", n, err)
	}
	if status, output := tag(create...); status != 1 || !strings.Contains(output, "the tag exists already") || strings.Contains(output, "password@") {
		t.Errorf("ringuid tag create again: %d, %q", status, output)
	}
	if n, err := q.Next(); err != nil || n != 8 {
		t.Errorf("after another try to create the tag: %d, %v", n, err)
	}
	q.Close()                         // so that it takes nothing any more
	const far = 3*segment.MaxStep + 7 // several ranges
	for _, raise := range []struct{ number, before, after int64 }{{1, 0, 0}, {far, 0, far}, {far, far, far + 1}, {far - 1, far + 1, far + 2}, {1, far + 2, far + 2}, {far + 3, far + 2, far + 3}} {
		status, output := tag("raise", "orders", fmt.Sprint(raise.number))
		want := fmt.Sprintf("The counter of the tag \"orders\" in %s was raised from %d to %d.\n", s, raise.before, raise.after)
		switch {
		case raise.before == 0: // q has taken a few ranges
			want = output
		case raise.before == raise.after:
			want = fmt.Sprintf("The counter of the tag \"orders\" in %s is %d; nothing was changed.\n", s, raise.after)
		}
		if status != 0 || output != want || strings.Contains(output, "raised") != (raise.before != raise.after) {
			t.Errorf("ringuid tag raise to %d: %d, %q; want %q", raise.number, status, output, want)
		}
	}
	if r, err := s.Source().Take(ctx, segment.Request{Tag: "orders", Size: 1}); err != nil || r.First != far+3 {
		t.Errorf("after the counter was raised to %d: %+v, %v", int64(far+3), r, err)
	}
	if status, output := tag("raise", "invoices", "5"); status != 1 || !strings.Contains(output, segment.ErrNoTag.Error()) {
		t.Errorf("ringuid tag raise without the tag: %d, %q", status, output)
	}
}

// Both kinds of worker IDs work in files, and the file of tags is another one.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	for _, text := range []string{path + "1", "file:" + path + "2?assign=recycled"} {
		s, err := connect.Open(context.Background(), text, connect.Options{})
		if err != nil {
			t.Fatal(err)
		}
		use(t, s, text)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Ping of a file whose directory does not exist, and of servers that do not exist, is an error. Nothing waits for a server
// before Ping.
func TestPing(t *testing.T) {
	for _, text := range []string{
		filepath.Join(t.TempDir(), "none", "worker"),
		"mysql://u:secret@127.0.0.1:1/db", "postgres://u:secret@127.0.0.1:1/db", "redis://u:secret@127.0.0.1:1",
		"zookeeper://127.0.0.1:1", "etcd://127.0.0.1:1",
	} {
		s, err := connect.Open(context.Background(), text, connect.Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err = s.Ping(ctx)
		cancel()
		if err == nil {
			t.Errorf("%s answers", text)
		}
		t.Log(err)
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Each kind of server has worker IDs and tags.
func TestServers(t *testing.T) {
	// check uses the store of a URL, and those of the URL with other parameters.
	check := func(t *testing.T, texts ...string) {
		t.Helper()
		for _, text := range texts {
			s, err := connect.Open(context.Background(), text, connect.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if s.Options().Assign == connect.Recycled {
				if err := s.CreatePool(context.Background()); err != nil {
					t.Error(err)
				}
			}
			use(t, s, text)
			if state, err := s.Recycled().State(context.Background()); err != nil || state.Pool.Slots == 0 && s.Options().Assign == connect.Recycled {
				t.Errorf("%s: %+v, %v", s, state.Pool, err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: %v", s, err)
			}
		}
	}
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		server := mariadbtest.Start(t)
		name, db := server.Database()
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		check(t, server.DSN("root", "", name))
		db.MustExec("DELETE FROM leaf_alloc")
		db.MustExec("CREATE USER 'a:b'@'%' IDENTIFIED BY 'c@d/e'")
		db.MustExec("GRANT ALL ON " + name + ".* TO 'a:b'@'%'")
		check(t, "mysql://a%3Ab:c%40d%2Fe@"+server.Address()+"/"+name+"?assign=recycled&timeout=5s")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := postgrestest.Start(t)
		name, db := server.Database()
		testserver.RunScript(t, db, ringuid.PostgreSQLSchema())
		dsn := server.DSN("postgres", "", name)
		check(t, dsn)
		db.MustExec("DELETE FROM leaf_alloc")
		check(t, dsn+"&assign=recycled")
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		check(t, "redis://"+server.Address()+"", "redis://"+server.Address()+"/0?pool=other")
		server.MustCommand("CONFIG", "SET", "requirepass", "pass%word")
		check(t, "redis://:pass%25word@"+server.Address()+"?pool=third")
	})
	t.Run("redis-cluster", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, "--cluster-enabled", "yes")
		server.MustCommand("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
		testkit.Eventually(t, "the cluster is ready", func() bool { return strings.Contains(server.MustCommand("CLUSTER", "INFO"), "cluster_state:ok") })
		check(t, "redis-cluster://"+server.Address()+"", "redis-cluster://"+server.Address()+","+server.Address()+"/0?pool=other&read_timeout=1m")
	})
	t.Run("redis-sentinel", func(t *testing.T) {
		t.Parallel()
		primary := redistest.Start(t)
		sentinel := redistest.StartSentinel(t, "ids", primary)
		check(t, "redis-sentinel://"+sentinel+"/ids", "redis-sentinel://127.0.0.1:1,"+sentinel+"/ids/1")
	})
	t.Run("etcd", func(t *testing.T) {
		t.Parallel()
		endpoint := etcdtest.Start(t).Endpoint()
		check(t, "etcd://"+endpoint, "etcd://"+endpoint+","+endpoint+"/other/ids")
	})
	t.Run("zookeeper", func(t *testing.T) {
		t.Parallel()
		address := zookeepertest.Start(t).Address()
		check(t, "zookeeper://"+address, "zk://"+address+","+address+"/other/ids", "zk://user:password@"+address+"/private")
	})
}

// Errors and log records of databases name the server as the URL does, without the password.
func TestServerName(t *testing.T) {
	for url, want := range map[string]string{
		"mysql://user:secret@db/ids":                             "db:3306",
		"user:secret@tcp(db:3307)/ids":                           "db:3307",
		"postgres://user:secret@db/ids":                          "db",
		"postgres://user:secret@db1:5432,db2:5433/ids":           "db1:5432,db2:5433",
		"mysql://user:secret@db:3306/ids?table=n&tag-table=tags": "db:3306",
	} {
		s, err := connect.Open(t.Context(), url, connect.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, name := range []string{s.Source().String(), s.Slots().String()} {
			if !strings.HasSuffix(name, " at "+want) || strings.Contains(name, "secret") {
				t.Errorf("%s: the name is %q, want it to end with %q", url, name, want)
			}
		}
	}
}

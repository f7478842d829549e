package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// waitForCluster waits until the server's state of its cluster has the lines.
func waitForCluster(t *testing.T, server *redistest.Server, lines ...string) {
	t.Helper()
	testkit.Retry(t, "the cluster works", func() error {
		info := server.MustCommand("CLUSTER", "INFO")
		for _, line := range lines {
			if !strings.Contains(info, line) {
				return errors.New(info)
			}
		}
		return nil
	})
}

// The store works on Redis Cluster: both keys of a pool are in one slot of it. While the cluster is down, the
// error is temporary.
func TestCluster(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--cluster-enabled", "yes")
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{server.Address()}, MaxRedirects: 1, ReadTimeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	s := redisstore.New(c, redisstore.WithPool("orders"))
	wantError(t, redisstore.New(connect(t, server.Address())), false, "CLUSTERDOWN")
	wantTagError(t, redisstore.New(connect(t, server.Address())), "CLUSTERDOWN")
	server.MustCommand("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	waitForCluster(t, server, "cluster_state:ok")
	c.ReloadState(t.Context())
	state := createPool(t, s, 20)
	slottest.WantWritten(t, s, true, slottest.Swap(state, nil, recycled.Slot{WorkerID: 3, Revision: 2, Holder: recycled.Holder{Name: "n"}}))
	if got := ids(slottest.Read(t, s, recycled.Query{Name: "n"}).Slots); len(got) != 1 || got[0] != 3 {
		t.Errorf("the slots of the name are %v", got)
	}
	createTag(t, s, "x", segment.TagConfig{Step: 10})
	wantTake(t, s, segment.Request{Tag: "x"}, segment.Range{First: 1, Length: 10, Step: 10})
	// The user of the documentation.
	server.MustCommand(append([]string{"ACL", "SETUSER", "service", "on", ">secret", "+cluster|slots", "+asking"}, redistest.DocumentedRights(t, "doc.go")...)...)
	restricted := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{server.Address()}, Username: "service", Password: "secret", ReadTimeout: time.Minute})
	t.Cleanup(func() { restricted.Close() })
	slottest.Read(t, redisstore.New(restricted, redisstore.WithPool("orders")), recycled.Query{Free: 1})
	wantTake(t, redisstore.New(restricted, redisstore.WithPool("orders")), segment.Request{Tag: "x"}, segment.Range{First: 11, Length: 10, Step: 10})
	if text := s.String(); !strings.Contains(text, server.Address()) || !strings.Contains(text, `"orders"`) {
		t.Errorf("the store is %q", text)
	}
}

// A range is taken once also where the tags move to another node of the cluster: the redirections MOVED and ASK are
// followed, also without a host, which is then that of the node that sends them. The other node has another history, so the gap is
// added once.
func TestTagClusterMove(t *testing.T) {
	t.Parallel()
	a, b := redistest.Start(t, "--cluster-enabled", "yes"), redistest.Start(t, "--cluster-enabled", "yes")
	host, port, _ := strings.Cut(b.Address(), ":")
	a.MustCommand("CLUSTER", "MEET", host, port)
	a.MustCommand("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	for _, server := range []*redistest.Server{a, b} {
		waitForCluster(t, server, "cluster_state:ok", "cluster_known_nodes:2")
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, ":") {
			return nil, fmt.Errorf("the address %s has no host", address)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{a.Address()}, Dialer: dial, ReadTimeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	s := redisstore.New(c)
	began := time.Now()
	createTag(t, s, "x", segment.TagConfig{Step: 10})
	wantTake(t, s, segment.Request{Tag: "x"}, segment.Range{First: 1, Length: 10, Step: 10})
	key := tagsKey(redisstore.DefaultPool)
	slot := a.MustCommand("CLUSTER", "KEYSLOT", key)
	idA, idB := a.MustCommand("CLUSTER", "MYID"), b.MustCommand("CLUSTER", "MYID")
	b.MustCommand("CLUSTER", "SETSLOT", slot, "IMPORTING", idA)
	a.MustCommand("CLUSTER", "SETSLOT", slot, "MIGRATING", idB)
	a.MustCommand("MIGRATE", host, port, "", "0", "5000", "KEYS", key, hashKey(redisstore.DefaultPool))
	a.MustCommand("CONFIG", "SET", "cluster-preferred-endpoint-type", "unknown-endpoint")
	first := wantGap(t, began, s, segment.Request{Tag: "x"}, 11, 1_000_000) // by ASK
	a.MustCommand("CONFIG", "SET", "cluster-preferred-endpoint-type", "ip") // otherwise the client cannot read the cluster's state
	b.MustCommand("CLUSTER", "SETSLOT", slot, "NODE", idB)
	a.MustCommand("CLUSTER", "SETSLOT", slot, "NODE", idB)
	wantTake(t, s, segment.Request{Tag: "x"}, segment.Range{First: first, Length: 10, Step: 10}) // by MOVED
	wantTake(t, s, segment.Request{Tag: "x"}, segment.Range{First: first + 10, Length: 10, Step: 10})
}

// The address in MOVED and ASK.
func TestRedirected(t *testing.T) {
	for detail, want := range map[string]string{
		"3999 127.0.0.1:6381": "127.0.0.1:6381", "3999 node-1:6381": "node-1:6381", "3999 :6381": "10.0.0.1:6381", "3999 ?:6381": "10.0.0.1:6381", "3999 ::1:6381": "[::1]:6381",
	} {
		if got := redisstore.Redirected(detail, "10.0.0.1:6379"); got != want {
			t.Errorf("MOVED %s leads to %s, want %s", detail, got, want)
		}
	}
}

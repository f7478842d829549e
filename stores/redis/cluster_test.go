package redis_test

import (
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/stores/redis"
	"github.com/ringuid/ringuid/workerassign"
)

// The store works on Redis Cluster: both keys of a pool are in one slot of it. While the cluster is down, the
// error is temporary.
func TestCluster(t *testing.T) {
	server := redistest.Start(t, "--cluster-enabled", "yes")
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{server.Address()}, MaxRedirects: 1})
	t.Cleanup(func() { c.Close() })
	s := redis.New(c, redis.WithPool("orders"))
	wantError(t, redis.New(connect(t, server.Address())), false, "CLUSTERDOWN")
	server.MustCommand("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(server.MustCommand("CLUSTER", "INFO"), "cluster_state:ok"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(server.MustCommand("CLUSTER", "INFO"))
		}
	}
	c.ReloadState(t.Context())
	state := createPool(t, s, 20)
	write(t, s, workerassign.SlotWrite{History: state.History, Slots: []workerassign.Slot{{WorkerID: 3, Revision: 2, Holder: workerassign.Holder{Name: "n"}}}}, true)
	if got := ids(read(t, s, workerassign.SlotQuery{Name: "n"}).Slots); len(got) != 1 || got[0] != 3 {
		t.Errorf("the slots of the name are %v", got)
	}
	// The user of the documentation.
	server.MustCommand(append([]string{"ACL", "SETUSER", "service", "on", ">secret", "+cluster|slots"}, documentedRights()...)...)
	restricted := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{server.Address()}, Username: "service", Password: "secret"})
	t.Cleanup(func() { restricted.Close() })
	read(t, redis.New(restricted, redis.WithPool("orders")), workerassign.SlotQuery{Free: 1})
	if text := s.String(); !strings.Contains(text, server.Address()) || !strings.Contains(text, `"orders"`) {
		t.Errorf("the store is %q", text)
	}
}

package zookeeperstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Processes that are the first ones of a fleet, at the same time, create one history: another one would give the pool a
// floor.
func TestConcurrentFirstReads(t *testing.T) {
	t.Parallel()
	servers := servers(t)
	var conns []*zk.Conn
	for range 10 {
		c := dial(t, servers...)
		c.Exists("/") // waits for the session
		conns = append(conns, c)
	}
	for round := range 10 {
		path := fmt.Sprintf("/test-first-%d-%d", time.Now().UnixNano(), round)
		var mu sync.Mutex
		histories := map[string]int{}
		var wg sync.WaitGroup
		for _, c := range conns {
			wg.Go(func() {
				state, err := New(c, WithPath(path)).Read(t.Context(), recycled.Query{})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				histories[state.History]++
			})
		}
		wg.Wait()
		if len(histories) != 1 {
			t.Errorf("round %d: the histories are %v; want one", round, histories)
		}
	}
}

// The indexes may be deleted as a whole.
func TestDeletedIndexes(t *testing.T) {
	t.Parallel()
	conn := dial(t, servers(t)...)
	s := New(conn, WithPath(fmt.Sprintf("/test-deleted-%d", time.Now().UnixNano())))
	lease := fleettest.Lease(t, s)
	for part := range int64(freeParts) {
		if err := conn.Delete(s.freePath(part), -1); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{"/free", "/names"} {
		if err := conn.Delete(s.root+p, -1); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := lease.Release(ctx, time.Time{}); err != nil {
		t.Errorf("Release without indexes: %v", err)
	}
	if err := conn.Delete(s.root+"/names", -1); err != nil {
		t.Fatal(err)
	}
	if l := fleettest.Lease(t, s, recycled.WithName("a")); l.WorkerID() != lease.WorkerID() {
		t.Errorf("worker ID %d was leased; want %d, which was released", l.WorkerID(), lease.WorkerID())
	}
}

// A path with characters that ZooKeeper does not permit is an invalid option, and not a server that is down.
func TestPathCharacters(t *testing.T) {
	t.Parallel()
	conn := dial(t, servers(t)...)
	for _, p := range []string{"/a\x00b", "/a\x01b", "/a\u0085", "/\xff"} {
		_, err := New(conn, WithPath(p)).Read(t.Context(), recycled.Query{})
		if !errors.Is(err, workerassign.ErrOption) {
			t.Errorf("with the path %q: %v; want ErrOption", p, err)
		}
	}
	slottest.Read(t, New(conn, WithPath(fmt.Sprintf("/ü %d", time.Now().UnixNano()))), recycled.Query{})
}

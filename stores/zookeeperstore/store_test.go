package zookeeperstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/zookeepertest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A backup is restored. ZooKeeper does not show it. NewHistory ends all leases, refuses writes that were
// prepared before, and no lease begins before the end of all grants.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	server := zookeepertest.Start(t)
	store := New(dial(t, server.Address()))
	lease := fleettest.Lease(t, store)
	if _, err := lease.Reserve(t.Context(), time.Now().Add(100*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	backup := server.Backup()
	store = New(dial(t, server.Address()))
	s := slottest.Read(t, store, recycled.Query{All: true})
	slot := s.Slots[0]
	slot.Revision++
	granted := s.Now.Add(fleettest.Horizon)
	slot.Until = granted
	prepared := slottest.Swap(s, nil, slot)
	if ok, err := store.Write(t.Context(), prepared); !ok || err != nil {
		t.Fatal(ok, err)
	}
	server.Restore(backup)

	operator := New(dial(t, server.Address()))
	restored := slottest.Read(t, operator, recycled.Query{All: true})
	if restored.History != s.History || restored.Slots[0].Revision != slot.Revision-1 {
		t.Fatalf("the backup has the history %q and the revision %d; the test does not bite", restored.History, restored.Slots[0].Revision)
	}
	if err := operator.NewHistory(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ok, err := operator.Write(t.Context(), prepared); ok || err != nil {
		t.Errorf("a write that was prepared before returned %v, %v; want false", ok, err)
	}
	for range 3 {
		if l := fleettest.Lease(t, New(dial(t, server.Address()))); l.NotBefore().Before(granted) {
			t.Errorf("a lease begins at %v, and UIDs were granted until %v before", l.NotBefore(), granted)
		}
	}
	// The process of the lease has seen a later transaction: the server may refuse it.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if granted, err := lease.Reserve(ctx, time.Now().Add(time.Hour)); err == nil {
		t.Errorf("Reserve of a lease that was taken before granted until %v", granted.Until)
	}
}

// An index that is wrong costs time or a new slot, and neither a wrong result nor a failed write.
func TestWrongIndex(t *testing.T) {
	t.Parallel()
	conn := dial(t, servers(t)...)
	s := New(conn, WithPath(fmt.Sprintf("/test-index-%d", time.Now().UnixNano())))
	fleettest.WrongIndex(t, s, func(held, released int64) {
		for _, p := range []string{s.freeSlotPath(held), s.freeSlotPath(99), s.freePath(3) + "/what", child(s.namePath("a"), released), child(s.namePath("a"), 99)} {
			if _, err := conn.Create(p, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				t.Fatal(err)
			}
		}
	}, func(released int64) {
		for _, p := range []string{s.freeSlotPath(released), child(s.namePath("b"), released), s.namePath("b")} {
			if err := conn.Delete(p, -1); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Znodes that are missing are created again, except records.
func TestMissingZnodes(t *testing.T) {
	t.Parallel()
	conn := dial(t, servers(t)...)
	s := New(conn, WithPath(fmt.Sprintf("/test-missing-%d/a/b", time.Now().UnixNano())))
	before := slottest.Read(t, s, recycled.Query{})
	if err := conn.Delete(s.clockPath(), -1); err != nil {
		t.Fatal(err)
	}
	if after := slottest.Read(t, s, recycled.Query{}); after.History != before.History {
		t.Errorf("without a clock the history is %q; was %q", after.History, before.History)
	}
	if err := conn.Delete(s.historyPath()+"/"+before.History, -1); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Write(t.Context(), recycled.Write{History: before.History, Pool: &recycled.Pool{Revision: 1}}); ok || err != nil {
		t.Errorf("a write without a history returned %v, %v; want false", ok, err)
	}
	after := slottest.Read(t, s, recycled.Query{})
	if after.History == before.History || after.History == "" {
		t.Errorf("the history is %q after it was deleted; was %q", after.History, before.History)
	}
	// Somebody has created another one.
	if _, err := conn.Create(s.historyPath()+"/another", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if h := slottest.Read(t, New(conn, WithPath(s.root)), recycled.Query{}).History; h == after.History || h == "another" {
		t.Errorf("of two histories, %q was chosen; want a new one", h)
	}
	if err := s.NewHistory(t.Context()); err != nil {
		t.Error(err)
	}
}

// A record that cannot be read is a permanent error, and so is one of another worker ID.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	conn := dial(t, servers(t)...)
	s := New(conn, WithPath(fmt.Sprintf("/test-damaged-%d", time.Now().UnixNano())))
	l := fleettest.Lease(t, s)
	for _, text := range []string{"", "{", `{"workerID":5,"revision":1}`} {
		if _, err := conn.Set(s.slotPath(l.WorkerID()), []byte(text), -1); err != nil {
			t.Fatal(err)
		}
		_, err := s.Read(t.Context(), recycled.Query{WorkerIDs: []int64{l.WorkerID()}})
		if !errors.Is(err, recycled.ErrPool) || !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), s.slotPath(l.WorkerID())) {
			t.Errorf("Read of a slot %q: %v", text, err)
		}
	}
}

// An account without permissions is a permanent error.
func TestPermissions(t *testing.T) {
	t.Parallel()
	servers := servers(t)
	path := fmt.Sprintf("/test-permissions-%d", time.Now().UnixNano())
	conn := dial(t, servers...)
	if err := conn.AddAuth("digest", []byte("service:secret")); err != nil {
		t.Fatal(err)
	}
	s := New(conn, WithPath(path), WithACL(zk.DigestACL(zk.PermRead|zk.PermWrite|zk.PermCreate|zk.PermDelete, "service", "secret")...))
	fleettest.Lease(t, s)
	_, err := New(dial(t, servers...), WithPath(path)).Read(t.Context(), recycled.Query{})
	if !errors.Is(err, workerassign.ErrPermanent) || !errors.Is(err, zk.ErrNoAuth) || !strings.Contains(err.Error(), path) {
		t.Errorf("Read without permissions: %v", err)
	}
}

// Invalid options are permanent errors of all methods.
func TestOptions(t *testing.T) {
	for want, s := range map[string]*Store{
		"connection is nil": New(nil),
		"option is nil":     New(new(zk.Conn), nil),
		`path is ""`:        New(new(zk.Conn), WithPath("")),
		`path is "/"`:       New(new(zk.Conn), WithPath("/")),
		`path is "a/b"`:     New(new(zk.Conn), WithPath("a/b")),
		`path is "/a/"`:     New(new(zk.Conn), WithPath("/a/")),
		"ACL is empty":      New(new(zk.Conn), WithACL()),
	} {
		_, err := s.Read(t.Context(), recycled.Query{})
		_, err2 := s.Write(t.Context(), recycled.Write{})
		for _, err := range []error{err, err2, s.NewHistory(t.Context())} {
			if !errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want ErrOption with %q", err, want)
			}
		}
	}
}

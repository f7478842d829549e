package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// An index that is wrong costs time or a new slot, and neither a wrong result nor a failed write.
func TestWrongIndex(t *testing.T) {
	t.Parallel()
	client := dial(t, etcdtest.Endpoints(t)...)
	s := New(client, WithPrefix(fmt.Sprintf("test-index-%d/", time.Now().UnixNano())))
	fleettest.WrongIndex(t, s, func(held, released int64) {
		for _, key := range []string{s.freeKey(held), s.freeKey(99), s.freeKeys() + "8/what", s.nameKey("a", released), s.nameKey("a", 99)} {
			if _, err := client.Put(t.Context(), key, "x"); err != nil {
				t.Fatal(err)
			}
		}
	}, func(int64) {
		for _, prefix := range []string{s.freeKeys(), s.prefix + "names/"} {
			if _, err := client.Delete(t.Context(), prefix, clientv3.WithPrefix()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The indexes have no key for slots that are held, so that a Reserve writes one key. Keys of names that no slot
// has any more are deleted.
func TestKeys(t *testing.T) {
	t.Parallel()
	client := dial(t, etcdtest.Endpoints(t)...)
	s := New(client, WithPrefix(fmt.Sprintf("test-keys-%d/", time.Now().UnixNano())))
	count := func(want int64) {
		t.Helper()
		resp, err := client.Get(t.Context(), s.prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil || resp.Count != want {
			t.Errorf("there are %d keys, %v; want %d", resp.Count, err, want)
		}
	}
	revision := func() int64 {
		t.Helper()
		resp, err := client.Get(t.Context(), s.poolKey())
		if err != nil {
			t.Fatal(err)
		}
		return resp.Header.Revision
	}
	l := fleettest.Lease(t, s, recycled.WithName("a/b"))
	count(4) // history, pool, slot, name
	for range 3 {
		before := revision()
		if _, err := l.Reserve(t.Context(), time.Now().Add(50*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if after := revision(); after != before+1 {
			t.Errorf("Reserve made %d writes; want 1", after-before)
		}
		count(4)
		time.Sleep(100 * time.Millisecond)
	}
	if err := l.Release(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	count(5)                           // and free
	time.Sleep(100 * time.Millisecond) // until its until lies behind
	if again := fleettest.Lease(t, s, recycled.WithName("c")); again.WorkerID() != l.WorkerID() {
		t.Errorf("worker ID %d was leased; want %d", again.WorkerID(), l.WorkerID())
	}
	count(4)
}

// The client sends a write again if an interceptor or a proxy answers in the server's place. If the first try was made, the second one
// meets its records: the result is an error, and the lease goes on.
func TestWriteThatTheClientSendsTwice(t *testing.T) {
	t.Parallel()
	client, lose := losingReplies(t, codes.DeadlineExceeded)
	s := New(client, newPrefix())
	l := fleettest.Lease(t, s)
	lose.Store(true)
	_, err := l.Reserve(t.Context(), time.Now().Add(50*time.Millisecond))
	if lose.Load() || errors.Is(err, workerassign.ErrVoid) || errors.Is(err, workerassign.ErrLeaseLost) {
		t.Errorf("Reserve whose write was sent twice: %v", err)
	}
	if _, err := l.Reserve(t.Context(), time.Now().Add(100*time.Millisecond)); err != nil {
		t.Errorf("Reserve after that: %v", err)
	}
	state := slottest.Read(t, s, recycled.Query{All: true})
	slot := state.Slots[0]
	slot.Revision++
	slot.Token = "another"
	lose.Store(true)
	if ok, err := s.Write(t.Context(), slottest.Swap(state, nil, slot)); ok || err == nil || errors.Is(err, workerassign.ErrPermanent) {
		t.Errorf("a write that was sent twice returned %v, %v; want an error", ok, err)
	}
	if after := slottest.Read(t, s, recycled.Query{All: true}).Slots[0]; after.Token != slot.Token {
		t.Errorf("the slot is %+v; the test does not bite", after)
	}
	// Two processes that add a slot at the same time write the same pool. The slower one has lost a race, no more.
	state = slottest.Read(t, s, recycled.Query{All: true})
	pool := state.Pool
	pool.Revision++
	pool.Slots++
	for i, want := range []bool{true, false} {
		slot := recycled.Slot{WorkerID: state.Pool.First + state.Pool.Slots, Revision: 1, Token: fmt.Sprint("token ", i), From: state.Now, Until: state.Now, History: state.History}
		if ok, err := s.Write(t.Context(), slottest.Swap(state, &pool, slot)); ok != want || err != nil {
			t.Errorf("the write of process %d returned %v, %v", i, ok, err)
		}
	}
}

// A history that was deleted is replaced by a new one, which ends the leases.
func TestMissingHistory(t *testing.T) {
	t.Parallel()
	client := dial(t, etcdtest.Endpoints(t)...)
	s := New(client, WithPrefix(fmt.Sprintf("test-history-%d/", time.Now().UnixNano())))
	l := fleettest.Lease(t, s)
	before := slottest.Read(t, s, recycled.Query{}).History
	if _, err := client.Delete(t.Context(), s.historyKey()); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Write(t.Context(), recycled.Write{History: before}); ok || err != nil {
		t.Errorf("a write without a history returned %v, %v; want false", ok, err)
	}
	if _, err := l.Reserve(t.Context(), time.Now()); !errors.Is(err, workerassign.ErrLeaseLost) {
		t.Errorf("Reserve after the history was deleted: %v; want ErrLeaseLost", err)
	}
	if after := slottest.Read(t, s, recycled.Query{}).History; after == before || after == "" {
		t.Errorf("the history is %q after it was deleted; was %q", after, before)
	}
}

// A record that cannot be read is a permanent error, and so is one of another worker ID.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	client := dial(t, etcdtest.Endpoints(t)...)
	s := New(client, WithPrefix(fmt.Sprintf("test-damaged-%d/", time.Now().UnixNano())))
	l := fleettest.Lease(t, s)
	for _, text := range []string{"", "{", `{"workerID":5,"revision":1}`} {
		if _, err := client.Put(t.Context(), s.slotKey(l.WorkerID()), text); err != nil {
			t.Fatal(err)
		}
		_, err := s.Read(t.Context(), recycled.Query{WorkerIDs: []int64{l.WorkerID()}})
		if !errors.Is(err, recycled.ErrPool) || !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), s.slotKey(l.WorkerID())) {
			t.Errorf("Read of a slot %q: %v", text, err)
		}
	}
}

// A user without permissions is a permanent error; the permission on the prefix is enough.
func TestPermissions(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	root := dial(t, server.Endpoint())
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(root.UserAdd(ctx, "root", "secret"))
	must(root.UserGrantRole(ctx, "root", "root"))
	must(root.RoleAdd(ctx, "service"))
	must(root.RoleGrantPermission(ctx, "service", "ids/", clientv3.GetPrefixRangeEnd("ids/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	must(root.UserAdd(ctx, "service", "secret"))
	must(root.UserGrantRole(ctx, "service", "service"))
	must(root.AuthEnable(ctx))
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, Username: "service", Password: "secret", Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s := New(client, WithPrefix("ids/"))
	l := fleettest.Lease(t, s)
	if err := l.Release(ctx, time.Now()); err != nil {
		t.Error(err)
	}
	slottest.Read(t, s, recycled.Query{WorkerIDs: []int64{0}, Name: "a", Free: 16})
	slottest.Read(t, s, recycled.Query{All: true})
	for _, s := range []*Store{New(client), New(root, WithPrefix("ids/"))} { // another prefix, no user
		_, err := s.Read(ctx, recycled.Query{})
		if !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), s.prefix) {
			t.Errorf("Read without permissions: %v", err)
		}
	}
}

// A client that was closed is a permanent error; one that reaches no server is not.
func TestClosedClient(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	client := dial(t, server.Endpoint())
	s := New(client)
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.Read(ctx, recycled.Query{}); err == nil || errors.Is(err, workerassign.ErrPermanent) {
		t.Errorf("Read without a server: %v; want a temporary error", err)
	}
	client.Close()
	if _, err := s.Read(t.Context(), recycled.Query{}); !errors.Is(err, workerassign.ErrPermanent) {
		t.Errorf("Read with a closed client: %v; want ErrPermanent", err)
	}
}

// Invalid options are permanent errors of all methods.
func TestOptions(t *testing.T) {
	client := new(clientv3.Client)
	for want, s := range map[string]*Store{
		"client is nil":    New(nil),
		"option is nil":    New(client, nil),
		`prefix is ""`:     New(client, WithPrefix("")),
		`prefix is "/"`:    New(client, WithPrefix("/")),
		`prefix is "name"`: New(client, WithPrefix("name")),
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

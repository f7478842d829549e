package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// wantError makes one call of Read and one of Write, and checks their errors.
func wantError(t *testing.T, s *redisstore.Store, permanent bool, want string) {
	t.Helper()
	_, err := s.Read(context.Background(), recycled.Query{Free: 1})
	_, err2 := s.Write(context.Background(), slottest.Swap(recycled.State{History: "a/b/c"}, nil, recycled.Slot{Revision: 1}))
	for n, err := range []error{err, err2} {
		if err == nil || errors.Is(err, workerassign.ErrPermanent) != permanent || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("call %d: the error is %v; want %q, with the address, permanent: %t", n, err, want, permanent)
		}
	}
}

// An eviction policy over all keys is refused by Read, and so by everything. It is checked each time.
func TestEvictionPolicy(t *testing.T) {
	server := redistest.Start(t)
	s := redisstore.New(connect(t, server.Address()))
	slottest.Read(t, s, recycled.Query{})
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random"} {
		server.MustCommand("CONFIG", "SET", "maxmemory-policy", policy)
		_, err := s.Read(context.Background(), recycled.Query{})
		if !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), "maxmemory-policy is "+policy) || !strings.Contains(err.Error(), "noeviction") {
			t.Errorf("with %s Read() = %v", policy, err)
		}
		_, err = recycled.New(s).Assign(context.Background(), fleettest.Request())
		if !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), policy) {
			t.Errorf("with %s Assign() = %v", policy, err)
		}
	}
	server.MustCommand("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
	slottest.Read(t, s, recycled.Query{})
}

// A replica, whose data may be old, is neither read nor written.
func TestReplica(t *testing.T) {
	primary := redistest.Start(t)
	createPool(t, redisstore.New(connect(t, primary.Address())), 1)
	replica := primary.Replica()
	wantError(t, redisstore.New(connect(t, replica.Address())), false, "READONLY")
	replica.Disconnect()
	replica.MustCommand("CONFIG", "SET", "replica-serve-stale-data", "no")
	wantError(t, redisstore.New(connect(t, replica.Address())), false, "MASTERDOWN")
}

// The user of the documentation can do everything. Errors about permissions are permanent, and say what to do.
func TestPermissions(t *testing.T) {
	server := redistest.Start(t)
	client := func(user, password string) *goredis.Client {
		c := goredis.NewClient(&goredis.Options{Addr: server.Address(), Username: user, Password: password, ReadTimeout: time.Minute})
		t.Cleanup(func() { c.Close() })
		return c
	}
	rights := redistest.DocumentedRights(t, "doc.go")
	user := func(name string, rights ...string) {
		server.MustCommand(append([]string{"ACL", "SETUSER", name, "on", ">secret"}, rights...)...)
	}
	user("service", rights...)
	s := redisstore.New(client("service", "secret"))
	createPool(t, s, 100)
	server.MustCommand("DEL", "ringuid:{default}:free")
	slottest.Read(t, s, recycled.Query{Free: 2, Name: "x", WorkerIDs: []int64{1}})
	for revision, name := range []string{"a", ""} { // the second one deletes the field of the name
		state := slottest.Read(t, s, recycled.Query{WorkerIDs: []int64{5}})
		slottest.WantWritten(t, s, true, slottest.Swap(state, nil, recycled.Slot{WorkerID: 5, Revision: int64(revision + 2), Holder: recycled.Holder{Name: name}}))
	}
	slottest.Read(t, s, recycled.Query{All: true})

	user("more", append(rights, "+select", "+client|setname")...)
	other := goredis.NewClient(&goredis.Options{Addr: server.Address(), Username: "more", Password: "secret", DB: 1, ClientName: "orders", ReadTimeout: time.Minute})
	t.Cleanup(func() { other.Close() })
	slottest.Read(t, redisstore.New(other), recycled.Query{Free: 1})
	user("weak", "~ringuid:*", "+evalsha", "+eval")
	wantError(t, redisstore.New(client("weak", "secret")), true, "ACL SETUSER")
	user("keyless", append([]string{"~other:*"}, rights[1:]...)...)
	wantError(t, redisstore.New(client("keyless", "secret")), true, "ACL SETUSER")
	user("powerless", "~ringuid:*", "+ping")
	wantError(t, redisstore.New(client("powerless", "secret")), true, "ACL SETUSER")
	wantError(t, redisstore.New(client("service", "wrong")), true, "set user and password")
	server.MustCommand("ACL", "SETUSER", "default", "off")
	wantError(t, redisstore.New(connect(t, server.Address())), true, "set user and password")
}

// Other errors of a server.
func TestServerErrors(t *testing.T) {
	server := redistest.Start(t)
	c := connect(t, server.Address())
	s := redisstore.New(c)
	w := slottest.Swap(createPool(t, s, 1), nil, recycled.Slot{Revision: 2})

	server.MustCommand("CONFIG", "SET", "min-replicas-to-write", "1")
	slottest.Read(t, s, recycled.Query{})
	if _, err := s.Write(context.Background(), w); errors.Is(err, workerassign.ErrPermanent) || err == nil || !strings.Contains(err.Error(), "too few replicas") {
		t.Errorf("with too few replicas Write() = %v", err)
	}
	server.MustCommand("CONFIG", "SET", "min-replicas-to-write", "0")
	server.MustCommand("CONFIG", "SET", "maxmemory", "1")
	if _, err := s.Write(context.Background(), w); errors.Is(err, workerassign.ErrPermanent) || err == nil || !strings.Contains(err.Error(), "maxmemory") {
		t.Errorf("without memory Write() = %v", err)
	}
	server.MustCommand("CONFIG", "SET", "maxmemory", "0")
	if after := slottest.Read(t, s, recycled.Query{WorkerIDs: []int64{0}}); after.Slots[0].Revision != 1 {
		t.Errorf("a write that failed has changed the slot: %+v", after.Slots[0])
	}
	slottest.WantWritten(t, s, true, w)

	server.MustCommand("HSET", "ringuid:{default}:slots", "slot:0", `{"revision":1`)
	_, err := s.Read(context.Background(), recycled.Query{WorkerIDs: []int64{0}})
	if !errors.Is(err, recycled.ErrPool) || !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), "worker ID 0") {
		t.Errorf("with a damaged record Read() = %v", err)
	}
	server.MustCommand("DEL", "ringuid:{default}:slots")
	server.MustCommand("SET", "ringuid:{default}:slots", "x")
	if _, err := s.Read(context.Background(), recycled.Query{}); !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), "another program uses a key") {
		t.Errorf("with a key of another type Read() = %v", err)
	}
	if _, err := s.Write(context.Background(), w); !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), "another program uses a key") {
		t.Errorf("with a key of another type Write() = %v", err)
	}
	c.Close()
	wantError(t, s, true, "closed")
}

// Errors after which the last try gives up, and another one may not: a client of one server that is part of a cluster is told what
// to use instead, and a script may ask for another number of replicas each time.
func TestGivenUp(t *testing.T) {
	s := redisstore.New(goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1"}))
	for text, advice := range map[string]string{"MOVED 3999 127.0.0.1:6381": "NewClusterClient", "REPLICAS 2": "too few replicas"} {
		if err := redisstore.ErrorOf(s, text); errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), advice) {
			t.Errorf("%v; want %q, and another try", err, advice)
		}
	}
}

// Redis 5 and 6 return the error of a command of a script in that of the script.
func TestErrorsInScripts(t *testing.T) {
	s := redisstore.New(goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1"}))
	for _, tt := range []struct {
		text      string
		permanent bool
		advice    string
	}{
		{"@user_script: 93: -NOREPLICAS Not enough good replicas to write.", false, "min-replicas-to-write"},
		{"@user_script: 93: -OOM command not allowed when used memory > 'maxmemory'.", false, "maxmemory"},
		{"@user_script: 93: -MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist on disk.", false, "disk"},
		{"@user_script: 93: -READONLY You can't write against a read only replica.", false, "replica"},
		{"WRONGTYPE Operation against a key holding the wrong kind of value", true, "another program uses a key"},
		{"@user_script: 93: The user executing the script can't run this command or subcommand", true, "ACL SETUSER"},
		{"attempt to index a nil value", true, "correct the cause"},
	} {
		text := "ERR Error running script (call to f_4ca6ddbbe5e5f5e8dbe0bbbb60b2c1b8f1c3d2a7): @user_script:93: " + tt.text
		err := redisstore.ErrorOf(s, text)
		if errors.Is(err, workerassign.ErrPermanent) != tt.permanent || !strings.Contains(err.Error(), tt.advice) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v; want %q, permanent: %t", err, tt.advice, tt.permanent)
		}
	}
}

// A call ends with its context, although the server does not answer and the client would wait for it. Another call works when it
// does.
func TestContext(t *testing.T) {
	server := redistest.Start(t)
	c := goredis.NewClient(&goredis.Options{Addr: server.Address(), DialTimeout: time.Hour, ReadTimeout: time.Hour, WriteTimeout: time.Hour})
	t.Cleanup(func() { c.Close() })
	s := redisstore.New(c)
	state := createPool(t, s, 1)
	server.Pause()
	timed, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	ended, end := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, end)
	for _, ctx := range []context.Context{timed, ended, ended} {
		if _, err := s.Read(ctx, recycled.Query{}); ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
			t.Errorf("Read() = %v", err)
		}
		if _, err := s.Write(ctx, recycled.Write{History: state.History}); !errors.Is(err, ctx.Err()) {
			t.Errorf("Write() = %v", err)
		}
	}
	server.Resume()
	slottest.Read(t, s, recycled.Query{})
}

// Nobody listens, or the host does not answer: temporary errors with the address.
func TestUnreachable(t *testing.T) {
	wantError(t, redisstore.New(connect(t, "127.0.0.1:1")), false, "check the address")
}

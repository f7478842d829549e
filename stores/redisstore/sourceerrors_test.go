package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redisstore"
)

// wantTagError makes one call of Take and one of CreateTag, and checks their errors.
func wantTagError(t *testing.T, s *redisstore.Store, want string) {
	t.Helper()
	_, err := s.Take(t.Context(), segment.Request{Tag: "x"})
	for n, err := range []error{err, s.CreateTag(t.Context(), "y", segment.TagConfig{})} {
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("call %d: the error is %v; want %q, with the address", n, err, want)
		}
	}
}

// An eviction policy over all keys, a replica, and a server that cannot write are refused, and nothing is changed.
func TestTagServerErrors(t *testing.T) {
	server := redistest.Start(t)
	c := connect(t, server.Address())
	s := redisstore.New(c)
	createTag(t, s, "x", segment.TagConfig{Step: 10})
	before := tagFields(t, c, redisstore.DefaultPool)
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random"} {
		server.MustCommand("CONFIG", "SET", "maxmemory-policy", policy)
		wantTagError(t, s, "maxmemory-policy is "+policy)
	}
	server.MustCommand("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
	server.MustCommand("CONFIG", "SET", "min-replicas-to-write", "1")
	wantTagError(t, s, "too few replicas")
	server.MustCommand("CONFIG", "SET", "min-replicas-to-write", "0")
	server.MustCommand("CONFIG", "SET", "maxmemory", "1")
	wantTagError(t, s, "maxmemory")
	server.MustCommand("CONFIG", "SET", "maxmemory", "0")
	if after := tagFields(t, c, redisstore.DefaultPool); after != before {
		t.Errorf("calls that failed have changed %s to %s", before, after)
	}
	wantTake(t, s, segment.Request{Tag: "x"}, segment.Range{First: 1, Length: 10, Step: 10})

	replica := server.Replica()
	wantTagError(t, redisstore.New(connect(t, replica.Address())), "READONLY")
	// It does not answer from its data, which may be old.
	for _, r := range []segment.Request{{Tag: "unknown"}, {Tag: "x", AtLeast: 1 << 62}} {
		if _, err := redisstore.New(connect(t, replica.Address())).Take(t.Context(), r); err == nil || !strings.Contains(err.Error(), "READONLY") {
			t.Errorf("Take(%+v) on a replica = %v, want READONLY", r, err)
		}
	}
	replica.Disconnect()
	replica.MustCommand("CONFIG", "SET", "replica-serve-stale-data", "no")
	wantTagError(t, redisstore.New(connect(t, replica.Address())), "MASTERDOWN")

	closed := connect(t, server.Address())
	closed.Close()
	wantTagError(t, redisstore.New(closed), "closed")
}

// The user of the documentation can take ranges and create tags, also after a change of the history. Other users
// are told what they lack.
func TestTagPermissions(t *testing.T) {
	server := redistest.Start(t)
	user := func(name string, rights ...string) *redisstore.Store {
		server.MustCommand(append([]string{"ACL", "SETUSER", name, "on", ">secret"}, rights...)...)
		c := goredis.NewClient(&goredis.Options{Addr: server.Address(), Username: name, Password: "secret", ReadTimeout: time.Minute})
		t.Cleanup(func() { c.Close() })
		return redisstore.New(c)
	}
	s := user("service", redistest.DocumentedRights(t, "doc.go")...)
	began := time.Now()
	createTag(t, s, "x", segment.TagConfig{Step: 10})
	take(t, s, segment.Request{Tag: "x"})
	server.MustCommand("HSET", "ringuid:{default}:tags", "history", "another")
	wantGap(t, began, s, segment.Request{Tag: "x"}, 11, 1_000_000)
	wantTagError(t, user("weak", "~ringuid:*", "+evalsha", "+eval"), "ACL SETUSER")
	wantTagError(t, user("keyless", append([]string{"~other:*"}, redistest.DocumentedRights(t, "doc.go")[1:]...)...), "ACL SETUSER")
	wantTagError(t, user("powerless", "~ringuid:*", "+ping"), "ACL SETUSER")
	before := server.MustCommand("HGETALL", "ringuid:{default}:tags")
	reader := user("reader", append(redistest.DocumentedRights(t, "doc.go"), "-hincrby", "-hset")...)
	wantTagError(t, reader, "ACL SETUSER")
	if after := server.MustCommand("HGETALL", "ringuid:{default}:tags"); after != before {
		t.Errorf("calls that failed have changed %s to %s", before, after)
	}
}

// A call ends with its context, although the server does not answer. Another call works when it does.
func TestTagContext(t *testing.T) {
	server := redistest.Start(t)
	s := redisstore.New(connect(t, server.Address()))
	createTag(t, s, "x", segment.TagConfig{})
	server.Pause()
	timed, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	ended, end := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, end)
	for _, ctx := range []context.Context{timed, ended, ended} {
		_, err := s.Take(ctx, segment.Request{Tag: "x"})
		for _, err := range []error{err, s.CreateTag(ctx, "y", segment.TagConfig{})} {
			if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
				t.Errorf("the error is %v, want %v", err, ctx.Err())
			}
		}
	}
	server.Resume()
	take(t, s, segment.Request{Tag: "x"})
}

// The server forgets scripts at a restart, and by SCRIPT FLUSH.
func TestTagForgottenScripts(t *testing.T) {
	s, c, _ := newStore(t)
	c.ScriptFlush(t.Context())
	createTag(t, s, "x", segment.TagConfig{})
	c.ScriptFlush(t.Context())
	wantTake(t, s, segment.Request{Tag: "x", Size: 1}, segment.Range{First: 1, Length: 1, Step: 1000})
	wantTake(t, s, segment.Request{Tag: "x", Size: 1}, segment.Range{First: 2, Length: 1, Step: 1000})
}

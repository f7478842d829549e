//go:build unix

package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redis"
)

// An operator does to the server what disturbs it while ranges are taken. Takes fail meanwhile, and no number is handed out twice.
func TestTagDisturbedServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--enable-debug-command", "local")
	createTag(t, redis.New(connect(t, server.Address())), "x", segment.TagConfig{})
	ts := startTakers(8, func() segment.Source { return redis.New(connect(t, server.Address())) })
	for _, commands := range []string{
		"SCRIPT FLUSH", "SCRIPT FLUSH ASYNC", "CLIENT KILL TYPE normal SKIPME yes", "CLIENT PAUSE 20 ALL",
		"CONFIG SET maxmemory 1;CONFIG SET maxmemory-policy volatile-lru;CONFIG SET maxmemory-policy noeviction;CONFIG SET maxmemory 0",
		"CONFIG SET maxmemory-policy allkeys-lru;CONFIG SET maxmemory-policy noeviction",
		"DEBUG SLEEP 0.05", "DEBUG RELOAD", "DEBUG CHANGE-REPL-ID", "BGREWRITEAOF", "CONFIG SET min-replicas-to-write 1;CONFIG SET min-replicas-to-write 0",
		"REPLICAOF 127.0.0.1 1;REPLICAOF NO ONE", "RENAME {KEY} away;RENAME away {KEY}", "CONFIG SET appendonly yes",
		"ACL SETUSER default -evalsha;ACL SETUSER default +evalsha", "ACL SETUSER default -info;ACL SETUSER default +info", "CONFIG RESETSTAT", "SAVE",
	} {
		ts.wait(t, 20)
		for command := range strings.SplitSeq(commands, ";") {
			command = strings.ReplaceAll(command, "{KEY}", tagsKey(redis.DefaultPool))
			answer, err := server.Command(strings.Fields(command)...)
			if err != nil || strings.HasPrefix(answer, "ERR") {
				t.Errorf("%s: %s, %v", command, answer, err)
			}
			time.Sleep(5 * time.Millisecond) // so that some Takes see it; the test does not depend on it
		}
	}
	ts.wait(t, 50)
	ts.check(t, true)

	// The hash is evicted. Nobody begins again by itself.
	for _, command := range []string{"CONFIG SET maxmemory-policy allkeys-lru", "CONFIG SET maxmemory 1"} {
		server.MustCommand(strings.Fields(command)...)
	}
	for deadline := time.Now().Add(time.Minute); server.MustCommand("EXISTS", tagsKey(redis.DefaultPool)) != "0"; {
		if time.Now().After(deadline) {
			t.Fatal("the hash is not evicted")
		}
	}
	for _, command := range []string{"CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory 0"} {
		server.MustCommand(strings.Fields(command)...)
	}
	s := redis.New(connect(t, server.Address()))
	if r, err := s.Take(t.Context(), segment.Request{Tag: "x"}); !errors.Is(err, segment.ErrNoTag) {
		t.Errorf("after an eviction, Take() = %+v, %v; want ErrNoTag", r, err)
	}
	if err := s.CreateTag(t.Context(), "x", segment.TagConfig{UnusedBefore: time.Now()}); !errors.Is(err, segment.ErrNoTag) {
		t.Errorf("after an eviction, CreateTag by a program = %v; want ErrNoTag", err)
	}
}

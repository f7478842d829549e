package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redisstore"
)

// An operator does to the server what disturbs it while ranges are taken. Takes fail meanwhile, and no number is handed out twice.
func TestTagDisturbedServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--enable-debug-command", "local")
	takertest.Create(t, redisstore.New(connect(t, server.Address())))
	k := takertest.New(t)
	for n := range 8 {
		k.Run(redisstore.New(connect(t, server.Address())), n%2 == 0, 2*time.Second)
	}
	groups := map[string][]string{}
	for _, commands := range []string{
		"SCRIPT FLUSH", "SCRIPT FLUSH ASYNC", "CLIENT KILL TYPE normal SKIPME yes", "CLIENT PAUSE 20 ALL",
		"CONFIG SET maxmemory 1;CONFIG SET maxmemory-policy volatile-lru;CONFIG SET maxmemory-policy noeviction;CONFIG SET maxmemory 0",
		"CONFIG SET maxmemory-policy allkeys-lru;CONFIG SET maxmemory-policy noeviction",
		"DEBUG SLEEP 0.05", "DEBUG RELOAD", "DEBUG CHANGE-REPL-ID", "BGREWRITEAOF",
		"CONFIG SET min-replicas-to-write 1;" + takertest.Failing + ";CONFIG SET min-replicas-to-write 0",
		"REPLICAOF 127.0.0.1 1;" + takertest.Failing + ";REPLICAOF NO ONE", "RENAME {KEY} away;" + takertest.Failing + ";RENAME away {KEY}", "CONFIG SET appendonly yes",
		"ACL SETUSER default -evalsha;" + takertest.Failing + ";ACL SETUSER default +evalsha", "ACL SETUSER default -info;ACL SETUSER default +info", "CONFIG RESETSTAT", "SAVE",
	} {
		groups[commands] = strings.Split(commands, ";")
	}
	k.Disturb(groups, func(command string) error {
		command = strings.ReplaceAll(command, "{KEY}", tagsKey(redisstore.DefaultPool))
		answer, err := server.Command(strings.Fields(command)...)
		if strings.HasPrefix(answer, "ERR") {
			return errors.New(answer)
		}
		return err
	})
	k.Check()

	// The hash is evicted. Nobody begins again by itself.
	for _, command := range []string{"CONFIG SET maxmemory-policy allkeys-lru", "CONFIG SET maxmemory 1"} {
		server.MustCommand(strings.Fields(command)...)
	}
	testkit.Eventually(t, "the hash is evicted", func() bool { return server.MustCommand("EXISTS", tagsKey(redisstore.DefaultPool)) == "0" })
	for _, command := range []string{"CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory 0"} {
		server.MustCommand(strings.Fields(command)...)
	}
	s := redisstore.New(connect(t, server.Address()))
	if r, err := s.Take(t.Context(), segment.Request{Tag: takertest.Tag}); !errors.Is(err, segment.ErrNoTag) {
		t.Errorf("after an eviction, Take() = %+v, %v; want ErrNoTag", r, err)
	}
	if err := s.CreateTag(t.Context(), takertest.Tag, segment.TagConfig{UnusedBefore: time.Now()}); !errors.Is(err, segment.ErrNoTag) {
		t.Errorf("after an eviction, CreateTag by a program = %v; want ErrNoTag", err)
	}
}

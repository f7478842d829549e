//go:build unix

package redisstore_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A primary with a replica is killed in the middle of Assign, Reserve and Release, while generators run. When it is
// back, the replica attaches to it again, which changes the history a second time.
func TestKilledPrimary(t *testing.T) {
	t.Parallel() // it waits most of the time
	primary := redistest.Start(t)
	replica := primary.Replica()
	fleettest.Kill(t, stores(t, primary), primary.Kill, func() {
		primary.Restart()
		replica.WaitSynced(primary)
	})
}

// The only replica is killed in the middle of Assign, Reserve and Release. Nothing is granted until it is back, and then the
// leases go on.
func TestKilledReplica(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := primary.Replica()
	history := slottest.Read(t, redisstore.New(connect(t, primary.Address())), recycled.Query{}).History
	s := redisstore.New(connect(t, primary.Address()))
	fleettest.Kill(t, stores(t, primary), replica.Kill, func() {
		testkit.Retry(t, "a write is refused", func() error {
			if err := s.CreateTag(t.Context(), rand.Text(), segment.TagConfig{}); err == nil || !strings.Contains(err.Error(), "too few replicas") {
				return fmt.Errorf("CreateTag() = %w", err)
			}
			return nil
		})
		replica.Restart()
		replica.Follow(primary.Address()) // its configuration file does not have that
		replica.WaitSynced(primary)
	})
	if now := slottest.Read(t, s, recycled.Query{}).History; now != history {
		t.Errorf("the history was %q, and is %q", history, now)
	}
}

// A primary with a replica does not answer for longer than a grant.
func TestPausedPrimary(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	primary.Replica()
	fleettest.Pause(t, func() recycled.Store { return redisstore.New(connect(t, primary.Address())) }, primary.Pause, primary.Resume)
}

// A limit: a replica follows the promoted server, and then the former primary again, which was neither restarted nor a replica
// meanwhile, so it has the same history, and goes on. The replica has discarded what it had acknowledged for the promoted server.
// Or it has never acknowledged that server's floor, which counts when it follows that server once more. With repl-backlog-ttl 1 a former
// primary that had no replica for seconds has another history, and its leases are lost.
func TestReplicaGoesBack(t *testing.T) {
	testkit.Full(t, "it shows a limit")
	t.Parallel()
	const horizon = 10 * time.Second // much longer than a synchronization, also on a busy machine
	opts := []recycled.Option{recycled.WithWorkerID(0), recycled.WithHorizon(horizon)}
	for what, ttl := range map[string]string{"goes back": "0", "floor without acknowledgement": "0", "repl-backlog-ttl 1": "1"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			stale, noticed := what == "floor without acknowledgement", ttl == "1"
			primary := redistest.Start(t, "--repl-backlog-ttl", ttl)
			successor, replica := primary.Replica(), primary.Replica()
			primary.MustCommand("HSET", hashKey(redisstore.DefaultPool), "servers", "3")
			former, promoted := redisstore.New(connect(t, primary.Address())), redisstore.New(connect(t, successor.Address()))
			lease := assign(t, fleettest.First(t, former, opts...))
			if _, err := reserve(t, lease, true); err != nil {
				t.Fatal(err)
			}
			successor.WaitSynced(primary)
			history := slottest.Read(t, former, recycled.Query{}).History
			follow := func(s *redistest.Server) {
				replica.Follow(s.Address())
				replica.WaitSynced(s)
			}

			successor.Promote()
			var next workerassign.Lease
			if stale { // the promoted server notes its history, and the replica, which has left it, does not acknowledge that
				p := testserver.NewProxy(t, successor.Address())
				replica.Follow(p.Address())
				replica.WaitSynced(successor)
				p.Cut(nil)
				follow(primary)
				if err := promoted.CreateTag(t.Context(), "x", segment.TagConfig{}); err == nil || !strings.Contains(err.Error(), "the write may be lost") {
					t.Fatalf("a write that no replica acknowledges: CreateTag() = %v", err)
				}
				var noted recycled.Pool
				testkit.Retry(t, "the promoted server has noted its history", func() error {
					if l, _ := fleettest.Assigner(promoted, opts...).Assign(callContext(t, false), fleettest.Request()); l != nil {
						t.Fatal("the promoted server grants, although no replica acknowledges that")
					}
					state := slottest.Read(t, promoted, recycled.Query{})
					if noted = state.Pool; noted.History != state.History {
						return fmt.Errorf("the pool has the history %q, and the server %q", noted.History, state.History)
					}
					return nil
				})
				time.Sleep(time.Until(noted.Floor))
			} else {
				follow(successor)
				next = assign(t, fleettest.Assigner(promoted, opts...))
				time.Sleep(time.Until(next.NotBefore()))
				if _, err := reserve(t, next, true); err != nil {
					t.Fatal(err)
				}
				follow(primary)
			}
			granted, err := reserve(t, lease, !noticed)
			if now := slottest.Read(t, former, recycled.Query{}).History; (now != history) != noticed || errors.Is(err, workerassign.ErrLeaseLost) != noticed {
				t.Fatalf("the former primary's history was %q, and is %q; Reserve() = %v", history, now, err)
			}
			if noticed {
				return
			}
			if stale {
				follow(successor)
				next = assign(t, fleettest.Assigner(promoted, opts...))
			}
			if !granted.After(next.NotBefore()) {
				t.Errorf("the former primary grants until %v, and the next lease begins at %v: they do not collide any more", granted, next.NotBefore())
			}
		})
	}
}

// A primary starts again without its data, while its replicas, which have them, are cut off. It does not know how many servers
// there are, so it grants alone, also after one of them was promoted. Each of two settings prevents that.
func TestEmptyPrimary(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flags  []string
		opts   []redisstore.Option
		grants bool
	}{
		"no setting":            {grants: true},
		"min-replicas-to-write": {flags: []string{"--min-replicas-to-write", "1"}},
		"WithReplicas":          {opts: []redisstore.Option{redisstore.WithReplicas(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := redistest.Start(t, append([]string{"--appendonly", "no"}, tt.flags...)...)
			p := testserver.NewProxy(t, primary.Address())
			successor, replica := primary.Replica(), primary.Replica()
			for _, s := range []*redistest.Server{successor, replica} {
				s.Follow(p.Address())
				s.WaitSynced(primary)
			}
			primary.MustCommand("HSET", hashKey(redisstore.DefaultPool), "servers", "3")
			former, promoted := redisstore.New(connect(t, primary.Address()), tt.opts...), redisstore.New(connect(t, successor.Address()), tt.opts...)
			assign(t, first(t, former))
			successor.WaitSynced(primary)
			p.Cut(nil)
			primary.Kill()
			primary.Restart()

			lease, err := fixed(former).Assign(callContext(t, tt.grants), fleettest.Request())
			errCreate := former.CreateTag(t.Context(), "x", segment.TagConfig{})
			if (err == nil) != tt.grants || (errCreate == nil) != tt.grants || errCreate != nil && !strings.Contains(errCreate.Error(), "NOREPLICAS") {
				t.Fatalf("the empty primary grants: Assign() = %v, CreateTag() = %v", err, errCreate)
			}
			successor.Promote()
			replica.Follow(successor.Address())
			replica.WaitSynced(successor)
			next := assign(t, fixed(promoted))
			if lease == nil {
				return
			}
			time.Sleep(time.Until(next.NotBefore()))
			granted, err := reserve(t, lease, true)
			if err != nil || !granted.After(next.NotBefore()) {
				t.Errorf("the empty primary grants until %v, %v, and the next lease begins at %v", granted, err, next.NotBefore())
			}
		})
	}
}

// A limit: a former primary writes after the last write that the promoted server has, and is restarted before its replica comes back. Its tag
// skips less than that of the promoted server, whose numbers it then hands out, too.
func TestRestartedFormerPrimary(t *testing.T) {
	testkit.Full(t, "it shows a limit")
	t.Parallel()
	primary := redistest.Start(t, "--appendfsync", "always")
	successor, replica := primary.Replica(), primary.Replica()
	primary.MustCommand("HSET", hashKey(redisstore.DefaultPool), "servers", "3")
	const gap = 1000
	former, promoted := redisstore.New(connect(t, primary.Address()), redisstore.WithFailoverGap(gap)), redisstore.New(connect(t, successor.Address()), redisstore.WithFailoverGap(gap))
	request := segment.Request{Tag: "x"}
	createTag(t, former, "x", segment.TagConfig{Step: 10})
	take(t, former, request)
	successor.WaitSynced(primary)
	successor.Promote()
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(300 * time.Millisecond) { // the successor's gap grows by a tenth for each second
		take(t, former, request)
	}
	follow := func(s *redistest.Server) {
		replica.Follow(s.Address())
		replica.WaitSynced(s)
	}
	follow(successor)
	taken := take(t, promoted, request)
	primary.Kill()
	primary.Restart()
	follow(primary)
	for range 2 * gap {
		if r := take(t, former, request); r.First < taken.First+taken.Length && taken.First < r.First+r.Length {
			return
		}
	}
	t.Errorf("the former primary has not handed out numbers of the promoted server's range, %+v: the limit is gone, and doc.go says that it is there", taken)
}

//go:build unix

package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// acknowledgedBy are options of stores whose writes count when half of the servers have them, and of a control whose writes
// need no replica, so that the tests are known to find a defect.
var acknowledgedBy = map[string][]redisstore.Option{"half": nil, "none": {redisstore.WithReplicas(0)}}

// floor is how long after a change of the history leases of the tests begin.
const floor = time.Second

// fixed returns an assigner of the only worker ID of a test.
func fixed(s recycled.Store) *recycled.Assigner {
	return fleettest.Assigner(s, recycled.WithWorkerID(0), recycled.WithFencing(floor-fleettest.Horizon))
}

// first is fixed for a pool that does not exist yet.
func first(t *testing.T, s recycled.Store) *recycled.Assigner {
	return fleettest.First(t, s, recycled.WithWorkerID(0), recycled.WithFencing(floor-fleettest.Horizon))
}

// callContext returns a context for a call that succeeds, or for one that fails, and is repeated for two seconds.
func callContext(t *testing.T, succeeds bool) context.Context {
	if succeeds {
		return testkit.Patient(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// reserve extends a lease as far as possible.
func reserve(t *testing.T, l workerassign.Lease, succeeds bool) (time.Time, error) {
	g, err := l.Reserve(callContext(t, succeeds), time.Now().Add(time.Hour))
	return g.Until, err
}

// assign takes a lease; an error fails the test.
func assign(t *testing.T, a workerassign.Assigner) workerassign.Lease {
	t.Helper()
	l, err := a.Assign(testkit.Patient(t), fleettest.Request())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// awaitServers waits until all servers know how many there are. Meanwhile step writes something.
func awaitServers(t *testing.T, server *redistest.Server, want string, step func() error) {
	t.Helper()
	testkit.Retry(t, "all servers know how many there are", func() error {
		if err := step(); err != nil {
			return err
		}
		if got := server.MustCommand("HGET", hashKey(redisstore.DefaultPool), "servers"); got != want {
			return fmt.Errorf("the number of servers is %q, want %q", got, want)
		}
		return nil
	})
}

// A primary is frozen, and its packets get lost. A replica is promoted, and has a replica itself. Then the former primary
// continues, and does not know that: it executes what clients send. None of that counts.
func TestFrozenPrimary(t *testing.T) {
	t.Parallel()
	for name, opts := range acknowledgedBy {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := redistest.Start(t)
			p := testserver.NewProxy(t, primary.Address())
			var replicas [2]*redistest.Server
			for i := range replicas {
				replicas[i] = primary.Replica()
				replicas[i].Follow(p.Address())
			}
			patient := append(slices.Clone(opts), redisstore.WithAcknowledgeTimeout(time.Minute)) // for writes that a replica receives
			setUp, promoted := redisstore.New(connect(t, primary.Address()), patient...), redisstore.New(connect(t, replicas[0].Address()), patient...)
			former := redisstore.New(connect(t, primary.Address()), opts...)
			lease := assign(t, first(t, former))
			awaitServers(t, primary, "3", func() error {
				_, err := reserve(t, lease, true)
				return err
			})
			createTag(t, setUp, "x", segment.TagConfig{Step: 10})
			take(t, setUp, segment.Request{Tag: "x"})
			testkit.Eventually(t, "the replicas have acknowledged everything", func() bool {
				return strings.Count(primary.MustCommand("INFO", "replication"), ",offset="+primary.Info("master_repl_offset")+",") == 2
			})

			primary.Pause()
			p.Cut(nil)
			replicas[0].Promote()
			replicas[1].Follow(replicas[0].Address())
			replicas[1].WaitSynced(replicas[0])
			next := assign(t, fixed(promoted)) // waits until the worker ID is free
			time.Sleep(time.Until(next.NotBefore()))
			if _, err := reserve(t, next, true); err != nil {
				t.Fatal(err)
			}
			take(t, promoted, segment.Request{Tag: "x"})
			primary.Resume()

			granted, err := reserve(t, lease, opts != nil)
			_, errTake := former.Take(t.Context(), segment.Request{Tag: "x"})
			errCreate := former.CreateTag(t.Context(), "y", segment.TagConfig{})
			if opts != nil {
				if !granted.After(next.NotBefore()) || errTake != nil || errCreate != nil {
					t.Errorf("without acknowledgements of replicas the former primary grants until %v, %v, and the next lease begins at %v; Take() = %v, CreateTag() = %v",
						granted, err, next.NotBefore(), errTake, errCreate)
				}
				return
			}
			if err == nil {
				t.Errorf("the former primary grants until %v, and the next lease begins at %v", granted, next.NotBefore())
			}
			for _, err := range []error{errTake, errCreate} {
				if err == nil || !strings.Contains(err.Error(), "the write may be lost") && !strings.Contains(err.Error(), "NOREPLICAS") {
					t.Errorf("the former primary's error is %v, want one about replicas", err)
				}
			}
			// The promoted server goes on.
			if _, err := reserve(t, next, true); err != nil {
				t.Error(err)
			}
			take(t, promoted, segment.Request{Tag: "x"})
		})
	}
}

// The network is divided, and the primary keeps one replica, on the other side one is promoted. With three servers the former
// primary goes on, because it has most of them; with four, none does. The promoted one begins when a replica of the former
// one joins it, behind all that was granted until then. min-replicas-to-write 1 alone lets both go on.
func TestDividedServers(t *testing.T) {
	t.Parallel()
	for name, opts := range acknowledgedBy {
		for servers := 3; servers <= 4; servers++ {
			t.Run(fmt.Sprintf("%s of %d", name, servers), func(t *testing.T) {
				t.Parallel()
				primary := redistest.Start(t, "--min-replicas-to-write", fmt.Sprint(servers-3))
				var replicas []*redistest.Server
				for range servers - 1 {
					replicas = append(replicas, primary.Replica())
				}
				former, promoted := redisstore.New(connect(t, primary.Address()), opts...), redisstore.New(connect(t, replicas[0].Address()), opts...)
				lease := assign(t, first(t, former))
				awaitServers(t, primary, fmt.Sprint(servers), func() error {
					_, err := reserve(t, lease, true)
					return err
				})
				kept := replicas[1]
				replicas[0].WaitSynced(primary)
				replicas[0].Promote()
				if servers == 4 {
					replicas[2].Follow(replicas[0].Address())
					replicas[2].WaitSynced(replicas[0])
				}
				// Two seconds are longer than a floor.
				l, err := fixed(promoted).Assign(callContext(t, opts != nil), fleettest.Request())
				if (err == nil) != (opts != nil) {
					t.Fatalf("the promoted server, cut off with %d of %d servers, grants: %v", servers-2, servers, err)
				}
				if l != nil {
					time.Sleep(time.Until(l.NotBefore()))
				}
				goesOn := servers == 3 || opts != nil
				granted, err := reserve(t, lease, goesOn)
				if (err == nil) != goesOn {
					t.Errorf("the former primary, cut off with 2 of %d servers, grants until %v, %v", servers, granted, err)
				}
				if l == nil {
					kept.Follow(replicas[0].Address())
					kept.WaitSynced(replicas[0])
					if _, err := reserve(t, lease, false); err == nil {
						t.Error("the former primary has no replica, and grants")
					}
					l = assign(t, fixed(promoted))
				}
				if collides := l.NotBefore().Before(granted); collides != (opts != nil) {
					t.Errorf("the former primary has granted until %v, and the next lease begins at %v", granted, l.NotBefore())
				}
			})
		}
	}
}

// How many replicas must acknowledge a write while a greater number of servers is seen: so many that the servers which know
// a smaller number only are no majority of that. Later it is half of the servers. A replica that has gone still counts.
func TestRaiseServers(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t, "--repl-timeout", "3600") // it does not drop the replicas that are paused
	var replicas []*redistest.Server
	for range 4 {
		replicas = append(replicas, primary.Replica())
	}
	c := goredis.NewClient(&goredis.Options{Addr: primary.Address(), ReadTimeout: time.Second})
	t.Cleanup(func() { c.Close() })
	s, key := redisstore.New(c), hashKey(redisstore.DefaultPool)
	createTag := func() error {
		return s.CreateTag(t.Context(), fmt.Sprint("tag-", time.Now().UnixNano()), segment.TagConfig{})
	}
	awaitServers(t, primary, "5", createTag)
	// refused waits for an error with a text: on a busy machine there may be other errors before.
	refused := func(text string) {
		t.Helper()
		testkit.Retry(t, "a write is refused", func() error {
			err := createTag()
			if err == nil {
				t.Fatalf("a write counts; want an error with %q; the number of servers is %q", text, primary.MustCommand("HGET", key, "servers"))
			}
			if strings.Contains(err.Error(), text) {
				return nil
			}
			return err
		})
	}
	pause := func(servers ...*redistest.Server) {
		for _, r := range servers {
			r.Pause()
		}
	}
	resume := func() {
		for _, r := range replicas {
			r.Resume()
		}
	}
	for _, tt := range []struct {
		stored string
		need   int
		final  string
	}{{"", 4, "5"}, {"1", 4, "5"}, {"2", 3, "5"}, {"3", 3, "5"}, {"4", 2, "5"}, {"5", 2, "5"}, {"6", 3, "6"}, {"7 4", 4, "7 4"}} {
		if tt.stored == "" {
			primary.MustCommand("HDEL", key, "servers")
		} else {
			primary.MustCommand("HSET", key, "servers", tt.stored)
		}
		pause(replicas[:5-tt.need]...) // one too many
		for range 2 {                  // the second one, too: the new number is known to some servers only, so it is not half of them
			refused(fmt.Sprintf("have acknowledged it within 500ms; must be at least %d", tt.need))
		}
		resume()
		pause(replicas[:4-tt.need]...)
		testkit.Retry(t, "a write counts", createTag)
		resume()
		if strings.Contains(tt.final, " ") { // some servers are not there
			testkit.Retry(t, "a write counts", createTag)
			if got := primary.MustCommand("HGET", key, "servers"); !strings.HasPrefix(got, tt.final+" ") {
				t.Errorf("the number of servers is %q, want %q with an offset", got, tt.final)
			}
			continue
		}
		awaitServers(t, primary, tt.final, createTag)
	}
	primary.MustCommand("HSET", key, "servers", "5")
	for _, r := range replicas[:3] {
		r.Stop()
	}
	refused("NOREPLICAS 1 replicas are attached to the primary; must be at least 2")
	primary.MustCommand("HSET", key, "servers", "2") // an operator has removed the servers
	testkit.Retry(t, "a write counts", createTag)
	primary.MustCommand("HSET", key, "servers", "two")
	refused("set the field to the number of servers")
}

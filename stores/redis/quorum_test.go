//go:build unix

package redis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/fleettest"
	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testserver"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redis"
	"github.com/ringuid/ringuid/workerassign"
)

// acknowledgedBy are options of stores whose writes count when half of the servers have them, and of a control whose writes
// need no replica, so that the tests are known to find a defect.
var acknowledgedBy = map[string][]redis.Option{"half": nil, "none": {redis.WithReplicas(0)}}

// floor is how long after a change of the history leases of the tests begin.
const floor = time.Second

// fixed returns an assigner of the only worker ID of a test.
func fixed(s workerassign.SlotStore, opts ...workerassign.RecycledOption) *workerassign.Recycled {
	return fleettest.Assigner(s, append(opts, workerassign.WithWorkerID(0), workerassign.WithFencing(floor-fleettest.Horizon))...)
}

// within calls f with a context of two seconds.
func within[T any](t *testing.T, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	return f(ctx)
}

// reserve extends a lease as far as possible.
func reserve(t *testing.T, l workerassign.Lease) (time.Time, error) {
	return within(t, func(ctx context.Context) (time.Time, error) { return l.Reserve(ctx, time.Now().Add(time.Hour)) })
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
func awaitServers(t *testing.T, server *redistest.Server, key, want string, step func() error) {
	t.Helper()
	testkit.Retry(t, "all servers know how many there are", func() error {
		if err := step(); err != nil {
			return err
		}
		if got := server.MustCommand("HGET", key, "servers"); got != want {
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
			former, promoted := redis.New(connect(t, primary.Address()), opts...), redis.New(connect(t, replicas[0].Address()), opts...)
			lease := assign(t, fixed(former, workerassign.WithNewPool()))
			awaitServers(t, primary, hashKey(redis.DefaultPool), "3", func() error {
				_, err := reserve(t, lease)
				return err
			})
			createTag(t, former, "x", segment.TagConfig{Step: 10})
			awaitServers(t, primary, tagsKey(redis.DefaultPool), "3", func() error {
				_, err := former.Take(t.Context(), segment.Request{Tag: "x"})
				return err
			})
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
			if _, err := reserve(t, next); err != nil {
				t.Fatal(err)
			}
			take(t, promoted, segment.Request{Tag: "x"})
			primary.Resume()

			granted, err := reserve(t, lease)
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
				if err == nil || !strings.Contains(err.Error(), "the write may be lost: 0 replicas have acknowledged it") {
					t.Errorf("the former primary's error is %v, want one about acknowledgements", err)
				}
			}
			// The promoted server goes on.
			if _, err := reserve(t, next); err != nil {
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
				former, promoted := redis.New(connect(t, primary.Address()), opts...), redis.New(connect(t, replicas[0].Address()), opts...)
				lease := assign(t, fixed(former, workerassign.WithNewPool()))
				awaitServers(t, primary, hashKey(redis.DefaultPool), fmt.Sprint(servers), func() error {
					_, err := reserve(t, lease)
					return err
				})
				kept := replicas[1]
				replicas[0].WaitSynced(primary)
				replicas[0].Promote()
				if servers == 4 {
					replicas[2].Follow(replicas[0].Address())
					replicas[2].WaitSynced(replicas[0])
				}
				next := func() (workerassign.Lease, error) {
					return within(t, func(ctx context.Context) (workerassign.Lease, error) {
						return fixed(promoted).Assign(ctx, fleettest.Request())
					})
				}
				l, err := next() // in two seconds, which is longer than a floor of now
				if (err == nil) != (opts != nil) {
					t.Fatalf("the promoted server, cut off with %d of %d servers, grants: %v", servers-2, servers, err)
				}
				if l != nil {
					time.Sleep(time.Until(l.NotBefore()))
				}
				granted, err := reserve(t, lease)
				if (err == nil) != (servers == 3 || opts != nil) {
					t.Errorf("the former primary, cut off with 2 of %d servers, grants until %v, %v", servers, granted, err)
				}
				if l == nil {
					kept.Follow(replicas[0].Address())
					kept.WaitSynced(replicas[0])
					if _, err := reserve(t, lease); err == nil {
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
	primary := redistest.Start(t)
	var replicas []*redistest.Server
	for range 4 {
		replicas = append(replicas, primary.Replica())
	}
	c := goredis.NewClient(&goredis.Options{Addr: primary.Address(), ReadTimeout: 400 * time.Millisecond})
	t.Cleanup(func() { c.Close() })
	s, key := redis.New(c), tagsKey(redis.DefaultPool)
	createTag := func() error {
		return s.CreateTag(t.Context(), fmt.Sprint("tag-", time.Now().UnixNano()), segment.TagConfig{})
	}
	awaitServers(t, primary, key, "5", createTag)
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
		if err := createTag(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("have acknowledged it within 200ms; must be at least %d", tt.need)) {
			t.Errorf("with the number %q and %d replicas that acknowledge, CreateTag() = %v; want an error, because %d must", tt.stored, tt.need-1, err, tt.need)
		}
		// The new number is known to some servers only, so it is not half of them now.
		if err := createTag(); err == nil {
			t.Errorf("with the number %q the second write counts", tt.stored)
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
		awaitServers(t, primary, key, tt.final, createTag)
	}
	primary.MustCommand("HSET", key, "servers", "5")
	for _, r := range replicas[:3] {
		r.Stop()
	}
	testkit.Retry(t, "a write is refused", func() error {
		if err := createTag(); err == nil || !strings.Contains(err.Error(), "NOREPLICAS 1 replicas are attached to the primary; must be at least 2") {
			return fmt.Errorf("CreateTag() = %w", err)
		}
		return nil
	})
	primary.MustCommand("HSET", key, "servers", "2") // an operator has removed the servers
	testkit.Retry(t, "a write counts", createTag)
	primary.MustCommand("HSET", key, "servers", "two")
	if err := createTag(); err == nil || !strings.Contains(err.Error(), "set the field to the number of servers") {
		t.Errorf("with a number that is none, CreateTag() = %v", err)
	}
}

//go:build unix

package redisstore_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// stores returns a function that returns stores with clients of their own.
func stores(t *testing.T, server *redistest.Server) func() recycled.Store {
	return func() recycled.Store { return redisstore.New(connect(t, server.Address())) }
}

// The server is killed in the middle of Assign, Reserve and Release, with an append-only file and without one, while
// generators run.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"always":   {"--appendfsync", "always"},
		"everysec": nil,
		"no file":  {"--appendonly", "no"}, // the pool is lost each time
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			server := redistest.Start(t, flags...)
			fleettest.Kill(t, stores(t, server), server.Kill, server.Restart)
		})
	}
}

// The server does not answer for longer than a grant. The client's timeouts end a call within the pause.
func TestPausedServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := goredis.NewClient(&goredis.Options{Addr: server.Address(), ReadTimeout: 100 * time.Millisecond, MaxRetries: -1})
	t.Cleanup(func() { c.Close() })
	fleettest.Pause(t, func() recycled.Store { return redisstore.New(c) }, server.Pause, server.Resume)
}

// A process is stopped beyond its lease, and its slot is taken by another.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	fleettest.StoppedProcess(t, func(t *testing.T) string { return redistest.Start(t).Address() },
		func(t *testing.T, address string) recycled.Store { return redisstore.New(connect(t, address)) })
}

// failoverClient returns a client that connects to whatever address holds.
func failoverClient(t *testing.T, address *atomic.Pointer[string]) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: "service", MaxRetries: 1, Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", *address.Load())
	}})
	t.Cleanup(func() { c.Close() })
	return c
}

// A forgetfulStore is a Store without rule R7: it reports the same history after a restart or a failover, and Write has the one that was read last.
type forgetfulStore struct {
	recycled.Store
	history atomic.Pointer[string]
}

func (s *forgetfulStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	state, err := s.Store.Read(ctx, q)
	history := state.History
	s.history.Store(&history)
	state.History = "forgotten"
	return state, err
}

func (s *forgetfulStore) Write(ctx context.Context, w recycled.Write) (bool, error) {
	w.History = *s.history.Load()
	return s.Store.Write(ctx, w)
}

// r7Stores make stores that lose what they have acknowledged: no replica must have it.
var r7Stores = map[string]func(goredis.UniversalClient) recycled.Store{
	"with R7": func(c goredis.UniversalClient) recycled.Store { return redisstore.New(c, redisstore.WithReplicas(0)) },
	"without R7": func(c goredis.UniversalClient) recycled.Store {
		return &forgetfulStore{Store: redisstore.New(c, redisstore.WithReplicas(0))}
	},
}

// A replica is promoted that lacks the last writes, while the old primary still acknowledges writes for a time.
// With rule R7 no UID is generated twice. Without it, some are.
func TestPromotedReplica(t *testing.T) {
	t.Parallel()
	for name, newStore := range r7Stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			fleettest.Failover(t, name == "with R7", func() fleettest.Primaries {
				primary := redistest.Start(t)
				replica := primary.Replica()
				var address atomic.Pointer[string]
				setAddress := func(at string) { address.Store(&at) }
				setAddress(primary.Address())
				return fleettest.Primaries{
					NewStore:    func() recycled.Store { return newStore(failoverClient(t, &address)) },
					NewPromoted: func() recycled.Store { return newStore(connect(t, replica.Address())) },
					Disconnect: func() {
						replica.WaitSynced(primary)
						replica.Disconnect()
					},
					Promote: func() { replica.Promote() },
					Fence: func() {
						setAddress(replica.Address())
						primary.Kill()
					},
				}
			})
		})
	}
}

// The same with one lease: after the promotion Reserve fails, although the slot is exactly what it wrote, and the
// next lease of the slot begins behind everything that was granted.
func TestLostGrant(t *testing.T) {
	t.Parallel()
	for name, newStore := range r7Stores {
		t.Run(name, func(t *testing.T) {
			primary := redistest.Start(t)
			replica := primary.Replica()
			var address atomic.Pointer[string]
			at := primary.Address()
			address.Store(&at)
			s := newStore(failoverClient(t, &address))
			a := fleettest.First(t, s, recycled.WithWorkerID(0))
			req := fleettest.Request()
			lease, err := a.Assign(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			replica.WaitSynced(primary)
			replica.Disconnect()
			granted, err := lease.Reserve(t.Context(), time.Now().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			before := slottest.Read(t, s, recycled.Query{})
			primary.Kill()
			replica.Promote()
			at2 := replica.Address()
			address.Store(&at2)

			after := slottest.Read(t, s, recycled.Query{WorkerIDs: []int64{0}})
			if until := after.Slots[0].Until; !until.Before(granted.Until) {
				t.Fatalf("the replica knows the grant until %v, which should be lost; it knows %v", granted.Until, until)
			}
			w := slottest.Swap(after, nil, recycled.Slot{WorkerID: 0, Revision: after.Slots[0].Revision + 1})
			w.History = before.History
			if name == "with R7" {
				slottest.WantWritten(t, s, false, w)
				_, err = lease.Reserve(t.Context(), time.Now().Add(time.Hour))
				if !errors.Is(err, workerassign.ErrLeaseLost) {
					t.Errorf("Reserve() = %v, want ErrLeaseLost", err)
				}
			}
			// The slot becomes free, and the next lease of it has the same worker ID.
			next, err := a.Assign(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if collides := next.NotBefore().Before(granted.Until); collides != (name == "without R7") {
				t.Errorf("the lost grant ends at %v, and the next lease begins at %v", granted.Until, next.NotBefore())
			}
		})
	}
}

// FLUSHALL deletes the pool: the leases end, the next pool begins with a floor, and the generators continue.
func TestFlushAll(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := redisstore.New(connect(t, server.Address()))
	f := fleettest.New()
	for n := range 4 {
		f.Run(stores(t, server)(), n%2 == 0, time.Hour)
	}
	f.RunLeases(s)
	histories := []string{}
	for range 5 {
		f.WaitLeases(t, 3)
		server.MustCommand("FLUSHALL")
		var state recycled.State
		testkit.Eventually(t, "a pool is created again", func() bool {
			state = slottest.Read(t, s, recycled.Query{})
			return state.Pool.Revision != 0
		})
		if floor := state.Pool.Floor.Sub(state.Pool.Since); floor < fleettest.Horizon {
			t.Errorf("the floor is %v after the creation of the pool, want at least %v", floor, fleettest.Horizon)
		}
		if slices.Contains(histories, state.History) {
			t.Errorf("the history is %q again", state.History)
		}
		histories = append(histories, state.History)
	}
	f.WaitLeases(t, 3)
	f.Check(t, 1000)
}

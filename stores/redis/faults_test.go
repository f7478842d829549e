package redis_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/stores/redis"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// The server is killed a hundred times in the middle of Assign, Reserve and Release, with an append-only file
// and without one, while generators run. No UID is generated twice.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kills int
		flags []string
	}{
		"always":   {35, []string{"--appendfsync", "always"}},
		"everysec": {40, nil},
		"no file":  {25, []string{"--appendonly", "no"}}, // the pool is lost each time
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t, test.flags...)
			f := newFleet()
			for n := range 4 {
				f.run(assigner(redis.New(connect(t, server.Address()))), n%2 == 0, time.Duration(n)*time.Second)
			}
			for range 3 {
				f.runLeases(assigner(redis.New(connect(t, server.Address()))))
			}
			idle := 0
			for range test.kills {
				before, leases := f.generated.Load(), f.leases.Load()
				time.Sleep(horizon + fencing + skew + 60*time.Millisecond + rand.N(100*time.Millisecond))
				if f.generated.Load() == before || f.leases.Load() == leases {
					idle++
				}
				server.Kill()
				server.Restart()
			}
			if idle > test.kills/2 {
				t.Errorf("nothing happened before %d of %d kills", idle, test.kills)
			}
			f.check(t, int64(test.kills)*100)
		})
	}
}

// The server does not answer for longer than a grant: UIDs flow until the end of the grant, and then the takes
// fail with the named error. When the server continues, so do the generators.
func TestPausedServer(t *testing.T) {
	for _, cached := range []bool{true, false} {
		server := redistest.Start(t)
		c := goredis.NewClient(&goredis.Options{Addr: server.Address(), ReadTimeout: 100 * time.Millisecond, MaxRetries: -1})
		defer c.Close()
		a := assigner(redis.New(c), workerassign.WithNewPool())
		f := newFleet()
		w := f.set.Writer()
		g, err := newGenerator(context.Background(), a, cached)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		use := func(d time.Duration) (last time.Time, err error) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if takeErr := f.take(w, g, 10); takeErr != nil {
					err = takeErr
				} else {
					last, err = time.Now(), nil
				}
			}
			return last, err
		}
		if _, err := use(4 * horizon); err != nil {
			t.Errorf("before the pause: %v", err)
		}
		begin := time.Now()
		server.Pause()
		last, err := use(1500 * time.Millisecond) // until the client's timeouts end the first try
		// Default waits for its next lease for up to workerassign.DefaultTimeout before it returns ErrLease.
		named := errors.Is(err, uid.ErrLease) || !cached && errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "the lease")
		if !named || last.Sub(begin) < reserve/2 || last.Sub(begin) > horizon+clockBound {
			t.Errorf("during the pause: UIDs for %v, and then %v; want ErrLease after the end of the grant, at most %v", last.Sub(begin), err, horizon)
		}
		server.Resume()
		if last, err := use(3 * time.Second); err != nil || last.IsZero() {
			t.Errorf("after the pause: %v", err)
		}
		f.check(t, 100)
	}
}

// failoverClient returns a client that connects to whatever address holds.
func failoverClient(t *testing.T, address *atomic.Pointer[string]) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: "service", MaxRetries: 1, Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", *address.Load())
	}})
	t.Cleanup(func() { c.Close() })
	return c
}

// A replica is promoted that lacks the last writes, while the old primary still acknowledges writes for a time.
// With rule R7 no UID is generated twice. Without it, some are.
func TestPromotedReplica(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]redis.Option{"with R7": nil, "without R7": {redis.IgnoreHistory()}} {
		t.Run(name, func(t *testing.T) {
			primary := redistest.Start(t)
			replica := primary.Replica()
			var address atomic.Pointer[string]
			at := primary.Address()
			address.Store(&at)
			short := []workerassign.RecycledOption{workerassign.WithNewPool(), workerassign.WithFencing(400 * time.Millisecond)}

			f := newFleet()
			for n := range 4 {
				f.run(assigner(redis.New(failoverClient(t, &address), opts...), short...), n%2 == 0, time.Hour)
			}
			time.Sleep(500 * time.Millisecond)
			replica.WaitSynced(primary)
			replica.Disconnect()
			time.Sleep(2 * horizon) // the grants of this time are lost
			replica.Promote()
			begin := f.generated.Load()
			promoted := assigner(redis.New(connect(t, replica.Address()), opts...), short...)
			for n := range 4 {
				f.run(promoted, n%2 == 0, time.Hour)
			}
			time.Sleep(200 * time.Millisecond)
			at2 := replica.Address()
			address.Store(&at2)
			primary.Kill()
			time.Sleep(3 * time.Second)
			result := f.end()
			t.Log(result)
			if f.generated.Load() < begin+1000 {
				t.Errorf("%d UIDs after the promotion, want at least 1000", f.generated.Load()-begin)
			}
			if lost := f.duplicates.Load() > 0; lost != (len(opts) > 0) {
				t.Errorf("%d duplicates", f.duplicates.Load())
			}
		})
	}
}

// The same with one lease: after the promotion Reserve fails, although the slot is exactly what it wrote, and the
// next lease of the slot begins behind everything that was granted.
func TestLostGrant(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]redis.Option{"with R7": nil, "without R7": {redis.IgnoreHistory()}} {
		t.Run(name, func(t *testing.T) {
			primary := redistest.Start(t)
			replica := primary.Replica()
			var address atomic.Pointer[string]
			at := primary.Address()
			address.Store(&at)
			s := redis.New(failoverClient(t, &address), opts...)
			a := assigner(s, workerassign.WithNewPool(), workerassign.WithWorkerID(0))
			req := request()
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
			before := read(t, s, workerassign.SlotQuery{})
			primary.Kill()
			replica.Promote()
			at2 := replica.Address()
			address.Store(&at2)

			after := read(t, s, workerassign.SlotQuery{WorkerIDs: []int64{0}})
			if until := after.Slots[0].Until; !until.Before(granted) {
				t.Fatalf("the replica knows the grant until %v, which should be lost; it knows %v", granted, until)
			}
			w := workerassign.SlotWrite{History: before.History, Slots: []workerassign.Slot{{WorkerID: 0, Revision: after.Slots[0].Revision + 1}}}
			if len(opts) == 0 {
				write(t, s, w, false)
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
			if collides := next.NotBefore().Before(granted); collides != (len(opts) > 0) {
				t.Errorf("the lost grant ends at %v, and the next lease begins at %v", granted, next.NotBefore())
			}
		})
	}
}

// FLUSHALL deletes the pool: the leases end, the next pool begins with a floor, and the generators continue.
func TestFlushAll(t *testing.T) {
	server := redistest.Start(t)
	s := redis.New(connect(t, server.Address()))
	f := newFleet()
	for n := range 4 {
		f.run(assigner(redis.New(connect(t, server.Address()))), n%2 == 0, time.Hour)
	}
	f.runLeases(assigner(s))
	histories := []string{}
	for range 5 {
		time.Sleep(2 * horizon)
		before := f.generated.Load()
		server.MustCommand("FLUSHALL")
		deadline := time.Now().Add(10 * time.Second)
		var state workerassign.PoolState
		for state.Pool.Revision == 0 && time.Now().Before(deadline) {
			state = read(t, s, workerassign.SlotQuery{})
		}
		if floor := state.Pool.Floor.Sub(state.Pool.Since); floor < horizon+fencing+skew {
			t.Errorf("the floor is %v after the creation of the pool, want at least %v", floor, horizon+fencing+skew)
		}
		if slices.Contains(histories, state.History) {
			t.Errorf("the history is %q again", state.History)
		}
		histories = append(histories, state.History)
		time.Sleep(2 * horizon)
		for f.generated.Load() < before+100 && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		if f.generated.Load() < before+100 {
			t.Fatalf("%d UIDs in 10 s after FLUSHALL, want at least 100", f.generated.Load()-before)
		}
	}
	f.check(t, 1000)
}

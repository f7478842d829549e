package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

func TestMain(m *testing.M) { testkit.RunParallel(m, 4) }

// connect returns a client that is closed at the end of the test. A server whose disk is slow may answer after many seconds.
func connect(t testing.TB, address string) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: address, MaxRetryBackoff: 50 * time.Millisecond, ReadTimeout: 2 * time.Minute})
	t.Cleanup(func() { c.Close() })
	return c
}

// newStore returns a store on a pool of its own, on the server that AddressEnv names or on one that it starts.
func newStore(t testing.TB, opts ...redisstore.Option) (*redisstore.Store, *goredis.Client, string) {
	c := connect(t, redistest.Address(t))
	pool := fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), rand.Uint64())
	t.Cleanup(func() { c.Del(context.Background(), hashKey(pool), indexKey(pool), tagsKey(pool)) })
	return redisstore.New(c, append([]redisstore.Option{redisstore.WithPool(pool)}, opts...)...), c, pool
}

func hashKey(pool string) string  { return "ringuid:{" + pool + "}:slots" }
func indexKey(pool string) string { return "ringuid:{" + pool + "}:free" }
func tagsKey(pool string) string  { return "ringuid:{" + pool + "}:tags" }

// replicated is a primary with two replicas: a write counts if one of them has it.
type replicated struct {
	primary  *redistest.Server
	replicas [2]*redistest.Server
}

func startReplicated(primary *redistest.Server) *replicated {
	return &replicated{primary, [2]*redistest.Server{primary.Replica(), primary.Replica()}}
}

// declare sets the number of servers of a pool, as an operator can. Otherwise the first writes need both replicas.
func (r *replicated) declare(pool string) {
	r.primary.MustCommand("HSET", hashKey(pool), "servers", "3")
}

// restart starts the primary again. The replication ID changes when the first replica is back.
func (r *replicated) restart() {
	r.primary.Restart()
	for _, replica := range r.replicas {
		replica.WaitSynced(r.primary)
	}
}

// loseWrites calls write. What it writes counts, because one replica has it, but the other one is promoted.
func (r *replicated) loseWrites(write func()) {
	former, promoted, has := r.primary, r.replicas[0], r.replicas[1]
	promoted.WaitSynced(former)
	has.WaitSynced(former)
	promoted.Disconnect()
	write()
	former.Kill()
	promoted.Promote()
	has.Follow(promoted.Address())
	r.primary, r.replicas = promoted, [2]*redistest.Server{has, promoted.Replica()}
	has.WaitSynced(promoted)
}

// ids returns the worker IDs of slots in ascending order.
func ids(slots []recycled.Slot) []int64 {
	ids := []int64{}
	for _, s := range slots {
		ids = append(ids, s.WorkerID)
	}
	slices.Sort(ids)
	return ids
}

// createPool writes a pool with n slots, which are free in the order of their worker IDs, the first one a
// second ago. It returns the state after that.
func createPool(t testing.TB, s recycled.Store, n int64) recycled.State {
	t.Helper()
	state := slottest.Read(t, s, recycled.Query{})
	p := recycled.Pool{Revision: 1, Format: "f", Slots: n, History: state.History, Since: state.Now,
		Horizon: time.Minute, Fencing: 1001 * time.Millisecond, Skew: time.Second}
	var slots []recycled.Slot
	for id := range n {
		slots = append(slots, recycled.Slot{WorkerID: id, Revision: 1, History: state.History, Written: state.Now,
			From: state.Now, Until: state.Now, FreeAt: state.Now.Add(time.Duration(id-1000) * time.Millisecond)})
	}
	slottest.WantWritten(t, s, true, slottest.Swap(state, &p, slots...))
	return slottest.Read(t, s, recycled.Query{All: true})
}

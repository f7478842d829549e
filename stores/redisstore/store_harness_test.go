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

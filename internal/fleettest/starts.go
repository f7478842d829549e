package fleettest

import (
	"context"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// clients is the number of clients of the store that all simulated hosts share.
const clients = 16

// counted counts the calls of a store.
type counted struct {
	workerassign.SlotStore
	reads, writes, lost *atomic.Int64
}

// Read implements workerassign.SlotStore.
func (c counted) Read(ctx context.Context, q workerassign.SlotQuery) (workerassign.PoolState, error) {
	c.reads.Add(1)
	return c.SlotStore.Read(ctx, q)
}

// Write implements workerassign.SlotStore.
func (c counted) Write(ctx context.Context, w workerassign.SlotWrite) (bool, error) {
	c.writes.Add(1)
	ok, err := c.SlotStore.Write(ctx, w)
	if !ok {
		c.lost.Add(1)
	}
	return ok, err
}

// Starts measures how long it takes until many hosts that start at the same time have a slot each: 100 hosts on
// an empty pool, and more hosts on a pool with as many released slots: 10,000 with FullEnv, and 1,000 without.
func Starts(t *testing.T, newStore func() workerassign.SlotStore) {
	s := starts{t: t, req: Request(), store: newStore()}
	s.req.MaxWorkerID = 1 << 20
	for range clients {
		// The grace is so long that no slot, none of which is extended, becomes free during the test.
		s.assigners = append(s.assigners, workerassign.NewRecycled(counted{newStore(), &s.reads, &s.writes, &s.lost},
			workerassign.WithTimeout(5*time.Minute), workerassign.WithHorizon(time.Hour), workerassign.WithClockBound(30*time.Minute)))
	}
	s.start(100, "an empty pool")
	hosts := 1000
	if os.Getenv(FullEnv) != "" {
		hosts = 10_000
	}
	s.grow(int64(hosts))
	s.start(hosts, "released slots")
}

// starts is one call of Starts.
type starts struct {
	t                   *testing.T
	req                 workerassign.Request
	assigners           []*workerassign.Recycled
	reads, writes, lost atomic.Int64
	store               workerassign.SlotStore
}

// start starts hosts, and releases all slots at the end.
func (s *starts) start(hosts int, on string) {
	t := s.t
	s.reads.Store(0)
	s.writes.Store(0)
	s.lost.Store(0)
	leases := make([]workerassign.Lease, hosts)
	var running sync.WaitGroup
	began := time.Now()
	for n := range hosts {
		running.Go(func() {
			var err error
			if leases[n], err = s.assigners[n%clients].Assign(t.Context(), s.req); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	took := time.Since(began)
	if t.Failed() {
		return
	}
	seen := map[int64]bool{}
	for _, l := range leases {
		seen[l.WorkerID()] = true
	}
	each := func(n int64) float64 { return float64(n) / float64(hosts) }
	t.Logf("on %s, %d hosts have a slot each after %v: %.2f reads, %.2f writes, of which %.2f lost a race, per Assign",
		on, hosts, took, each(s.reads.Load()), each(s.writes.Load()), each(s.lost.Load()))
	if len(seen) != hosts {
		t.Errorf("%d hosts have %d worker IDs", hosts, len(seen))
	}
	for n := range clients {
		running.Go(func() {
			for i := n; i < hosts; i += clients {
				if err := leases[i].Release(t.Context(), time.Time{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
}

// grow adds released slots to the pool, up to a number, without races.
func (s *starts) grow(slots int64) {
	t := s.t
	for {
		state, err := s.store.Read(t.Context(), workerassign.SlotQuery{})
		if err != nil {
			t.Fatal(err)
		}
		p := state.Pool
		if p.Slots >= slots {
			return
		}
		p.Revision++
		w := workerassign.SlotWrite{History: state.History, Pool: &p}
		for range min(32, slots-p.Slots) {
			w.Slots = append(w.Slots, workerassign.Slot{WorkerID: p.Slots, Revision: 1, History: p.History,
				From: p.Since, Until: p.Since, Written: p.Since, FreeAt: p.Since})
			p.Slots++
		}
		if ok, err := s.store.Write(t.Context(), w); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
}

// BenchmarkAssign measures Assign and Release, one after the other.
func BenchmarkAssign(b *testing.B, s workerassign.SlotStore) {
	a := Assigner(s)
	for b.Loop() {
		l, err := a.Assign(b.Context(), Request())
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Release(b.Context(), time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReserve measures Reserve of parallel leases, each of which writes.
func BenchmarkReserve(b *testing.B, newStore func() workerassign.SlotStore) {
	const leases = 16
	ready := make(chan workerassign.Lease, leases)
	for range leases {
		l, err := workerassign.NewRecycled(newStore()).Assign(b.Context(), Request())
		if err != nil {
			b.Fatal(err)
		}
		ready <- l
	}
	b.SetParallelism(leases / runtime.GOMAXPROCS(0))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		l := <-ready
		for until := time.Now(); pb.Next(); until = until.Add(time.Millisecond) {
			if _, err := l.Reserve(b.Context(), until); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

package recycled_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// crowd is what many hosts that start together have cost.
type crowd struct {
	reads, writes float64 // per host
	took          time.Duration
}

// start lets hosts take a lease within a time, on a store whose calls take 1 ms. Each must get one.
func (f *fleet) start(hosts int, within time.Duration) ([]workerassign.Lease, crowd) {
	f.Helper()
	f.createPool()
	return f.startWith(hosts, within)
}

// startWith is start with other options of the hosts.
func (f *fleet) startWith(hosts int, within time.Duration, opts ...recycled.Option) ([]workerassign.Lease, crowd) {
	f.Helper()
	return f.startOn(slowStore{f.Memory, time.Millisecond / 2}, hosts, within, opts...)
}

// startOn is startWith on a given store.
func (f *fleet) startOn(store recycled.Store, hosts int, within time.Duration, opts ...recycled.Option) ([]workerassign.Lease, crowd) {
	f.Helper()
	before, started := f.Counts(), time.Now()
	leases := make([]workerassign.Lease, hosts)
	var running sync.WaitGroup
	for host := range hosts {
		running.Go(func() {
			time.Sleep(rand.N(within + 1))
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			l, err := f.assignerOn(store, opts...).Assign(ctx, f.request())
			if err != nil {
				f.Errorf("host %d: %v", host, err)
			}
			leases[host] = l
		})
	}
	running.Wait()
	after, n := f.Counts(), float64(hosts)
	return leases, crowd{float64(after.Reads-before.Reads) / n, float64(after.Writes-before.Writes) / n, time.Since(started).Round(time.Millisecond)}
}

// excess is how many slots a crowd may add beyond those that it takes: 15 that are free, and a batch of 32. Another batch
// may have been added a moment ago: its slots begin at the store's clock, rounded up to a millisecond, and are free only then.
const excess = 15 + 32 + 32

// Many hosts that start together on an empty pool, or on one with a few free slots, add the slots that they require in
// batches. They do not fight for the last free ones, and add not many more than they take.
func TestCrowd(t *testing.T) {
	testkit.WithoutRace(t)
	for _, tt := range []struct {
		free   int // slots that are free before
		within time.Duration
		most   float64 // reads and writes per host
		took   time.Duration
	}{
		{0, 0, 7, 5 * time.Second},
		{0, time.Second, 3, 3 * time.Second},
		{200, time.Second, 3, 3 * time.Second},
		{1000, time.Second, 2.2, 3 * time.Second},
		{2000, time.Second, 1.5, 1500 * time.Millisecond},
	} {
		if (testkit.Race || !testkit.IsFull()) && tt.free > 200 || testing.Short() && tt.within > 0 {
			continue // in full size it runs without the race detector
		}
		t.Run(fmt.Sprint(tt.free, " free, within ", tt.within), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				const hosts = 2000
				f.max = 1<<22 - 1
				var leases []workerassign.Lease
				for range tt.free {
					leases = append(leases, f.assign(f.assigner()))
				}
				for _, l := range leases {
					f.release(l)
				}
				time.Sleep(2 * time.Millisecond)
				_, c := f.start(hosts, tt.within)
				slots := f.Dump().Pool.Slots
				t.Logf("%.1f reads and %.1f writes per host; all have a lease after %v; the pool has %d slots", c.reads, c.writes, c.took, slots)
				if c.reads > tt.most || c.writes > tt.most || c.took > tt.took {
					t.Errorf("%.1f reads and %.1f writes per host, after %v; want at most %v, and %v", c.reads, c.writes, c.took, tt.most, tt.took)
				}
				if slots < hosts || slots > hosts+excess {
					t.Errorf("the pool has %d slots for %d hosts; want at most %d more", slots, hosts, excess)
				}
			})
		})
	}
}

// partialStore is a store that returns the same 8 of its free slots to all at most, and knows that there are more.
type partialStore struct{ recycled.Store }

func (p partialStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	const most = 8
	if q.Free == 0 || q.All {
		return p.Store.Read(ctx, q)
	}
	q.Free = 1 << 20
	s, err := p.Store.Read(ctx, q)
	if len(s.Slots) > most {
		s.Slots, s.MoreFree = s.Slots[:most], true
	}
	return s, err
}

// A store that returns only some of its free slots does not make a crowd add others.
func TestCrowdOnPartialStore(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const hosts = 300
		f.max = 1<<22 - 1
		var leases []workerassign.Lease
		for range hosts {
			leases = append(leases, f.assign(f.assigner()))
		}
		for _, l := range leases {
			f.release(l)
		}
		time.Sleep(2 * time.Millisecond)
		before := f.Dump().Pool.Slots
		_, c := f.startOn(slowStore{partialStore{f.Memory}, time.Millisecond / 2}, hosts, 0)
		slots := f.Dump().Pool.Slots
		t.Logf("%.1f reads and %.1f writes per host; all have a lease after %v; the pool had %d slots and has %d", c.reads, c.writes, c.took, before, slots)
		if slots > hosts+excess {
			t.Errorf("the pool has %d slots for %d hosts; want at most %d more", slots, hosts, excess)
		}
	})
}

// Rolling deployments whose hosts start at the same time use the slots of the fleet and of the overlap, and the
// excess of a crowd once, however many deployments there are.
func TestRollingDeploymentsOfCrowds(t *testing.T) {
	testkit.WithoutRace(t)
	deployments := testkit.Amount(5, 10, 50)
	inFleet(t, func(f *fleet) {
		const hosts, overlap = 200, 20
		f.max = 1023
		running := make([]workerassign.Lease, hosts)
		for range deployments {
			for batch := 0; batch < hosts; batch += overlap {
				started, _ := f.start(overlap, 0)
				for n, l := range started {
					if old := running[batch+n]; old != nil {
						f.release(old)
					}
					running[batch+n] = l
				}
				time.Sleep(10 * time.Second)
				for _, l := range running {
					if l != nil {
						f.reserve(l, 45*time.Second)
					}
				}
			}
		}
		n := f.Dump().Pool.Slots
		t.Logf("%d slots", n)
		if n > hosts+overlap+excess {
			t.Errorf("%d deployments of %d hosts, %d at a time, have used %d slots; want at most %d", deployments, hosts, overlap, n, hosts+overlap+excess)
		}
	})
}

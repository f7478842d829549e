package recycled_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// startAtOnce lets hosts take a lease within a second, on a store whose calls take 2 ms, and returns their
// leases, the time until all have one, and the calls.
func (f *fleet) startAtOnce(hosts int, opts func(host int) []recycled.Option) ([]workerassign.Lease, time.Duration, assigntest.Counts) {
	f.Helper()
	slow := slowStore{f.Memory, time.Millisecond}
	f.createPool()
	before, started := f.Counts(), time.Now()
	leases := make([]workerassign.Lease, hosts)
	var running sync.WaitGroup
	for host := range hosts {
		running.Go(func() {
			time.Sleep(rand.N(time.Second))
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			var o []recycled.Option
			if opts != nil {
				o = opts(host)
			}
			l, err := f.assignerOn(slow, o...).Assign(ctx, f.request())
			if err != nil {
				f.Errorf("host %d: %v", host, err)
				return
			}
			leases[host] = l
		})
	}
	running.Wait()
	after := f.Counts()
	return leases, time.Since(started), assigntest.Counts{Reads: after.Reads - before.Reads, Writes: after.Writes - before.Writes, Slots: after.Slots - before.Slots}
}

// Many hosts that start within a second do not read and write the store many times each: neither on an empty
// pool, nor on one whose slots were released, nor with names.
func TestManyHosts(t *testing.T) {
	testkit.WithoutRace(t)
	numbers := []int{1000, 10_000}
	if testkit.Race || !testkit.IsFull() {
		numbers = numbers[:1]
	}
	for _, hosts := range numbers {
		t.Run(fmt.Sprint(hosts), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.max = 1<<22 - 1
				check := func(what string, leases []workerassign.Lease, took time.Duration, c assigntest.Counts, most time.Duration) {
					n := float64(hosts)
					f.Logf("%s: all of %d hosts have a slot after %v; %.1f reads, %.1f slots read and %.1f writes per Assign; the pool has %d slots",
						what, hosts, took.Round(time.Millisecond), float64(c.Reads)/n, float64(c.Slots)/n, float64(c.Writes)/n, f.Dump().Pool.Slots)
					if r, w := float64(c.Reads)/n, float64(c.Writes)/n; r > 40 || w > 40 || took > most {
						f.Errorf("%s: %.1f reads and %.1f writes per Assign within %v; want at most 40 of each, and %v", what, r, w, took, most)
					}
					ids := map[int64]bool{}
					for _, l := range leases {
						if l != nil {
							if ids[l.WorkerID()] {
								f.Fatalf("worker ID %d has two leases", l.WorkerID())
							}
							ids[l.WorkerID()] = true
						}
					}
				}
				release := func(leases []workerassign.Lease) {
					for _, l := range leases {
						f.release(l)
					}
					time.Sleep(2 * time.Millisecond)
				}
				named := func(host int) []recycled.Option {
					return []recycled.Option{recycled.WithName(fmt.Sprint("host-", host))}
				}
				leases, took, c := f.startAtOnce(hosts, nil)
				check("an empty pool", leases, took, c, time.Minute)
				release(leases)
				leases, took, c = f.startAtOnce(hosts, nil)
				check("slots that were released", leases, took, c, time.Minute)
				release(leases)
				if hosts > 1000 {
					return
				}
				leases, took, c = f.startAtOnce(hosts, named)
				check("names that are new", leases, took, c, time.Minute)
				release(leases)
				leases, took, c = f.startAtOnce(hosts, named)
				check("names that had a slot", leases, took, c, 3*time.Second)
				if n := f.Dump().Pool.Slots; n > int64(hosts)*5/4 {
					f.Errorf("the pool has %d slots for %d hosts; want at most a quarter more", n, hosts)
				}
			})
		})
	}
}

// With many hosts and a layout that is just large enough, all get a slot, and one more does not.
func TestManyHostsFill(t *testing.T) {
	testkit.WithoutRace(t)
	inFleet(t, func(f *fleet) {
		const hosts = 1024
		f.max = hosts - 1
		leases, took, c := f.startAtOnce(hosts, nil)
		f.Logf("all of %d hosts have one of %d slots after %v; %.1f reads, %.1f slots read and %.1f writes per Assign", len(leases), hosts, took.Round(time.Millisecond),
			float64(c.Reads)/hosts, float64(c.Slots)/hosts, float64(c.Writes)/hosts)
		for _, l := range leases {
			f.reserve(l, time.Minute)
		}
		ctx, cancel := withTimeout(f, time.Second)
		defer cancel()
		if _, err := f.assigner().Assign(ctx, f.request()); !errors.Is(err, recycled.ErrPoolFull) {
			f.Errorf("Assign of one host more returned %v, want ErrPoolFull", err)
		}
	})
}

// Rolling deployments of 200 hosts use 200 slots and those of one deployment's overlap, on 10 bits, and each
// name's leases begin one after the other.
func TestRollingDeployments(t *testing.T) {
	testkit.WithoutRace(t)
	deployments := testkit.Amount(5, 10, 50)
	inFleet(t, func(f *fleet) {
		const hosts, overlap = 200, 20
		f.max = 1023
		running := make([]workerassign.Lease, hosts)
		lastUsed := make([]time.Time, hosts)
		for range deployments {
			for batch := 0; batch < hosts; batch += overlap {
				var old []workerassign.Lease
				for host := batch; host < batch+overlap; host++ {
					l := f.assign(f.assigner(recycled.WithName(fmt.Sprint("host-", host))))
					f.reserve(l, 45*time.Second)
					if l.NotBefore().Before(lastUsed[host]) && running[host] != nil && l.WorkerID() == running[host].WorkerID() {
						f.Fatalf("host %d begins at %v, and has used the time before %v", host, l.NotBefore(), lastUsed[host])
					}
					old = append(old, running[host])
					running[host] = l
				}
				time.Sleep(10 * time.Second)
				for n, l := range old {
					if l != nil {
						lastUsed[batch+n] = time.Now()
						f.release(l)
					}
				}
				time.Sleep(2 * time.Millisecond)
				for _, l := range running {
					if l != nil {
						f.reserve(l, 45*time.Second)
					}
				}
			}
		}
		if n := f.Dump().Pool.Slots; n > hosts+overlap {
			f.Errorf("%d deployments of %d hosts, %d at a time, have used %d slots; want at most %d", deployments, hosts, overlap, n, hosts+overlap)
		}
	})
}

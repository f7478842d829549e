package fleettest

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// memoryTarget returns a store in memory.
func memoryTarget() Target {
	pools := map[string]*assigntest.Memory{}
	return Target{Name: "memory", Open: func(pool string) recycled.Store {
		if pools[pool] == nil {
			pools[pool] = assigntest.NewMemory()
		}
		return pools[pool]
	}}
}

// The cost model of doc/internals/fleet.md is exact: a generator, busy or idle, makes one read and one write in each interval.
func TestUpkeep(t *testing.T) {
	const intervals = 10
	hosts := 40
	if testkit.Race {
		hosts = 10
	}
	for _, reserve := range []time.Duration{10 * time.Second, 30 * time.Second, 5 * time.Minute} {
		for _, cached := range []bool{true, false} {
			for _, busy := range []bool{true, false} {
				t.Run(fmt.Sprintf("R=%v,cached=%v,busy=%v", reserve, cached, busy), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						u := startUpkeep(t, memoryTarget(), hosts, reserve, cached)
						defer u.close(t)
						u.busy.Store(busy)
						time.Sleep(time.Minute + 33*time.Millisecond) // a ring is old, and no host has a tick just then
						c := u.run(intervals * Interval(reserve, time.Second))
						want := int64(hosts * intervals)
						// A busy Cached generator may drop a run as stale, and then stamps a unit more or less in this time. A busy
						// Default generator extends its lease with the first UID of a unit, or when its goroutine finds that this is due.
						differs := int64(0)
						if busy {
							differs = int64(max(hosts/8, 2))
						}
						if c.reads < c.writes || c.reads > c.writes+differs || c.writes < want-differs || c.writes > want+differs || c.lost != 0 {
							t.Errorf("%d reads and %d writes, of which %d lost a race, by %d hosts in %v; want %d (and at most %d more or less) of each, and 0",
								c.reads, c.writes, c.lost, hosts, intervals*Interval(reserve, time.Second), want, differs)
						}
						if n := u.failures.Load(); n != 0 {
							t.Errorf("%d takes failed", n)
						}
					})
				})
			}
		}
	}
}

// The numbers of doc/internals/fleet.md.
func TestInterval(t *testing.T) {
	for reserve, want := range map[time.Duration]time.Duration{10 * time.Second: 4 * time.Second, 30 * time.Second: 12 * time.Second, 5 * time.Minute: 113 * time.Second} {
		if got := Interval(reserve, time.Second); got != want {
			t.Errorf("Interval(%v) = %v, want %v", reserve, got, want)
		}
	}
}

// The parts, on a store in memory.
func TestMeasure(t *testing.T) { Measure(t, memoryTarget(), Assigns, Starts) }

// Ten times the layout's rate for ten simulated minutes.
func TestSustained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout, err := bitsalloc.New(31, 20, 6)
		if err != nil {
			t.Fatal(err)
		}
		s := sustained{meter: newMeter(memoryTarget(), "sustained"), scale: 1, layout: layout, overload: 10}
		s.run(t, 600)
		c := s.meter.counts()
		if most := int64(600 * s.calls(24) * 1.01); c.reads > most || c.writes > most || c.writes < most*8/10 {
			t.Errorf("%d reads and %d writes, want at most %d of each, by the cost model, and not much less", c.reads, c.writes, most)
		}
	})
}

// A load of k times the layout's rate uses as many worker IDs as doc/fleet.md says, with a borrow limit of 24 units.
func TestSustainedWorkerIDs(t *testing.T) {
	layout, err := bitsalloc.New(31, 20, 6)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []float64{1.5, 2, 3, 12.2, 24, 50} {
		synctest.Test(t, func(t *testing.T) {
			s := sustained{meter: newMeter(memoryTarget(), "sustained"), scale: 1, layout: layout, overload: k}
			s.run(t, 300)
			if most := int64(math.Ceil(k*26/25)) + 1; s.meter.pool(t).Slots > most {
				t.Errorf("%.1f times the rate: %d worker IDs, want at most %d", k, s.meter.pool(t).Slots, most)
			}
		})
	}
}

package uid

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// newCalmFleet returns a fleet of hosts on a store without faults.
func newCalmFleet(tb testing.TB, layout string, unit, horizon time.Duration, opts ...any) *slotFleet {
	tb.Helper()
	l, err := bitsalloc.ParseLayout(layout)
	if err != nil {
		tb.Fatal(err)
	}
	f := &slotFleet{rnd: rand.New(rand.NewPCG(1, 2)), clock: fleetStart, owners: make(map[[2]int64]*slotProcess),
		bound: workerassign.DefaultClockBound, horizon: horizon, fencing: workerassign.DefaultFencing, skew: workerassign.DefaultSkew,
		isCalm: true, isNested: true}
	f.init(l, unit, opts...)
	f.ledger = nil // these fleets live long
	f.primary.mostFree = 0
	return f
}

// live lets time pass. Each process stamps so many time units a second, and its background tasks run.
func (f *slotFleet) live(seconds, unitsPerSecond int) {
	for range seconds {
		f.clock = f.clock.Add(time.Second)
		for _, h := range f.hosts {
			if h.process != nil {
				f.take(h.process, unitsPerSecond)
				h.process.runTasks(1 << 20)
			}
		}
	}
}

// boot starts a process, which fills its ring.
func (f *slotFleet) boot(tb testing.TB, h *slotHost) (workerID int64, first ID) {
	tb.Helper()
	if err := f.start(h, false); err != nil {
		tb.Fatalf("host %d was refused: %v", h.number, err)
	}
	p := h.process
	f.take(p, 1)
	_, workerID, _ = f.format.layout.Split(int64(p.last))
	first = p.last - ID(f.format.layout.MaxSequence())
	f.take(p, 1<<DefaultBoostPower-1)
	return workerID, first
}

// A layout of 10 worker bits survives rolling deployments of 200 hosts, one after the other: in
// each, ten hosts at a time are replaced. With names, as in a StatefulSet, a host stops before its successor starts: each name keeps its
// worker ID and the order of its UIDs, and the pool has 200 slots. Without names, as in a Deployment, the successor
// starts first, and the pool has as many slots as there were processes at the same time.
func TestRollingDeployments(t *testing.T) {
	testkit.WithoutRace(t)
	const hosts, batch = 200, 10
	deployments := testkit.Amount(1, 3, 50)
	for _, named := range []bool{true, false} {
		t.Run(fmt.Sprintf("names %v", named), func(t *testing.T) {
			t.Parallel()
			f := newCalmFleet(t, "1-41-10-12", time.Second, workerassign.DefaultHorizon)
			workerIDs := map[string]int64{}
			for n := range hosts {
				h := f.addHost(n)
				if named {
					h.name = fmt.Sprintf("orders-%d", n)
				}
				workerIDs[h.name], _ = f.boot(t, h)
			}
			f.live(60, 1)
			for range deployments {
				for from := 0; from < hosts; from += batch {
					old := f.hosts[from : from+batch]
					if named {
						for _, h := range old {
							f.stop(h)
						}
						f.live(15, 1) // until it is up again
						for _, h := range old {
							workerID, first := f.boot(t, h)
							if workerID != workerIDs[h.name] || first <= h.lastID {
								t.Fatalf("%s has worker ID %d after %d, and the UID %v after %v", h.name, workerID, workerIDs[h.name],
									f.format.Parse(first), f.format.Parse(h.lastID))
							}
						}
					} else {
						for n := range batch {
							next := &slotHost{number: old[n].number, fixed: -1, lastID: -1}
							f.boot(t, next)
							f.hosts = append(f.hosts, next)
						}
						f.live(5, 1) // until they are ready
						for n, h := range old {
							f.stop(h)
							f.hosts[from+n] = f.hosts[hosts+n]
						}
						f.hosts = f.hosts[:hosts]
					}
					f.live(15, 1)
				}
				if f.err != nil {
					t.Fatal(f.err)
				}
			}
			t.Logf("%d starts, %d UIDs of %d time units; %d slots were held at most, %d were added", f.starts, f.units*(f.format.layout.MaxSequence()+1), f.units, f.primary.mostHeld, f.mostSlots)
			most := hosts
			if !named {
				most += batch // which starts before the processes that it replaces stop
			}
			if f.starts != int64(hosts*(deployments+1)) || f.primary.mostHeld > most || f.mostSlots > int64(most) {
				t.Errorf("%d starts; %d slots were held at the same time, and %d were added; want at most %d",
					f.starts, f.primary.mostHeld, f.mostSlots, most)
			}
		})
	}
}

// Ten times the layout's rate, sustained for a month, takes a fixed number of worker IDs for each generator: at k times
// the rate, k + 1, whatever the borrow limit L is. UID time runs ahead of the clock by k-1 units in a unit, and reaches
// the limit after L/(k-1). A slot that is released there becomes free when the clock has reached its last unit, L later.
// Meanwhile k-1 others are used up and released. One is in use, and one is prepared.
func TestSustainedOverload(t *testing.T) {
	testkit.WithoutRace(t)
	const load = 10
	for name, tt := range map[string]struct {
		horizon time.Duration
		hosts   int
		days    int
	}{
		"default horizon":          {workerassign.DefaultHorizon, 1, 1},
		"several generators":       {workerassign.DefaultHorizon, 5, 1},
		"a month, and long leases": {20 * time.Minute, 1, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seconds := testkit.Amount(600, 3_600, tt.days*86_400)
			f := newCalmFleet(t, "1-41-10-12", time.Second, tt.horizon)
			f.lastUnits = make(map[int64]int64)
			for n := range tt.hosts {
				f.boot(t, f.addHost(n))
			}
			f.live(600, load) // until all have reached the limit
			early, before := f.mostSlots, f.units
			f.live(seconds, load)
			if f.err != nil {
				t.Fatal(f.err)
			}
			changes := uint64(0)
			for _, h := range f.hosts {
				changes += h.process.runs.changes.Load()
			}
			stamped, want := f.units-before, int64(tt.hosts*seconds*load)
			t.Logf("%v: %d worker IDs for %d generators, %d changes of the lease; %d of %d time units were stamped",
				time.Duration(seconds)*time.Second, f.mostSlots, tt.hosts, changes, stamped, want)
			if most := int64(tt.hosts * (load + 1)); f.mostSlots > most || f.mostSlots < int64(tt.hosts*load) {
				t.Errorf("%d worker IDs were used, %d of them in the first ten minutes; want at most %d", f.mostSlots, early, most)
			}
			if stamped < want*99/100 {
				t.Errorf("%d time units were stamped, want %d", stamped, want)
			}
		})
	}
}

// Years in the life of a fleet of 2,000 hosts on a store that fails over several times a day: hosts restart, crash, are
// paused or idle for days. The pool does not grow beyond two slots for each host: after a failover a generator takes
// another slot before its old one becomes free.
func TestYearsOfAFleet(t *testing.T) {
	t.Parallel()
	const hosts = 2_000
	days := testkit.Amount(2, 20, 3*365)
	f := newCalmFleet(t, "1-41-12-10", time.Second, workerassign.DefaultHorizon, WithReserveAhead(20*time.Second))
	f.isNested, f.isCalm, f.lossy, f.primary.noLoss = false, false, true, false
	for n := range hosts {
		h := f.addHost(n)
		h.offset = f.millis(3000) - 1500*time.Millisecond
		if n%3 == 0 {
			h.name = fmt.Sprintf("orders-%d", n)
		}
	}
	for range days {
		for range 4 { // a few busy minutes of some of the hosts, several times a day
			for range 15 {
				h := f.hosts[f.rnd.IntN(hosts)]
				f.clock = f.clock.Add(f.millis(4000))
				switch k := f.rnd.IntN(20); {
				case h.process == nil:
					f.start(h, f.chance(3))
				case k < 2:
					f.crash(h)
				case k < 4:
					f.stop(h)
				default:
					for range 4 {
						f.take(h.process, 1+f.rnd.IntN(20))
						h.process.runTasks(3)
						f.clock = f.clock.Add(time.Second)
					}
				}
			}
			if f.chance(100) {
				f.failover()
			}
			if f.chance(10) {
				f.replicate()
			}
			f.clock = f.clock.Add(6 * time.Hour)
		}
		if f.err != nil {
			t.Fatal(f.err)
		}
	}
	t.Logf("%d days: %d starts, %d time units, %d failovers, %d leases lost, %d slots", days, f.starts, f.units, f.failovers, f.lostLeases, f.mostSlots)
	if f.mostSlots > 2*hosts || f.starts < int64(days) {
		t.Errorf("%d starts took %d slots", f.starts, f.mostSlots)
	}
}

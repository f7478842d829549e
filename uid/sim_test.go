package uid

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/internal/unitclock"
	"github.com/ringuid/ringuid/ringbuffer"
)

var (
	simSeed   = flag.Uint64("sim.seed", 0, "replay the simulation of this seed; 0 simulates sim.seeds seeds")
	simFirst  = flag.Uint64("sim.first", 1, "the first seed to simulate")
	simLedger = flag.Bool("sim.ledger", false, "only the ledger looks for faults of recycled worker IDs, and UIDs are not compared")
	simSeeds  = flag.Uint64("sim.seeds", 0, "how many seeds to simulate; 0: as many as the size of the tests says")
)

// A simulation is a fleet of generators with a simulated store, on clocks that step, stand still and
// differ. It runs in one goroutine, without a wall clock and without sleeping, and all its random
// numbers come from one seed. It checks each UID against all UIDs before it.
type simulation struct {
	rnd             *rand.Rand
	brokenInvariant int // the invariant that is broken on purpose; 0 for none; 6 is invariant 1, broken by Release
	format          Format
	opts            []any
	store           *simStore
	hosts           []*simHost

	owners       map[[2]int64]*simProcess // which process stamped a time unit with a worker ID: invariants 1 and 2
	endedContext context.Context          // for takes that must not wait
	trace        simTrace                 // the events, the latest one last
	err          error                    // the first violation of an invariant

	uids, leases, rollovers, exhausted, lost, refused, released int64
}

// simHost is a host. Its clock outlives its processes.
type simHost struct {
	number    int
	clock     *fakeclock.Clock
	process   *simProcess // nil while none runs
	paused    int         // the process does not run for this number of events, as after SIGSTOP
	frozen    int         // the clock stands still for this number of events
	drift     int64       // by how many thousandths the wall clock is faster than the monotonic one
	notBefore time.Time   // with a static worker ID, no process may start while the clock shows an earlier time
}

// simProcess is a process.
type simProcess struct {
	host             *simHost
	clock            *unitclock.Clock
	leases           *leasing.Manager
	runs             *runProvider     // of a Cached generator
	ring             *ringbuffer.Ring // that runs fill
	defaultGenerator *Default         // nil if it has a Cached generator
	exhausted        bool             // the generator has returned ErrTimeExhausted
	tasks            []func()         // of its lease manager, which run later
	last             ID               // the last UID
}

// fail records the violation of an invariant, with the latest events.
func (s *simulation) fail(invariant int, format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("invariant %d: %s\n%s", invariant, fmt.Sprintf(format, args...),
			s.trace.last(15))
	}
}

func (s *simulation) record(h *simHost, format string, args ...any) {
	s.trace.add(h.clock.Now(), h.number, format, args)
}

// newSimulation returns a simulation whose fleet depends on the seed.
func newSimulation(seed uint64, broken int) *simulation {
	s := &simulation{
		rnd:             rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)),
		brokenInvariant: broken,
		owners:          make(map[[2]int64]*simProcess),
	}
	var end context.CancelFunc
	s.endedContext, end = context.WithCancel(context.Background())
	end()
	layouts := []string{"1-31-20-3", "1-40-12-5", "1-32-10-1", "1-13-30-4", "1-50-8-5"}
	unit := []time.Duration{time.Second, time.Second, 100 * time.Millisecond, time.Millisecond}[s.rnd.IntN(4)]
	l, err := bitsalloc.ParseLayout(layouts[s.rnd.IntN(len(layouts))])
	if err != nil {
		panic(err)
	}
	epoch := noon.Add(-time.Hour).Truncate(time.Second)
	if s.rnd.IntN(4) == 0 || broken == 5 { // time bits that end soon
		l, _ = bitsalloc.ParseLayout("1-13-30-4")
		epoch = noon.Add(-8000 * unit).Truncate(time.Second)
	}
	if l.TimeBits() < 20 {
		unit = max(unit, time.Second)
		epoch = noon.Add(-time.Duration(7000+s.rnd.IntN(1100)) * time.Second).Truncate(time.Second)
	}
	s.opts = []any{discardLog(), WithLayout(l), WithEpoch(epoch), WithTimeUnit(unit), WithBoostPower(0),
		WithMaxBorrow(time.Duration(2+s.rnd.IntN(40)) * unit), WithReserveAhead(time.Duration(1+s.rnd.IntN(20)) * unit),
		WithRollover(s.rnd.IntN(3) > 0), WithTakePolicy(Fail)}
	if s.rnd.IntN(4) == 0 {
		s.opts = append(s.opts, WithRolloverInterval(time.Duration(s.rnd.IntN(30_000))*time.Millisecond))
	}
	if s.rnd.IntN(2) == 0 {
		s.opts = append(s.opts, WithRollback(Refuse()))
	}
	s.store = &simStore{s: s, recycles: s.rnd.IntN(3) == 0, maxWorkerID: l.MaxWorkerID() - staticWorkerIDs,
		latest: make(map[int64]*simLease), clock: fakeclock.New(noon)}
	if s.rnd.IntN(3) == 0 {
		s.store.horizon = time.Duration(5+s.rnd.IntN(60)) * unit
	}
	hosts := 1 + s.rnd.IntN(12)
	if s.rnd.IntN(50) == 0 {
		hosts = 100 + s.rnd.IntN(200)
	}
	for n := range hosts {
		skew := time.Duration(s.rnd.IntN(4000)-2000) * time.Millisecond
		s.hosts = append(s.hosts, &simHost{number: n, clock: fakeclock.New(noon.Add(skew)), drift: int64(s.rnd.IntN(41) - 20)})
	}
	return s
}

// run simulates a number of events.
func (s *simulation) run(events int) error {
	for range events {
		s.event(s.hosts[s.rnd.IntN(len(s.hosts))])
		if s.err != nil {
			break
		}
	}
	for _, h := range s.hosts {
		if h.process != nil {
			s.crash(h)
		}
	}
	return s.err
}

const simEventCount = 600

// numberOfSeeds returns how many seeds to simulate: sim.seeds if it is set, or about as testkit.Amount. With the race detector, which
// finds little in one goroutine, the test is skipped in the usual size.
func numberOfSeeds(t *testing.T, small, usual, full uint64) uint64 {
	switch {
	case *simSeeds != 0:
		return *simSeeds
	case testkit.Race:
		testkit.WithoutRace(t)
		return 5 * small
	}
	return testkit.Amount(small, usual, full)
}

// A fleet with faulty clocks and a faulty store generates no duplicate UID, none that is negative or
// does not fit the layout, and none out of order. A failure names its seed, which the flag sim.seed
// replays.
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		s := newSimulation(*simSeed, 0)
		if err := s.run(simEventCount + 20*len(s.hosts)); err != nil {
			t.Errorf("seed %d: %v", *simSeed, err)
		}
		t.Log(&s.trace)
		return
	}
	t.Parallel()
	seeds := numberOfSeeds(t, 60, 600, 20_000)
	var total simulation
	for seed := *simFirst; seed < *simFirst+seeds; seed++ {
		s := newSimulation(seed, 0)
		if err := s.run(simEventCount + 20*len(s.hosts)); err != nil {
			t.Fatalf("seed %d (to replay it, use -sim.seed=%d): %v", seed, seed, err)
		}
		total.uids, total.leases, total.rollovers = total.uids+s.uids, total.leases+s.leases, total.rollovers+s.rollovers
		total.exhausted, total.refused, total.lost = total.exhausted+s.exhausted, total.refused+s.refused, total.lost+s.lost
		total.released += s.released
	}
	t.Logf("%d seeds: %d UIDs, %d leases, %d rollovers; refused: %d takes after the end of the time bits, %d while the clock was set back; "+
		"%d replies of the store lost; %d leases released before their grant was used up",
		seeds, total.uids, total.leases, total.rollovers, total.exhausted, total.refused, total.lost, total.released)
	if total.uids == 0 || total.leases == 0 || total.rollovers == 0 ||
		total.exhausted == 0 || total.refused == 0 || total.lost == 0 || total.released == 0 {
		t.Error("at least one of these never happened")
	}
}

// The simulation finds each of the invariants 1 to 5 if it is broken on purpose. 6 is invariant 1
// again, broken by a Release that reports less time than was used.
func TestSimulationFindsWhatIsBroken(t *testing.T) {
	for broken := 1; broken <= 6; broken++ {
		t.Run(fmt.Sprint(broken), func(t *testing.T) {
			for seed := range uint64(2_000) {
				if err := newSimulation(seed+1, broken).run(simEventCount); err != nil {
					t.Logf("seed %d: %.200s", seed+1, err.Error())
					return
				}
			}
			t.Errorf("invariant %d is broken, but 2,000 seeds did not find it", broken)
		})
	}
}

// A seed always gives the same events and UIDs.
func TestSimulationReplays(t *testing.T) {
	for seed := range testkit.Amount[uint64](2, 5, 50) {
		a, b := newSimulation(seed+1, 0), newSimulation(seed+1, 0)
		a.run(simEventCount)
		b.run(simEventCount)
		if a.uids != b.uids || a.trace.String() != b.trace.String() {
			t.Fatalf("seed %d: two runs differ", seed+1)
		}
	}
}

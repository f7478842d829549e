package uid

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/fakeclock"
	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/unitclock"
	"github.com/ringuid/ringuid/ringbuffer"
)

var (
	simSeed  = flag.Uint64("sim.seed", 0, "the one seed that the simulation replays; 0 for as many as sim.seeds says")
	simSeeds = flag.Uint64("sim.seeds", 20_000, "how many seeds the simulation runs")
)

// A simulation is a fleet of generators on a simulated store and on clocks that step, freeze
// and differ: in one goroutine, without a wall clock and without sleeping, with all chance from
// one seed. All UIDs that it hands out are checked against all before.
type simulation struct {
	rnd             *rand.Rand
	brokenInvariant int // the invariant that is broken on purpose; 0 for none, 6 for what is given back
	format          Format
	opts            []Option
	store           *simStore
	hosts           []*simHost

	owners       map[[2]int64]*simProcess // who stamped a time unit with a worker ID: invariants 1 and 2
	endedContext context.Context          // for takes that shall not wait
	trace        []string                 // what happened, the latest last
	err          error                    // what was found

	uids, leases, rollovers, exhausted, lost, refused, released int64
}

// simNode is a host. Its clock outlives its processes.
type simHost struct {
	number    int
	clock     *fakeclock.Clock
	process   *simProcess // nil while no process runs
	paused    int         // as by SIGSTOP: for so many events nothing runs
	frozen    int         // for so many events the clock stands still
	drift     int64       // how much faster the wall clock goes than the monotonic one, in thousandths
	notBefore time.Time   // for a static worker ID: a process must not start with the clock before it
}

// simLife is a process.
type simProcess struct {
	host             *simHost
	clock            *unitclock.Clock
	leases           *leasing.Manager
	runs             *runProvider     // of a Cached generator
	ring             *ringbuffer.Ring // which it fills
	defaultGenerator *Default         // or a Default generator
	exhausted        bool             // it said that the time bits are
	tasks            []func()         // what its lease manager started in the background
	last             ID               // the last UID
}

// fail notes what was found.
func (s *simulation) fail(invariant int, format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("invariant %d: %s\n%s", invariant, fmt.Sprintf(format, args...),
			strings.Join(s.trace[max(0, len(s.trace)-15):], "\n"))
	}
}

func (s *simulation) record(n *simHost, format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf("node %d at %s: %s", n.number, n.clock.Now().Format("01-02 15:04:05.000"), fmt.Sprintf(format, args...)))
}

// newSimulation makes a fleet of the seed's choice.
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
	s.opts = []Option{discardLog(), WithLayout(l), WithEpoch(epoch), WithTimeUnit(unit), WithBoostPower(0),
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
	nodes := 1 + s.rnd.IntN(12)
	if s.rnd.IntN(50) == 0 {
		nodes = 100 + s.rnd.IntN(200)
	}
	for n := range nodes {
		skew := time.Duration(s.rnd.IntN(4000)-2000) * time.Millisecond
		s.hosts = append(s.hosts, &simHost{number: n, clock: fakeclock.New(noon.Add(skew)), drift: int64(s.rnd.IntN(41) - 20)})
	}
	return s
}

// run lets the fleet live.
func (s *simulation) run(events int) error {
	for range events {
		s.event(s.hosts[s.rnd.IntN(len(s.hosts))])
		if s.err != nil {
			break
		}
	}
	for _, n := range s.hosts {
		if n.process != nil {
			s.crash(n)
		}
	}
	return s.err
}

const simEventCount = 600

// A fleet on bad clocks and a bad store makes no UID twice, none that is negative or does not
// fit, and none out of order. A failure names its seed, and `-sim.seed` replays it.
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		s := newSimulation(*simSeed, 0)
		if err := s.run(simEventCount + 20*len(s.hosts)); err != nil {
			t.Errorf("seed %d: %v", *simSeed, err)
		}
		t.Log(strings.Join(s.trace, "\n"))
		return
	}
	seeds := *simSeeds
	if testing.Short() || raceEnabled {
		seeds = min(seeds, 1_000)
	}
	var sum simulation
	for seed := range seeds {
		s := newSimulation(seed+1, 0)
		if err := s.run(simEventCount + 20*len(s.hosts)); err != nil {
			t.Fatalf("seed %d (replay it by -sim.seed=%d): %v", seed+1, seed+1, err)
		}
		sum.uids, sum.leases, sum.rollovers = sum.uids+s.uids, sum.leases+s.leases, sum.rollovers+s.rollovers
		sum.exhausted, sum.refused, sum.lost = sum.exhausted+s.exhausted, sum.refused+s.refused, sum.lost+s.lost
		sum.released += s.released
	}
	t.Logf("%d seeds: %d UIDs, %d leases, %d rollovers; %d takes beyond the end of time and %d with the clock set back refused; "+
		"%d of the store's replies lost; %d spans given back in part", seeds, sum.uids, sum.leases, sum.rollovers, sum.exhausted, sum.refused, sum.lost, sum.released)
	if sum.uids == 0 || sum.leases == 0 || sum.rollovers == 0 || sum.exhausted == 0 || sum.refused == 0 || sum.lost == 0 || sum.released == 0 {
		t.Error("something never happened")
	}
}

// The simulation finds what breaks an invariant: each of 1 to 5, broken on purpose,
// and 1 once more (as 6): by a lease that is given back with less than was used.
func TestSimulationFindsWhatIsBroken(t *testing.T) {
	for broken := 1; broken <= 6; broken++ {
		t.Run(fmt.Sprint(broken), func(t *testing.T) {
			for seed := range uint64(2_000) {
				if err := newSimulation(seed+1, broken).run(simEventCount); err != nil {
					t.Logf("seed %d: %.200s", seed+1, err.Error())
					return
				}
			}
			t.Errorf("invariant %d is broken, and 2,000 seeds do not show it", broken)
		})
	}
}

// The same seed tells the same story.
func TestSimulationReplays(t *testing.T) {
	for seed := range uint64(50) {
		a, b := newSimulation(seed+1, 0), newSimulation(seed+1, 0)
		a.run(simEventCount)
		b.run(simEventCount)
		if a.uids != b.uids || strings.Join(a.trace, "\n") != strings.Join(b.trace, "\n") {
			t.Fatalf("seed %d: two stories", seed+1)
		}
	}
}

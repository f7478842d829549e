//go:build unix

package allstores

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/ledger"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/stores/storetest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

var soak = flag.Duration("soak", 0, "how long TestSoak runs; the default is one round of each store, with RINGUID_FULL")

// roundTime is how long a fleet runs. Then its ledger is checked, and another fleet goes on with the same store.
const roundTime = 20 * time.Second

// A soakResult is what happened on one store.
type soakResult struct {
	rounds, uids, taken, numbers, duplicates, writes, unknown, stamps, violations int64
	longest                                                                       time.Duration // without UIDs that generators return
	faults                                                                        map[string]int
}

// A fleet on each store lives for a chosen time with random faults: UIDs, numbers, and each call of the stores are checked.
func TestSoak(t *testing.T) {
	if address := fleettest.ProcessAddress(); address != "" {
		s := ledger.NewChild(os.Stdout).Client(openAddress(t, address), fleettest.ClockBound)
		a := s.Assigner(fleettest.Assigner(s))
		fleettest.RunProcess(s, 2*time.Second, 40*time.Millisecond, func(ctx context.Context, cached bool) (uid.Generator, error) {
			return fleettest.NewGenerator(ctx, a, cached)
		})
	}
	if *soak == 0 {
		testkit.Full(t, "make soak runs it for a chosen time")
	}
	var mu sync.Mutex
	results := map[string]*soakResult{}
	t.Run("stores", func(t *testing.T) {
		onEach(t, true, func(t *testing.T, h storetest.Harness, address addressFunc) {
			r := &soakResult{faults: map[string]int{}}
			mu.Lock()
			results[strings.TrimPrefix(t.Name(), "TestSoak/stores/")] = r
			mu.Unlock()
			s := &soaking{T: t, h: h, address: address, result: r}
			for end := time.Now().Add(*soak); r.rounds == 0 || time.Now().Before(end) && !t.Failed(); r.rounds++ {
				s.round()
			}
		})
	})
	text := "| store | rounds | UIDs | of generators | numbers | writes acknowledged | unknown | time units stamped | faults | longest time without UIDs | duplicates | violations |\n" +
		"|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|\n"
	for _, name := range slices.Sorted(maps.Keys(results)) {
		r := results[name]
		faults := ""
		for _, fault := range slices.Sorted(maps.Keys(r.faults)) {
			faults += fmt.Sprintf("%s %d, ", fault, r.faults[fault])
		}
		text += fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %s | %v | %d | %d |\n", name, r.rounds, r.uids, r.taken, r.numbers, r.writes, r.unknown, r.stamps,
			strings.TrimSuffix(faults, ", "), r.longest.Round(time.Millisecond), r.duplicates, r.violations)
	}
	t.Log("\n" + text)
}

// soaking is one store of TestSoak.
type soaking struct {
	*testing.T
	h         storetest.Harness
	address   addressFunc
	result    *soakResult
	processes *fleettest.Processes
	process   *testkit.Child    // one of two, which is killed
	last      *fleettest.Fleet  // of the round before
	takers    *takertest.Takers // which run, or nil
	tag       *takertest.Takers // who used the tag last; nil: it does not exist yet
	failovers int               // that lose writes
	clock     time.Duration     // by how much the server's clock differs
	acked     acked
}

const soakStore = "soak"

// open returns another client, which is closed at the end of the round.
func (s *soaking) open(t *testing.T) storetest.Store {
	return soakClient{s.h.New(t, soakStore), &s.acked}
}

// noticesLoss reports whether no number of a tag comes twice after a failover that loses writes. Leaf's table does not notice one.
func (s *soaking) noticesLoss() bool { return s.h.Tags.LoseWrites != nil }

// openTags returns another client of the store of the tag. After a failover that the tag does not notice, it is another store with another
// tag.
func (s *soaking) openTags(t *testing.T) storetest.Store {
	if s.failovers == 0 || s.noticesLoss() {
		return s.h.New(t, soakStore)
	}
	return s.h.New(t, fmt.Sprint(soakStore, s.failovers+1))
}

// round lets a fleet live with faults.
func (s *soaking) round() {
	s.Run("round", func(t *testing.T) {
		f := fleettest.New()
		defer s.add(t, f) // also after a failure
		if s.last == nil {
			f.First(t, s.open(t))
		} else {
			testkit.Retry(t, "the store can be read", func() error {
				state, err := s.open(t).Read(t.Context(), recycled.Query{All: true})
				if err == nil {
					f.Begin(state, s.last)
				}
				return err
			})
		}
		for n := range 4 {
			f.Run(s.open(t), n%2 == 0, time.Duration(n)*time.Second)
		}
		for range 2 {
			f.RunLeases(s.open(t))
		}
		s.startTakers(t)
		defer f.End() // before the stores are closed
		defer s.watch(f)()
		s.processes = fleettest.NewProcesses(f)
		defer s.processes.KillAll()
		s.processes.Start(t, s.address(t, soakStore))
		s.process = s.processes.Start(t, s.address(t, soakStore))
		f.WaitAllLeases(t, 6)
		for end := time.Now().Add(roundTime); time.Now().Before(end); time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond) {
			s.disturb(t)
		}
		f.WaitLeases(t, 4) // it recovers
		s.processes.Wait(t, 10, 1)
		if s.takers != nil {
			s.takers.Wait(1)
		}
	})
}

// add ends a round, and adds what happened to the result.
func (s *soaking) add(t *testing.T, f *fleettest.Fleet) {
	s.endTakers()
	t.Log(f.End())
	report := f.Ledger()
	t.Log(report)
	for _, err := range f.Wrong(report) {
		t.Error(err)
	}
	s.last = f
	r := s.result
	r.uids, r.taken, r.duplicates = r.uids+f.Generated(), r.taken+f.Taken(), r.duplicates+f.Duplicates()
	r.writes, r.unknown, r.stamps = r.writes+int64(report.Writes), r.unknown+int64(report.Unknown), r.stamps+int64(report.Stamps)
	r.violations += int64(len(report.Violations))
}

// startTakers starts takers of numbers, until the round ends or writes are lost.
func (s *soaking) startTakers(t *testing.T) {
	s.takers = takertest.New(t)
	if s.tag == nil {
		takertest.Create(t, s.openTags(t))
	} else {
		s.takers.Follow(s.tag)
	}
	s.tag = s.takers
	for n := range 2 {
		s.takers.Run(s.openTags(t), n == 0, 2*time.Second)
	}
}

// endTakers ends the takers, and adds what they took to the result.
func (s *soaking) endTakers() {
	if k := s.takers; k != nil {
		s.takers = nil
		k.Check()
		s.result.numbers, s.result.duplicates = s.result.numbers+k.Len(), s.result.duplicates+k.Duplicates()
	}
}

// watch notes the longest time in which the fleet's generators returned no UID, until the returned function is called.
func (s *soaking) watch(f *fleettest.Fleet) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		last, when := int64(0), time.Now()
		for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			now := f.Taken()
			if now != last {
				last, when = now, time.Now()
			}
			s.result.longest = max(s.result.longest, time.Since(when))
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

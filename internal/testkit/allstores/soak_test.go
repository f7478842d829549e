//go:build unix

package allstores

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/stores/storetest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

var soak = flag.Duration("soak", 0, "how long TestSoak runs; the default is one round of each store, with RINGUID_FULL")

// roundTime is how long a fleet runs. Then its ledger is checked, and another fleet goes on with the same store.
const roundTime = 20 * time.Second

// A soakResult is what happened on one store.
type soakResult struct {
	rounds, uids, numbers, duplicates, writes, unknown, stamps, violations int64
	longest                                                                time.Duration // without UIDs
	faults                                                                 map[string]int
}

// A fleet on each store lives for a chosen time with random faults: UIDs, numbers, and each call of the stores are checked.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		testkit.Full(t, "make soak runs it for a chosen time")
	}
	var mu sync.Mutex
	results := map[string]*soakResult{}
	t.Run("stores", func(t *testing.T) {
		onEach(t, true, func(t *testing.T, h storetest.Harness) {
			r := &soakResult{faults: map[string]int{}}
			mu.Lock()
			results[strings.TrimPrefix(t.Name(), "TestSoak/stores/")] = r
			mu.Unlock()
			s := &soaking{T: t, h: h, result: r}
			for end := time.Now().Add(*soak); r.rounds == 0 || time.Now().Before(end) && !t.Failed(); r.rounds++ {
				s.round()
			}
		})
	})
	text := "| store | rounds | UIDs | numbers | writes acknowledged | unknown | time units stamped | faults | longest time without UIDs | duplicates | violations |\n" +
		"|---|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|\n"
	for _, name := range slices.Sorted(maps.Keys(results)) {
		r := results[name]
		faults := ""
		for _, fault := range slices.Sorted(maps.Keys(r.faults)) {
			faults += fmt.Sprintf("%s %d, ", fault, r.faults[fault])
		}
		text += fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %s | %v | %d | %d |\n", name, r.rounds, r.uids, r.numbers, r.writes, r.unknown, r.stamps,
			strings.TrimSuffix(faults, ", "), r.longest.Round(time.Millisecond), r.duplicates, r.violations)
	}
	t.Log("\n" + text)
}

// soaking is one store of TestSoak.
type soaking struct {
	*testing.T
	h      storetest.Harness
	result *soakResult
	last   *fleettest.Fleet // of the round before
}

const soakStore = "soak"

// open returns another client, which is closed at the end of the round.
func (s *soaking) open(t *testing.T) storetest.Store { return s.h.New(t, soakStore) }

// round lets a fleet live with faults.
func (s *soaking) round() {
	s.Run("round", func(t *testing.T) {
		f, k := fleettest.New(), takertest.New(t)
		if s.result.rounds == 0 {
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
		if s.h.Slots.LoseWrites == nil { // Leaf's table does not notice lost writes
			if s.result.rounds == 0 {
				takertest.Create(t, s.open(t))
			}
			for n := range 2 {
				k.Run(s.open(t), n == 0, 2*time.Second)
			}
		}
		watched := s.watch(f)
		defer watched()
		defer f.End() // also after a failure, before the stores are closed
		f.WaitAllLeases(t, 6)
		for end := time.Now().Add(roundTime); time.Now().Before(end); time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond) {
			s.disturb(t)
		}
		f.WaitLeases(t, 4) // it recovers
		watched()
		t.Log(f.End())
		report := f.Ledger()
		t.Log(report)
		k.End()
		s.last = f
		r := s.result
		r.uids, r.duplicates = r.uids+f.Generated(), r.duplicates+f.Duplicates()+k.Duplicates()
		r.numbers = k.Len() + r.numbers
		r.writes, r.unknown, r.stamps = r.writes+int64(report.Writes), r.unknown+int64(report.Unknown), r.stamps+int64(report.Stamps)
		r.violations += int64(len(report.Violations))
		if f.Duplicates() != 0 || k.Duplicates() != 0 || len(report.Violations) != 0 {
			t.Errorf("%d UIDs and %d numbers twice, %d violations of the rules", f.Duplicates(), k.Duplicates(), len(report.Violations))
		}
	})
}

// watch notes the longest time in which the fleet generated no UID, until the returned function is called.
func (s *soaking) watch(f *fleettest.Fleet) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		last, when := int64(0), time.Now()
		for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			now := f.Generated()
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

// disturb injects one fault, for a random time.
func (s *soaking) disturb(t *testing.T) {
	f := s.h.Slots
	wait := func() { time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond) }
	faults := map[string]func(){}
	add := func(name string, has bool, inject func()) {
		if has {
			faults[name] = inject
		}
	}
	add("kill", f.Kill != nil, func() { f.Kill(t); wait(); f.Start(t) })
	add("pause", f.Pause != nil, func() { f.Pause(t); wait(); f.Resume(t) })
	add("lost requests", f.LoseRequests != nil, func() { f.LoseRequests(t, wait) })
	add("lost replies", f.LoseReplies != nil, func() { f.LoseReplies(t, wait) })
	const lossy = "failover that loses writes" // each one adds a server, with all that the one before has
	add(lossy, f.LoseWrites != nil && s.result.faults[lossy] < 5, func() { f.LoseWrites(t, wait) })
	add("step of the clock", f.StepClock != nil, func() { f.StepClock(t, time.Duration(rand.IntN(20))*time.Millisecond) })
	names := slices.Sorted(maps.Keys(faults))
	name := names[rand.IntN(len(names))]
	faults[name]()
	s.result.faults[name]++
}

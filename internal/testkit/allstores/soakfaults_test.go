//go:build unix

package allstores

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/stores/storetest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// maxFailovers is how often a store loses writes. Each time adds a server, with all that the one before has.
const maxFailovers = 5

// disturb injects one fault, for a random time.
func (s *soaking) disturb(t *testing.T) {
	f := s.h.Slots
	wait := func() { time.Sleep(300*time.Millisecond + rand.N(1200*time.Millisecond)) }
	faults := map[string]func(){}
	add := func(name string, has bool, inject func()) {
		if has {
			faults[name] = inject
		}
	}
	effect := ""
	add("kill", f.Kill != nil, func() { f.Kill(t); wait(); f.Start(t) })
	add("pause", f.Pause != nil, func() { f.Pause(t); wait(); f.Resume(t) })
	add("kill of a process", true, func() {
		s.processes.Kill(s.process)
		s.process = s.processes.Start(t, s.address(t, soakStore))
	})
	add("pause of the processes", true, func() { s.processes.Pause(2); wait(); s.processes.Resume() })
	add("delayed requests", f.DelayWrites != nil, func() {
		deliver := f.DelayWrites(t, wait)
		wait()
		deliver()
	})
	add("lost requests", f.LoseRequests != nil, func() { f.LoseRequests(t, wait) })
	add("lost replies", f.LoseReplies != nil, func() { f.LoseReplies(t, wait) })
	add("failover that loses writes", f.LoseWrites != nil && s.failovers < maxFailovers, func() {
		if !s.loseWrites(t, wait) {
			effect = " without effect"
		}
	})
	add("step of the clock", f.StepClock != nil, func() {
		before := s.clock
		s.clock = (s.clock + 5*time.Millisecond + rand.N(10*time.Millisecond)) % (20 * time.Millisecond) // a step of at least 5 ms
		f.StepClock(t, s.clock-before)
	})
	names := slices.Sorted(maps.Keys(faults))
	name := names[rand.IntN(len(names))]
	faults[name]()
	s.result.faults[name+effect]++
}

// loseWrites makes the store lose writes, after the end of the takers if the store does not notice it. It reports whether a read then shows
// a record as it was before a write that had been acknowledged.
func (s *soaking) loseWrites(t *testing.T, wait func()) (hasEffect bool) {
	if s.takers != nil && !s.noticesLoss() {
		s.takers.Wait(1)
		s.endTakers()
	}
	var acked map[int64]int64
	s.h.Slots.LoseWrites(t, func() {
		s.acked.forget()
		wait()
		testkit.Eventually(t, "a write is acknowledged", func() bool {
			acked = s.acked.revisions()
			return len(acked) > 0
		})
	})
	s.failovers++
	if !s.noticesLoss() {
		s.tag = nil // its counter may have been set back
	}
	reader := s.open(t)
	testkit.Retry(t, "the store can be read", func() error {
		state, err := reader.Read(t.Context(), recycled.Query{All: true})
		hasEffect = err == nil && isOlder(state, acked)
		return err
	})
	return hasEffect
}

// pool is the key of the pool in revisions. The others are worker IDs.
const pool = -1

// isOlder reports whether a record of a state is missing, or has a lower revision.
func isOlder(s recycled.State, than map[int64]int64) bool {
	shown := map[int64]int64{pool: s.Pool.Revision}
	for _, slot := range s.Slots {
		shown[slot.WorkerID] = slot.Revision
	}
	for record, revision := range than {
		if shown[record] < revision {
			return true
		}
	}
	return false
}

// acked is the greatest revision of each record that was acknowledged.
type acked struct {
	mu   sync.Mutex
	last map[int64]int64
}

// forget forgets them.
func (a *acked) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = map[int64]int64{}
}

// revisions returns the revisions.
func (a *acked) revisions() map[int64]int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.last)
}

// add adds a write.
func (a *acked) add(w recycled.Write) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		a.last = map[int64]int64{}
	}
	for _, s := range w.Slots {
		a.last[s.WorkerID] = max(a.last[s.WorkerID], s.Revision)
	}
	if w.Pool != nil {
		a.last[pool] = max(a.last[pool], w.Pool.Revision)
	}
}

// A soakClient is a client of a store that notes what was acknowledged.
type soakClient struct {
	storetest.Store
	acked *acked
}

// Write implements recycled.Store.
func (c soakClient) Write(ctx context.Context, w recycled.Write) (bool, error) {
	made, err := c.Store.Write(ctx, w)
	if made && err == nil {
		c.acked.add(w)
	}
	return made, err
}

// A failover has an effect if it loses a record, or a write of one.
func TestIsOlder(t *testing.T) {
	var a acked
	a.add(recycled.Write{Pool: &recycled.Pool{Revision: 3}, Slots: []recycled.Slot{{WorkerID: 0, Revision: 7}}})
	a.add(recycled.Write{Slots: []recycled.Slot{{WorkerID: 0, Revision: 6}}}) // its reply came later
	state := func(pool, slot int64) recycled.State {
		return recycled.State{Pool: recycled.Pool{Revision: pool}, Slots: []recycled.Slot{{WorkerID: 0, Revision: slot}, {WorkerID: 1, Revision: 1}}}
	}
	for want, states := range map[bool][]recycled.State{false: {state(3, 7), state(4, 8)}, true: {state(2, 7), state(3, 6), {Pool: recycled.Pool{Revision: 3}}}} {
		for _, s := range states {
			if got := isOlder(s, a.revisions()); got != want {
				t.Errorf("isOlder(%+v) = %v, want %v", s, got, want)
			}
		}
	}
}

package uid

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slowSlots is a slot store each of whose calls takes a time.
type slowSlots struct {
	slotConnection
	takes time.Duration
}

// Read implements recycled.Store.
func (s *slowSlots) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	time.Sleep(s.takes)
	return s.slotConnection.Read(ctx, q)
}

// Write implements recycled.Store.
func (s *slowSlots) Write(ctx context.Context, w recycled.Write) (bool, error) {
	time.Sleep(s.takes)
	return s.slotConnection.Write(ctx, w)
}

// newSlowSlots returns a store whose clock is ahead by an offset.
func newSlowSlots(takes, offset time.Duration) *slowSlots {
	m := newSlotMemory()
	m.server.offset = offset
	return &slowSlots{slotConnection: slotConnection{memory: m}, takes: takes}
}

// overloadLog is the logger of these tests.
func overloadLog() CommonOption { return WithLogger(slog.New(slog.DiscardHandler)) }

// A burst of a million UIDs, with the defaults, on a store of which a call takes a millisecond: five worker IDs one after
// the other, in less than 200 ms, whatever part of a second it begins in. The clock of the store may be ahead.
func TestBurstOnRecycled(t *testing.T) {
	testkit.WithoutRace(t)
	const burst = 1_000_000
	instants := []time.Duration{990 * time.Millisecond, 500 * time.Millisecond, 10 * time.Millisecond, 0}
	for _, ahead := range []time.Duration{0, 300 * time.Millisecond, workerassign.DefaultClockBound - 100*time.Millisecond} {
		for _, at := range instants[:testkit.Amount(1, 4, 4)] {
			t.Run(fmt.Sprintf("store ahead by %v, at %v", ahead, at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := newSlowSlots(time.Millisecond, ahead)
					c, err := NewCached(t.Context(), recycled.New(store), overloadLog(), WithEpoch(recycledEpoch))
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(30*time.Second + at)))
					begin := time.Now()
					ids := make([]ID, burst)
					if n, err := c.NextN(ids); n != burst || err != nil {
						t.Fatalf("%d UIDs, %v", n, err)
					}
					took := time.Since(begin)
					var set uniq.Set
					writer, workers := set.Writer(), map[int64]bool{}
					for _, id := range ids {
						if !writer.Add(int64(id)) {
							t.Fatalf("%v came twice", c.Parse(id))
						}
						workers[c.Parse(id).WorkerID] = true
					}
					t.Logf("%v, %d worker IDs", took, len(workers))
					if took > 200*time.Millisecond || len(workers) > 8 {
						t.Errorf("a million UIDs took %v, and %d worker IDs; want at most 200ms, and 8", took, len(workers))
					}
				})
			})
		}
	}
}

// A load of 600 times the layout's rate is served by one worker ID after the other: as many as load / rate, and a few.
// No taker waits longer than the store takes. The same after leases were lost, which under such a load are never old: the pause
// before the next lease grows only if leases are lost one after the other, without a rollover in between.
func TestOverloadOnRecycled(t *testing.T) {
	testkit.WithoutRace(t)
	const load, perUnit, batches = 600, 16, 100 // batches in a second
	seconds := testkit.Amount(30, 60, 600)
	synctest.Test(t, func(t *testing.T) {
		store := newSlowSlots(time.Millisecond, 0)
		c := newRecycledGenerator(t, "Cached", store, nil, WithBoostPower(3), WithLayout(layout(t, 33, 14, 4)))
		var set uniq.Set
		writer := set.Writer()
		batch, longest, begin := make([]ID, load*perUnit/batches), time.Duration(0), time.Now()
		for n := range seconds * batches {
			switch n {
			case 10 * batches: // as if three leases were lost before they were used
				for range 3 {
					c.(*Cached).leases.RecordLoss(0)
				}
			case 11 * batches:
				longest, begin = 0, time.Now().Add(-11*time.Second)
			}
			time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / batches)))
			called := time.Now()
			if _, err := c.NextN(batch); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, time.Since(called))
			for _, id := range batch {
				if !writer.Add(int64(id)) {
					t.Fatalf("%v came twice", c.Parse(id))
				}
			}
		}
		// Each lease serves 25 units, and is free again 25 seconds later.
		slots, most := len(store.memory.server.slots), load+load/10+3*16
		t.Logf("%d UIDs, %d slots, %d rollovers, the longest wait was %v", set.Len(), slots, c.Stats().Rollovers, longest)
		if lost := c.Stats().LostLeases; longest > 20*time.Millisecond || slots > most || lost != 3 {
			t.Errorf("the longest wait was %v, there are %d slots, and %d leases were lost; want at most 20ms, %d and 3", longest, slots, lost, most)
		}
	})
}

// R7: a lease that begins at a floor is not replaced before that, whatever the load: all others begin there too.
func TestR7FloorIsNotReplacedUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := newSlotMemory()
		memory.server.noLoss = false // so that a new pool has a floor
		c := newRecycledGenerator(t, "Cached", &slotConnection{memory: memory}, nil, WithBoostPower(3), WithLayout(layout(t, 33, 14, 4))).(*Cached)
		first := c.runs.current.Load().held.First() - c.clock.Unit()
		limit := c.runs.current.Load().borrowLimit
		if first < 2*limit {
			t.Fatalf("the lease begins in %d s; want the floor of a new pool", first)
		}
		for n := range first - limit/2 { // up to half of the borrow limit before the floor
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			got, err := c.NextNContext(ctx, make([]ID, 1000))
			cancel()
			if st := c.Stats(); st.Rollovers != 0 || len(memory.server.slots) != 1 {
				t.Fatalf("%d s before the floor, after %d UIDs (%v): %d rollovers, %d slots", first-n, got, err, st.Rollovers, len(memory.server.slots))
			}
		}
	})
}

// R7: a lease is worth replacing if its first unit is at most a quarter of the borrow limit beyond the next unit.
func TestR7WorthReplacing(t *testing.T) {
	const now, limit = 100, 8
	for first, want := range map[int64]bool{now - 1: true, now + 1: true, now + 1 + limit/4: true, now + 2 + limit/4: false} {
		l := &leaseInUse{held: leasing.NewHeldLease(5, first), borrowLimit: limit}
		if got := l.isWorthReplacing(now); got != want {
			t.Errorf("with the first unit %d in unit %d: %v, want %v", first, now, got, want)
		}
	}
}

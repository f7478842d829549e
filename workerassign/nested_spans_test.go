package workerassign

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
)

// spanStore is a store of worker IDs that are used again. A lease begins where the time of the previous
// lease of the same worker ID ended. The store may also take a lease away from its holder.
type spanStore struct {
	rng   *rand.Rand
	slots []*slot
	most  int // the greatest number of slots
}

// slot is one worker ID of a spanStore.
type slot struct {
	id     int64
	until  int64 // the end of all granted time, in units
	holder *spanLease
}

type spanLease struct {
	store *spanStore
	slot  *slot
	from  int64
}

var errTaken = errors.New("the worker ID was leased to another holder")

// unitTime returns the time at which a unit begins.
func unitTime(n int64) time.Time { return time.Unix(n, 0) }

func (s *spanStore) Assign(context.Context, Request) (Lease, error) {
	var free []*slot
	for _, c := range s.slots {
		if c.holder == nil || s.rng.IntN(8) == 0 { // sometimes the holder is assumed to have crashed
			free = append(free, c)
		}
	}
	if len(s.slots) < s.most && (len(free) == 0 || s.rng.IntN(4) == 0) {
		s.slots = append(s.slots, &slot{id: int64(len(s.slots)), until: 1})
		free = s.slots[len(s.slots)-1:]
	}
	if len(free) == 0 {
		return nil, errStoreIsEmpty
	}
	c := free[s.rng.IntN(len(free))]
	c.holder = &spanLease{store: s, slot: c, from: c.until}
	return c.holder, nil
}

func (l *spanLease) WorkerID() int64      { return l.slot.id }
func (l *spanLease) NotBefore() time.Time { return unitTime(l.from) }

func (l *spanLease) Reserve(_ context.Context, until time.Time) (Grant, error) {
	if l.slot.holder != l {
		return Grant{}, errTaken
	}
	if l.store.rng.IntN(8) > 0 { // sometimes it grants nothing new
		l.slot.until = max(l.slot.until, until.Unix())
	}
	return Grant{Until: unitTime(l.slot.until)}, nil
}

func (l *spanLease) Release(_ context.Context, used time.Time) error {
	if l.slot.holder != l {
		return errTaken
	}
	l.slot.holder = nil
	l.slot.until = l.from
	if !used.IsZero() {
		l.slot.until = max(l.from, used.Unix())
	}
	return nil
}

// testGenerator is a generator with its lease and the units that it may use next.
type testGenerator struct {
	lease   Lease
	next    int64 // the next unit that it may use
	granted int64
	used    bool // whether it has used a unit
}

// Invariant 1: a worker ID and a unit belong to one lease. This holds for all mixtures of Divide and
// Prefix 0, however much of its lease each generator uses, whatever the order of the releases, and also
// if leases are lost.
func TestInvariant1NestedSpans(t *testing.T) {
	const workerBits = 8
	ctx, all := context.Background(), allWrappings(workerBits)
	silent := slog.New(slog.DiscardHandler)
	var unitsUsed int64
	seeds := uint64(1_500)
	if testkit.Race {
		seeds = testkit.Size[uint64](300, 1_500) // it has one goroutine
	}
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		store := &spanStore{rng: rng, most: 1 + rng.IntN(1<<(workerBits-3))}
		if rng.IntN(2) == 0 {
			store.most = 1 + rng.IntN(4)
		}
		processes, generators := []Assigner{}, []*testGenerator{}
		var set uniq.Set
		seen := set.Writer()
		for range 300 {
			switch n := rng.IntN(10); {
			case n == 0 || len(processes) == 0:
				processes = append(processes, all[rng.IntN(len(all))].wrap(store))
			case n <= 3:
				now := int64(rng.IntN(100)) // may be earlier than units that others used
				l, err := processes[rng.IntN(len(processes))].Assign(ctx, Request{
					MaxWorkerID: 1<<workerBits - 1, Logger: silent, Now: func() time.Time { return unitTime(now) }})
				if err == nil {
					generators = append(generators, &testGenerator{lease: l, next: max(now, l.NotBefore().Unix())})
				}
			case len(generators) == 0:
			case n <= 7:
				g := generators[rng.IntN(len(generators))]
				if until, err := g.lease.Reserve(ctx, unitTime(g.next+int64(rng.IntN(20)))); err == nil {
					g.granted = max(g.granted, until.Until.Unix())
				}
				for ; g.next < g.granted && rng.IntN(6) > 0; g.next++ {
					if !seen.Add(g.lease.WorkerID()<<32 | g.next) {
						t.Fatalf("seed %d: worker ID %d and unit %d were used twice", seed, g.lease.WorkerID(), g.next)
					}
					g.used = true
					unitsUsed++
				}
			default:
				i := rng.IntN(len(generators))
				var used time.Time
				if generators[i].used {
					used = unitTime(generators[i].next)
				}
				if err := generators[i].lease.Release(ctx, used); err != nil && !errors.Is(err, errTaken) {
					t.Fatal(err)
				}
				generators = slices.Delete(generators, i, i+1)
			}
		}
	}
	if unitsUsed < int64(seeds)*66 {
		t.Errorf("%d units were used, want at least %d", unitsUsed, seeds*66)
	}
}

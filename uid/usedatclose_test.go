package uid

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// usedSource is an assigner that records with which time each of its leases was released. The worker IDs are 1, 2, 3 and so on.
type usedSource struct {
	mu   sync.Mutex
	used []time.Time // by worker ID - 1; Unbounded: not released
}

// Assign implements workerassign.Assigner.
func (s *usedSource) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = append(s.used, workerassign.Unbounded())
	return &usedLease{fakeLease{id: int64(len(s.used))}, s}, nil
}

type usedLease struct {
	fakeLease
	source *usedSource
}

func (l *usedLease) Release(_ context.Context, used time.Time) error {
	l.source.mu.Lock()
	defer l.source.mu.Unlock()
	l.source.used[l.id-1] = used
	return nil
}

// Close releases the lease with the beginning of the unit after the last one that takers, or claims, have reached, and not with that
// after the ring's end.
func TestUsedAtClose(t *testing.T) {
	const ahead = 3 // units from the first one that are used up
	for name, take := range map[string]func(*testing.T, *Cached) (units time.Duration){
		"nothing was taken": func(t *testing.T, c *Cached) time.Duration { return 1 }, // the first run is ready to be taken
		"Next": func(t *testing.T, c *Cached) time.Duration {
			c.Next()
			return 1
		},
		"a block, which is used later": func(t *testing.T, c *Cached) time.Duration {
			for range ahead {
				c.Claim(t.Context(), 16)
			}
			if b, err := c.Claim(t.Context(), 5); err != nil || b.Len() != 5 {
				t.Error(err)
			}
			return ahead + 1
		},
		"Local": func(t *testing.T, c *Cached) time.Duration {
			l := c.Local()
			for range 16*ahead + 1 {
				l.Next()
			}
			return ahead + 1
		},
		"all of a unit": func(t *testing.T, c *Cached) time.Duration {
			for range 16 {
				c.Next()
			}
			return 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &usedSource{}
				c := newCopied(t, "Cached", s).(*Cached)
				begin := time.Now()
				units := take(t, c)
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				if want := begin.Add(units * time.Second); !s.used[0].Equal(want) {
					t.Errorf("the lease was released with %v, want %v", s.used[0], want)
				}
			})
		})
	}
}

// If takers have not reached a run of the lease in use, because the ring has runs of the lease before, Close releases it as one of which
// nothing was used. The lease before was released at the rollover, with the ring's end.
func TestUsedAtCloseAfterRollover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &usedSource{}
		c := newCopied(t, "Cached", s, WithMaxBorrow(8*time.Second)).(*Cached)
		var last Parts
		for c.Stats().WorkerID == 1 {
			id, err := c.Next()
			if err != nil {
				t.Fatal(err)
			}
			last = c.Parse(id)
			synctest.Wait()
		}
		if st := c.Stats(); last.WorkerID != 1 || st.Ring.Fill < 16 {
			t.Fatalf("the last UID is %v; Stats() = %+v", last, st)
		}
		c.Close()
		if !s.used[0].After(last.Time.Add(time.Second)) || !s.used[1].IsZero() {
			t.Errorf("the last UID is %v; the leases were released with %v", last, s.used)
		}
	})
}

// Invariant 1: no UID that a generator hands out has the time of its Release or later: neither one that was taken while Close began,
// nor one of a block.
func TestInvariant1UsedAtCloseUnderLoad(t *testing.T) {
	for range testkit.Amount(50, 300, 5_000) {
		s := &usedSource{}
		c := newCopied(t, "Cached", s, WithEpoch(time.Now().Add(-time.Hour).Truncate(time.Second)), WithTimeUnit(time.Millisecond),
			WithLayout(layout(t, 35, 22, 4)), WithReserveAhead(50*time.Millisecond), WithMaxBorrow(100*time.Millisecond)).(*Cached)
		var takers sync.WaitGroup
		var taken atomic.Int64
		for n := range 6 {
			takers.Go(func() {
				takeOf := takesOf(c, n)
				latest := map[int64]time.Time{} // by worker ID
				for {
					id, err := takeOf(t.Context())
					if err != nil {
						break
					}
					taken.Add(1)
					if p := c.Parse(id); p.Time.After(latest[p.WorkerID]) {
						latest[p.WorkerID] = p.Time
					}
				}
				c.Close() // waits until the lease is released
				s.mu.Lock()
				defer s.mu.Unlock()
				for id, last := range latest {
					if used := s.used[id-1]; !used.After(last) {
						t.Errorf("worker ID %d was released with %v, and has a UID of %v", id, used, last)
					}
				}
			})
		}
		testkit.Eventually(t, "something is taken", func() bool { return taken.Load() > 200 })
		c.Close()
		takers.Wait()
		if t.Failed() {
			return
		}
	}
}

// A clean restart frees its worker ID in the next time unit: 1,200 generators that start one after the other, 30 in a second, take a few
// UIDs and are closed, use few worker IDs.
func TestCleanRestartsUseFewWorkerIDs(t *testing.T) {
	testkit.WithoutRace(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := assigntest.NewMemory(assigntest.WithNoLoss())
				seen := map[ID]bool{}
				for range 1200 {
					g, err := mode.make(t.Context(), recycled.New(store), WithLogger(slog.New(slog.DiscardHandler)), WithEpoch(recycledEpoch))
					if err != nil {
						t.Fatal(err)
					}
					for range 3 {
						id, err := g.Next()
						if err != nil || seen[id] {
							t.Fatalf("Next() = %v, %v", g.Parse(id), err)
						}
						seen[id] = true
					}
					if err := g.Close(); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second / 30)
				}
				t.Logf("%d worker IDs", len(store.Dump().Slots))
				if n := len(store.Dump().Slots); n > 70 {
					t.Errorf("%d worker IDs were used, want 70 at most", n)
				}
			})
		})
	}
}

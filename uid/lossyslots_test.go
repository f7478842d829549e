package uid

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/workerassign"
)

// lossySlots is a store of a few worker IDs that are used again. A lease begins where the last grant of
// its worker ID ended; Release reduces that grant to what was used. Leases are lost at random.
type lossySlots struct {
	mu    sync.Mutex
	rnd   *rand.Rand
	slots [4]struct {
		until  time.Time
		holder *lossyLease
	}
	lost, released int
}

func (s *lossySlots) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.rnd.Perm(len(s.slots)) {
		if s.slots[n].holder == nil {
			l := &lossyLease{lossySlots: s, n: n, notBefore: s.slots[n].until}
			s.slots[n].holder = l
			return l, nil
		}
	}
	return nil, errNoSlot
}

type lossyLease struct {
	*lossySlots
	n         int
	notBefore time.Time
	isLost    bool // the lease is lost, but its holder does not know
}

func (l *lossyLease) WorkerID() int64 { return int64(l.n) + 1 }

func (l *lossyLease) NotBefore() time.Time { return l.notBefore }

func (l *lossyLease) Reserve(_ context.Context, until time.Time) (workerassign.Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := &l.lossySlots.slots[l.n]
	if !l.isLost && l.rnd.IntN(3) == 0 {
		l.isLost = true
		l.lost++
	}
	switch {
	case at.holder != l:
		return workerassign.Grant{}, errors.New("the lease was already released")
	case l.isLost && l.rnd.IntN(2) == 0:
		return workerassign.Grant{}, errLeaseEnded
	case l.isLost:
		return workerassign.Grant{Until: at.until}, nil
	}
	if until.After(at.until) {
		at.until = until
	}
	return workerassign.Grant{Until: at.until}, nil
}

func (l *lossyLease) Release(_ context.Context, used time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := &l.lossySlots.slots[l.n]
	if at.holder == l {
		at.holder = nil
		at.until = l.notBefore
		if used.After(l.notBefore) {
			at.until = used
		}
		l.released++
	}
	return nil
}

var errNoSlot = errors.New("no slot is free")

// Invariants 1 to 4 with leases that are lost at random: three generators on few worker IDs, each with
// several takers, are closed and replaced by others. A worker ID that was released is used again at
// once, from the unit after the last one used.
func TestInvariant1DefaultLosesLeases(t *testing.T) {
	synctest.Test(t, testDefaultLosesLeases)
}

func testDefaultLosesLeases(t *testing.T) {
	total := testkit.Amount[int64](2_000, 15_000, 60_000)
	store := &lossySlots{rnd: rand.New(rand.NewPCG(1, 9))}
	var (
		seen    uniq.Set
		got     atomic.Int64
		changes atomic.Uint64
		all     sync.WaitGroup
	)
	for range 3 {
		all.Go(func() {
			for got.Load() < total && !t.Failed() {
				// Leases are lost all the time, so the pauses must be short.
				d, err := newImpatientDefault(store, leasing.Hooks{
					Delay: func(context.Context, time.Duration) bool { return true },
					Pause: func(ctx context.Context, _ time.Duration) bool { return leasing.Sleep(ctx, time.Millisecond) },
				}, WithEpoch(bubbleEpoch), WithLayout(layout(t, 41, 10, 4)), WithTimeUnit(time.Millisecond), WithReserveAhead(3*time.Millisecond))
				if err != nil {
					time.Sleep(time.Millisecond)
					continue
				}
				var takers sync.WaitGroup
				for n := range 4 {
					takers.Go(func() {
						w, last, lastWorker := seen.Writer(), ID(-1), int64(-1)
						for m := 0; m < 3_000; m++ {
							ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+n*m%7)*time.Millisecond)
							id, err := d.NextContext(ctx)
							cancel()
							if err == ErrClosed {
								return
							}
							if err != nil {
								if !errors.Is(err, ErrLease) && !errors.Is(err, context.DeadlineExceeded) {
									t.Errorf("Next() = %v", err)
									return
								}
								continue
							}
							p := d.Parse(id)
							if !w.Add(int64(id)) {
								t.Errorf("%v was returned twice", p)
								return
							}
							if p.WorkerID == lastWorker && id <= last {
								t.Errorf("%v was returned after %v", p, d.Parse(last))
								return
							}
							last, lastWorker = id, p.WorkerID
							got.Add(1)
						}
					})
				}
				if got.Load()%2 == 0 {
					takers.Wait()
				} else {
					time.Sleep(20 * time.Millisecond)
				}
				changes.Add(d.Stats().Rollovers)
				if err := d.Close(); err != nil {
					t.Errorf("Close() = %v", err)
				}
				takers.Wait()
			}
		})
	}
	all.Wait()
	if seen.Len() != got.Load() || changes.Load() == 0 || store.lost == 0 {
		t.Errorf("%d of %d UIDs are distinct; %d leases lost, %d changes of the lease", seen.Len(), got.Load(), store.lost, changes.Load())
	}
	t.Logf("%d UIDs; %d leases lost, %d changes of the lease, %d released", got.Load(), store.lost, changes.Load(), store.released)
}

//go:build unix

package slottabletests

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/fleettest"
	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/workerassign"
)

// failoverVerification has short times. A generator may stamp up to H - workerassign.DefaultClockBound ahead.
var failoverVerification = workerassign.Verification{Horizon: 7 * time.Second, Fencing: time.Second, Skew: 200 * time.Millisecond}

// verifiedFleet is generators with worker IDs of a Disposable.
type verifiedFleet struct {
	t       *testing.T
	fleet   *fleettest.Fleet
	ctx     context.Context
	opts    []workerassign.DisposableOption
	running sync.WaitGroup
	counts  []*atomic.Int64 // the number of UIDs of each generator

	mu      sync.Mutex
	workers map[int64]map[int]bool // the generators that have used a worker ID
}

// start starts n generators.
func (v *verifiedFleet) start(db *sql.DB, n int) {
	for range n {
		number, count := len(v.counts), new(atomic.Int64)
		v.counts = append(v.counts, count)
		v.running.Go(func() {
			w := v.fleet.Writer()
			ctx, cancel := context.WithTimeout(v.ctx, 20*time.Second)
			defer cancel()
			g, err := fleettest.NewGenerator(ctx, workerassign.NewDisposable(db, v.opts...), number%2 == 0)
			if err != nil {
				v.t.Errorf("generator %d: %v", number, err)
				return
			}
			defer g.Close()
			for ; v.ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
				ctx, cancel := context.WithTimeout(v.ctx, 50*time.Millisecond)
				for range 20 {
					id, err := g.NextContext(ctx)
					if err != nil {
						break
					}
					v.fleet.Add(w, id)
					count.Add(1)
					worker := g.Parse(id).WorkerID
					v.mu.Lock()
					if v.workers[worker] == nil {
						v.workers[worker] = map[int]bool{}
					}
					v.workers[worker][number] = true
					v.mu.Unlock()
				}
				cancel()
			}
		})
	}
}

// wait waits until each generator has generated UIDs.
func (v *verifiedFleet) wait() {
	v.t.Helper()
	before := make([]int64, len(v.counts))
	for n, count := range v.counts {
		before[n] = count.Load()
	}
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		waiting := -1
		for n, count := range v.counts {
			if count.Load() < before[n]+200 {
				waiting = n
			}
		}
		if waiting < 0 {
			return
		}
		if time.Since(begin) > time.Minute {
			v.t.Fatalf("generator %d has generated %d UIDs in a minute, want 200", waiting, v.counts[waiting].Load()-before[waiting])
		}
	}
}

// sharedWorkers returns how many worker IDs more than one generator has used.
func (v *verifiedFleet) sharedWorkers() (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, generators := range v.workers {
		if len(generators) > 1 {
			n++
		}
	}
	return n
}

// A replica is promoted that lacks the last rows of WORKER_NODE, while the old primary acknowledges for nearly the
// fencing time. Worker IDs are assigned a second time. With WithVerification no UID is generated twice. Without
// it, some are.
func TestInvariant1VerifiedFailover(t *testing.T) {
	for name, opts := range map[string][]workerassign.DisposableOption{
		"with verification":    {workerassign.WithVerification(failoverVerification), discardLog()},
		"without verification": {discardLog()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			primary := mariadbtest.Start(t, append(mariadbtest.PrimaryFlags(), "--sync-binlog=1")...)
			database := slotDatabase(t, primary) // WORKER_NODE is in the same script
			replica := primary.Replica("--sync-binlog=1")
			s, promoted := newSlotServer(primary), newSlotServer(replica)
			db := s.open(t, database, "")
			ctx, stop := context.WithCancel(t.Context())
			v := &verifiedFleet{t: t, fleet: fleettest.New(), ctx: ctx, opts: opts, workers: map[int64]map[int]bool{}}
			defer v.running.Wait()
			defer stop()

			v.start(db, 3)
			kept := mustAssignDisposable(t, db, opts)
			v.wait()
			replica.WaitApplied(primary)
			replica.Admin().MustExec("STOP SLAVE")
			v.start(db, 3) // the replica does not receive their rows
			lost := mustAssignDisposable(t, db, opts)
			v.wait()
			replica.Admin().MustExec("SET GLOBAL read_only = 0")
			begin := time.Now()
			v.start(promoted.open(t, database, ""), 5)
			granted, err := lost.Reserve(t.Context(), time.Now().Add(time.Hour)) // the old primary still grants
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(begin.Add(failoverVerification.Fencing * 8 / 10)))
			s.mu.Lock()
			s.servers = []*mariadbtest.Server{replica}
			s.mu.Unlock()
			primary.Kill()
			v.wait()
			if len(opts) > 1 {
				checkVerified(t, db, opts, kept, lost, granted)
			}
			time.Sleep(2 * time.Second)
			v.wait()
			stop()
			v.running.Wait()
			result, shared := v.fleet.End(), v.sharedWorkers()
			t.Logf("%s; %d worker IDs were used by several generators", result, shared)
			if duplicates := v.fleet.Duplicates(); (duplicates > 0) != (len(opts) == 1) {
				t.Errorf("%d duplicates", duplicates)
			}
			if shared == 0 {
				t.Error("no worker ID was assigned a second time: this test could not find a defect")
			}
		})
	}
}

// mustAssignDisposable takes a lease of a Disposable.
func mustAssignDisposable(t *testing.T, db *sql.DB, opts []workerassign.DisposableOption) workerassign.Lease {
	t.Helper()
	l, err := workerassign.NewDisposable(db, opts...).Assign(t.Context(), workerassign.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// checkVerified checks leases after the failover: one whose row the new primary has is extended, and one whose row it
// lacks is lost. A new lease begins as documented, after all that was granted before the failover.
func checkVerified(t *testing.T, db *sql.DB, opts []workerassign.DisposableOption, kept, lost workerassign.Lease, granted time.Time) {
	t.Helper()
	if _, err := kept.Reserve(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Errorf("Reserve() of a lease whose row was replicated = %v", err)
	}
	if until, err := lost.Reserve(t.Context(), time.Now().Add(time.Hour)); !errors.Is(err, workerassign.ErrLeaseLost) {
		t.Errorf("Reserve() of a lease whose row was lost = %v, %v; want ErrLeaseLost", until, err)
	}
	before := time.Now()
	next := mustAssignDisposable(t, db, opts)
	after := time.Now()
	f := failoverVerification
	ahead := f.Horizon + f.Fencing + f.Skew
	if b := next.NotBefore(); !b.After(granted) || b.Before(before.Add(ahead-time.Millisecond)) || b.After(after.Add(ahead+time.Millisecond)) {
		t.Errorf("a lease of %v begins at %v, want %v later, and after the last grant of the old primary, %v", before, b, ahead, granted)
	}
}

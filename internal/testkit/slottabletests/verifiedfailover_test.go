//go:build unix

package slottabletests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// failoverVerification returns short times. A generator may stamp up to H - workerassign.DefaultClockBound ahead.
func failoverVerification(fencing time.Duration) workerassign.Verification {
	return workerassign.Verification{Horizon: 7 * time.Second, Fencing: fencing, Skew: 200 * time.Millisecond}
}

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
			ctx, cancel := context.WithTimeout(v.ctx, 2*time.Minute)
			defer cancel()
			g, err := fleettest.NewGenerator(ctx, workerassign.NewDisposable(db, v.opts...), number%2 == 0)
			if err != nil {
				if v.ctx.Err() == nil {
					v.t.Errorf("generator %d: %v", number, err)
				}
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
	for n, count := range v.counts {
		testkit.Eventually(v.t, fmt.Sprintf("generator %d has generated 200 UIDs", n), func() bool { return count.Load() >= before[n]+200 })
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
	t.Parallel()
	for name, verified := range map[string]bool{"with verification": true, "without verification": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			fleettest.WithinFencing(t, func(fencing time.Duration) bool { return verifiedFailover(t, verified, fencing) })
		})
	}
}

// verifiedFailover is one try of TestInvariant1VerifiedFailover. It reports whether the old primary was fenced in time.
func verifiedFailover(t *testing.T, verified bool, fencing time.Duration) bool {
	opts := []workerassign.DisposableOption{discardLog()}
	if verified {
		opts = append(opts, workerassign.WithVerification(failoverVerification(fencing)))
	}
	primary := mariadbtest.Start(t, append(mariadbtest.PrimaryFlags(), "--sync-binlog=1")...)
	database := slotDatabase(t, primary) // WORKER_NODE is in the same script
	replica := primary.Replica("--sync-binlog=1")
	s, promoted := newSlotServer(t, primary), newSlotServer(t, replica)
	db := s.open(t, database)
	ctx, stop := context.WithCancel(t.Context())
	v := &verifiedFleet{t: t, fleet: fleettest.New(), ctx: ctx, opts: opts, workers: map[int64]map[int]bool{}}
	defer v.running.Wait()
	defer stop()

	v.start(db, 3)
	kept := mustAssignDisposable(t, db, opts)
	testkit.Eventually(t, "all have a row", func() bool {
		var rows int
		return db.QueryRow("SELECT COUNT(*) FROM WORKER_NODE").Scan(&rows) == nil && rows == 4
	})
	replica.WaitApplied(primary)
	replica.Admin().MustExec("STOP SLAVE")
	v.start(db, 3) // the replica does not receive their rows
	lost := mustAssignDisposable(t, db, opts)
	v.wait()
	replica.Admin().MustExec("SET GLOBAL read_only = 0")
	begin := time.Now()
	v.start(promoted.open(t, database), 5)
	granted, err := lost.Reserve(t.Context(), time.Now().Add(time.Hour)) // the old primary still grants
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(begin.Add(fencing * 6 / 10)))
	s.replaceBy(replica)
	primary.Kill()
	if verified && time.Since(begin) > fencing {
		return false
	}
	v.wait()
	if verified {
		checkVerified(t, db, opts, fencing, kept, lost, granted.Until)
		time.Sleep(2 * time.Second)
		v.wait()
	} else {
		v.fleet.WaitDuplicate(t)
	}
	stop()
	v.running.Wait()
	shared := v.sharedWorkers()
	t.Logf("%s; %d worker IDs were used by several generators", v.fleet.End(), shared)
	if duplicates := v.fleet.Duplicates(); verified && duplicates > 0 {
		t.Errorf("%d duplicates", duplicates)
	}
	if shared == 0 {
		t.Error("no worker ID was assigned a second time: this test could not find a defect")
	}
	return true
}

// mustAssignDisposable takes a lease of a Disposable.
func mustAssignDisposable(t *testing.T, db *sql.DB, opts []workerassign.DisposableOption) workerassign.Lease {
	t.Helper()
	l, err := workerassign.NewDisposable(db, opts...).Assign(testkit.Patient(t), workerassign.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// checkVerified checks leases after the failover: one whose row the new primary has is extended, and one whose row it
// lacks is lost. A new lease begins as documented, after all that was granted before the failover.
func checkVerified(t *testing.T, db *sql.DB, opts []workerassign.DisposableOption, fencing time.Duration, kept, lost workerassign.Lease, granted time.Time) {
	t.Helper()
	if _, err := kept.Reserve(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Errorf("Reserve() of a lease whose row was replicated = %v", err)
	}
	if until, err := lost.Reserve(t.Context(), time.Now().Add(time.Hour)); !errors.Is(err, workerassign.ErrLeaseLost) {
		t.Errorf("Reserve() of a lease whose row was lost = %v, %v; want ErrLeaseLost", until.Until, err)
	}
	before := time.Now()
	next := mustAssignDisposable(t, db, opts)
	after := time.Now()
	f := failoverVerification(fencing)
	ahead := f.Horizon + f.Fencing + f.Skew
	if b := next.NotBefore(); !b.After(granted) || b.Before(before.Add(ahead-time.Millisecond)) || b.After(after.Add(ahead+time.Millisecond)) {
		t.Errorf("a lease of %v begins at %v, want %v later, and after the last grant of the old primary, %v", before, b, ahead, granted)
	}
	if _, err := uid.NewBackfill(t.Context(), workerassign.NewDisposable(db, opts...)); !errors.Is(err, uid.ErrOption) {
		t.Errorf("NewBackfill() with leases that begin and end = %v, want ErrOption", err)
	}
}

//go:build unix

package slottabletests

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/uid/percpu"
	"github.com/ringuid/ringuid/workerassign"
)

// renewed is a generator with three takers, and its assigner, which numbers the calls of Assign when they begin.
type renewed struct {
	workerassign.Assigner
	uid.Generator
	begun, former atomic.Int64 // takes that begin now must not use leases up to the number former
	taken, failed [3]atomic.Int64

	mu     sync.Mutex
	leases map[int64][]numberedLease // by worker ID, which may be leased again
}

type numberedLease struct {
	number int64
	from   time.Time
}

// leaseOf returns the number of the lease that a UID is of; 0 if there is none.
func (r *renewed) leaseOf(p uid.Parts) (number int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.leases[p.WorkerID] {
		if !p.Time.Before(l.from) {
			number = l.number
		}
	}
	return number
}

func (r *renewed) Assign(ctx context.Context, q workerassign.Request) (workerassign.Lease, error) {
	number := r.begun.Add(1)
	l, err := r.Assigner.Assign(ctx, q)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.leases[l.WorkerID()] = append(r.leases[l.WorkerID()], numberedLease{number, l.NotBefore()})
	}
	return l, err
}

func (r *renewed) renew(ctx context.Context) error {
	defer r.former.Store(r.begun.Load()) // of before the call
	return r.Renew(ctx)
}

// take takes until the generator is closed.
func (r *renewed) take(t *testing.T, w *uniq.Writer, n int) {
	next := r.NextContext
	if c, ok := r.Generator.(*uid.Cached); ok {
		next = []func(context.Context) (uid.ID, error){c.NextContext, c.Local().NextContext, percpu.New(c).NextContext}[n]
	}
	for ; ; time.Sleep(100 * time.Microsecond) {
		former := r.former.Load()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		id, err := next(ctx)
		cancel()
		switch number := r.leaseOf(r.Parse(id)); {
		case errors.Is(err, uid.ErrClosed):
			return
		case errors.Is(err, uid.ErrLease), errors.Is(err, context.DeadlineExceeded):
			r.failed[n].Add(1)
		case err != nil || !w.Add(int64(id)) || number <= former:
			t.Errorf("taker %d: %v, %v is a duplicate, or of lease %d; those up to %d were dropped", n, err, r.Parse(id), number, former)
		default:
			r.taken[n].Add(1)
		}
	}
}

// Invariant 1: Renew while the server is paused or killed, twice at the same time, and during Close.
func TestInvariant1RenewWhileServerIsDown(t *testing.T) {
	s := mariadbtest.Start(t)
	dsn := s.DSN("root", "", slotDatabase(t, s))
	leaktest.Check(t)
	var sets [2]uniq.Set // both assigners have the same worker IDs
	takers, all, list := &sync.WaitGroup{}, &sync.WaitGroup{}, []*renewed{}
	defer takers.Wait()
	for n := range 4 {
		r := &renewed{leases: map[int64][]numberedLease{}, Assigner: []workerassign.Assigner{fleettest.First(t, openStore(t, dsn)), workerassign.NewDisposable(mariadbtest.Open(t, dsn), workerassign.WithBackoff(time.Millisecond, time.Second/20), discardLog())}[n/2]}
		g, err := fleettest.NewGenerator(testkit.Patient(t), r, n%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		r.Generator, list = g, append(list, r)
		for taker := range r.taken {
			takers.Go(func() { r.take(t, sets[n/2].Writer(), taker) })
		}
	}
	each := func(do func(*renewed)) {
		for _, r := range list {
			all.Go(func() { do(r) })
		}
	}
	wait := func(counts *[3]atomic.Int64) { // until two takes more of each taker have succeeded, or failed: the second one begins after now
		for n := range counts {
			enough := counts[n].Load() + 2
			testkit.Eventually(t, "two takes", func() bool { return t.Failed() || counts[n].Load() >= enough })
		}
	}
	renew := func(r *renewed) { testkit.Retry(t, "Renew", func() error { return r.renew(testkit.Patient(t)) }) }
	each(func(r *renewed) { wait(&r.taken); renew(r); wait(&r.taken) })
	all.Wait()
	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	each(func(r *renewed) {
		if err := r.renew(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		wait(&r.failed)
	})
	all.Wait()
	s.Kill()
	each(func(r *renewed) { all.Go(func() { renew(r) }); renew(r) })
	s.Restart()
	all.Wait()
	each(func(r *renewed) { wait(&r.taken); all.Go(func() { r.renew(t.Context()) }); r.Close() })
	all.Wait()
}

package redis_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// The tests with faults use times that are a thousandth of the usual ones, and a layout with 64 UIDs for each
// worker ID and millisecond, so that a fault costs less than half a second.
const (
	horizon    = 300 * time.Millisecond
	fencing    = 20 * time.Millisecond
	skew       = 20 * time.Millisecond
	clockBound = 60 * time.Millisecond
	reserve    = 100 * time.Millisecond
	workerBits = 6
)

// layout returns the layout of the generators.
func layout() bitsalloc.Layout {
	l, err := bitsalloc.New(41, workerBits, 6)
	if err != nil {
		panic(err)
	}
	return l
}

// request returns the request that generators make: all leases of a pool must have the same format.
func request() workerassign.Request {
	format, err := uid.NewFormat(uid.WithLayout(layout()), uid.WithTimeUnit(time.Millisecond))
	if err != nil {
		panic(err)
	}
	return workerassign.Request{Format: format.String(), MaxWorkerID: layout().MaxWorkerID(), Logger: discard()}
}

// discard returns a logger that logs nothing.
func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// assigner returns an assigner with the short times.
func assigner(s workerassign.SlotStore, opts ...workerassign.RecycledOption) *workerassign.Recycled {
	return workerassign.NewRecycled(s, append([]workerassign.RecycledOption{workerassign.WithHorizon(horizon), workerassign.WithFencing(fencing),
		workerassign.WithSkew(skew), workerassign.WithClockBound(clockBound)}, opts...)...)
}

// newGenerator starts a generator, a Cached or a Default one.
func newGenerator(ctx context.Context, a workerassign.Assigner, cached bool) (uid.Generator, error) {
	opts := []uid.Option{uid.WithLayout(layout()), uid.WithTimeUnit(time.Millisecond), uid.WithReserveAhead(reserve), uid.WithLogger(discard())}
	if !cached {
		return uid.NewDefault(ctx, a, opts...)
	}
	return uid.NewCached(ctx, a, append(opts, uid.WithMaxBorrow(20*time.Millisecond))...)
}

// fleet is several generators, whose UIDs are all checked.
type fleet struct {
	ctx        context.Context
	stop       context.CancelFunc
	running    sync.WaitGroup
	set        uniq.Set
	generated  atomic.Int64
	duplicates atomic.Int64
	failures   atomic.Int64 // of takes
	leases     atomic.Int64 // generators that were started
}

func newFleet() *fleet {
	f := &fleet{}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// end ends all generators, and returns what they generated.
func (f *fleet) end() string {
	f.stop()
	f.running.Wait()
	return fmt.Sprintf("%d UIDs of %d generators, %d duplicates, %d failed takes", f.generated.Load(), f.leases.Load(), f.duplicates.Load(), f.failures.Load())
}

// take takes n UIDs, for at most 50 ms.
func (f *fleet) take(w *uniq.Writer, g uid.Generator, n int) error {
	ctx, cancel := context.WithTimeout(f.ctx, 50*time.Millisecond)
	defer cancel()
	for range n {
		id, err := g.NextContext(ctx)
		if err != nil {
			f.failures.Add(1)
			return err
		}
		f.add(w, id)
	}
	return nil
}

// add records a UID.
func (f *fleet) add(w *uniq.Writer, id uid.ID) {
	if !w.Add(int64(id)) {
		f.duplicates.Add(1)
	}
	f.generated.Add(1)
}

// run generates UIDs until the fleet ends, with one generator after the other: each is closed after life. A
// generator whose take fails is used further.
func (f *fleet) run(a workerassign.Assigner, cached bool, life time.Duration) {
	f.running.Go(func() {
		w := f.set.Writer()
		for f.ctx.Err() == nil {
			ctx, cancel := context.WithTimeout(f.ctx, 2*time.Second)
			g, err := newGenerator(ctx, a, cached)
			cancel()
			if err != nil {
				time.Sleep(5 * time.Millisecond)
				continue
			}
			f.leases.Add(1)
			for end := time.Now().Add(life); f.ctx.Err() == nil && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
				f.take(w, g, 20)
			}
			g.Close()
		}
	})
}

// runLeases takes leases, extends and releases them until the fleet ends, as fast as it can, and stamps all UIDs
// of the last few milliseconds of each grant.
func (f *fleet) runLeases(a workerassign.Assigner) {
	f.running.Go(func() {
		w, l := f.set.Writer(), layout()
		epoch := uid.DefaultEpoch().UnixMilli()
		for f.ctx.Err() == nil {
			ctx, cancel := context.WithTimeout(f.ctx, time.Second)
			lease, err := a.Assign(ctx, request())
			if err != nil {
				cancel()
				time.Sleep(time.Millisecond)
				continue
			}
			f.leases.Add(1)
			next := lease.NotBefore().UnixMilli()
			for range 4 {
				granted, err := lease.Reserve(ctx, time.Now().Add(rand.N(2*horizon)))
				if err != nil {
					break
				}
				for ms := max(next, granted.UnixMilli()-3); ms < granted.UnixMilli(); ms++ {
					for sequence := range l.MaxSequence() + 1 {
						id, err := l.Allocate(ms-epoch, lease.WorkerID(), sequence)
						if err != nil {
							panic(err)
						}
						f.add(w, uid.ID(id))
					}
					next = ms + 1
				}
			}
			lease.Release(ctx, time.UnixMilli(next))
			cancel()
		}
	})
}

// check fails the test if there are duplicates, or fewer UIDs than want.
func (f *fleet) check(t *testing.T, want int64) {
	t.Helper()
	t.Log(f.end())
	if f.duplicates.Load() != 0 || f.generated.Load() < want {
		t.Errorf("%d duplicates and %d UIDs; want 0, and at least %d", f.duplicates.Load(), f.generated.Load(), want)
	}
}

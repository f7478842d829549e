// Package fleettest runs generators with worker IDs of a recycled.Store, while a test kills, pauses
// or restores the server, and checks each UID, and each call of the store (package ledger). It uses short times and a layout of 64 UIDs for each worker
// ID and millisecond, so that a fault takes about a second.
package fleettest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit/ledger"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The times of the pools and generators.
const (
	Horizon    = 800 * time.Millisecond
	fencing    = 20 * time.Millisecond
	skew       = 20 * time.Millisecond
	ClockBound = 100 * time.Millisecond
	reserve    = 200 * time.Millisecond
	workerBits = 8

	sequenceBits = 6
)

// Layout returns the layout of the generators.
func Layout() bitsalloc.Layout {
	l, err := bitsalloc.New(41, workerBits, sequenceBits)
	if err != nil {
		panic(err)
	}
	return l
}

// Request returns the request that the generators make: all leases of a pool must have the same format.
func Request() workerassign.Request {
	format, err := uid.NewFormat(uid.WithLayout(Layout()), uid.WithTimeUnit(time.Millisecond))
	if err != nil {
		panic(err)
	}
	return workerassign.Request{Format: format.String(), MaxWorkerID: Layout().MaxWorkerID(), Logger: discard()}
}

// discard returns a logger that logs nothing.
func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Assigner returns an assigner with the short times.
func Assigner(s recycled.Store, opts ...recycled.Option) *recycled.Assigner {
	return recycled.New(s, times(opts)...)
}

// times returns the short times, and other options.
func times(opts []recycled.Option) []recycled.Option {
	return append([]recycled.Option{recycled.WithHorizon(Horizon), recycled.WithFencing(fencing), recycled.WithSkew(skew),
		recycled.WithClockBound(ClockBound)}, opts...)
}

// First returns an assigner with the short times, on a pool that CreatePool has created, now or before.
func First(tb testing.TB, s recycled.Store, opts ...recycled.Option) *recycled.Assigner {
	tb.Helper()
	return slottest.New(tb, s, times(opts)...)
}

// NewGenerator starts a generator, a Cached or a Default one.
func NewGenerator(ctx context.Context, a workerassign.Assigner, cached bool) (uid.Generator, error) {
	return NewKind(ctx, a, cached, uid.WithLayout(Layout()), uid.WithTimeUnit(time.Millisecond), uid.WithReserveAhead(reserve), uid.WithLogger(discard()),
		uid.WithMaxBorrow(20*time.Millisecond))
}

// NewKind starts a generator, a Cached or a Default one, with those of the options that its constructor accepts.
func NewKind(ctx context.Context, a workerassign.Assigner, cached bool, opts ...any) (uid.Generator, error) {
	if cached {
		c, err := uid.NewCached(ctx, a, accepted[uid.Option](opts)...)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	d, err := uid.NewDefault(ctx, a, accepted[uid.DefaultOption](opts)...)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// accepted returns those of the options that a constructor accepts.
func accepted[O any](opts []any) (list []O) {
	for _, opt := range opts {
		if o, ok := opt.(O); ok {
			list = append(list, o)
		}
	}
	return list
}

// Fleet is several generators, whose UIDs are all checked.
type Fleet struct {
	ctx        context.Context
	stop       context.CancelFunc
	running    sync.WaitGroup
	set        *uniq.Set // of the values that spread returns; also of the fleets before
	generated  atomic.Int64
	duplicates atomic.Int64
	failures   atomic.Int64           // of takes
	leases     atomic.Int64           // generators that were started, and leases of RunLeases
	kinds      [2]kind                // of Default and Cached
	moment     atomic.Pointer[moment] // of the next kill
	log        *ledger.Log
}

// New returns a fleet without generators.
func New() *Fleet {
	f := &Fleet{set: new(uniq.Set), log: ledger.New(ledger.Monotonic)}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// End ends all generators, and returns what they generated.
func (f *Fleet) End() string {
	f.stop()
	f.running.Wait()
	started := f.kinds[0].started.Load() + f.kinds[1].started.Load()
	return fmt.Sprintf("%d UIDs, %d of them by Take; %d generators of Run, %d leases of RunLeases; %d duplicates, %d failed takes",
		f.generated.Load(), f.Taken(), started, f.leases.Load()-started, f.duplicates.Load(), f.failures.Load())
}

// First creates the pool with the short times.
func (f *Fleet) First(tb testing.TB, s recycled.Store, opts ...recycled.Option) {
	tb.Helper()
	First(tb, f.log.Operator(s), opts...)
}

// A Process is one of a fleet. Add and Take are for one goroutine.
type Process struct {
	fleet    *Fleet
	writer   *uniq.Writer
	ledger   *ledger.Client
	Assigner workerassign.Assigner // with the short times
}

// Process returns another process of the fleet, which uses the store.
func (f *Fleet) Process(s recycled.Store, opts ...recycled.Option) *Process {
	c := f.log.Client(s, ClockBound)
	return &Process{f, f.set.Writer(), c, c.Assigner(Assigner(c, opts...))}
}

// Add records a UID.
func (p *Process) Add(id uid.ID) {
	unit, worker, _ := Layout().Split(int64(id))
	p.ledger.Stamp(worker, uid.DefaultEpoch().Add(time.Duration(unit)*time.Millisecond))
	p.fleet.Add(p.writer, id)
}

// Take takes n UIDs, for at most 50 ms.
func (p *Process) Take(g uid.Generator, n int) error {
	ctx, cancel := context.WithTimeout(p.fleet.ctx, 50*time.Millisecond)
	defer cancel()
	_, cached := g.(*uid.Cached)
	for range n {
		id, err := g.NextContext(ctx)
		if err != nil {
			p.fleet.failures.Add(1)
			return err
		}
		p.fleet.of(cached).taken.Add(1)
		p.Add(id)
	}
	return nil
}

// Writer returns a writer of UIDs for Add, for one goroutine.
func (f *Fleet) Writer() *uniq.Writer { return f.set.Writer() }

// Add records a UID of another process.
func (f *Fleet) Add(w *uniq.Writer, id uid.ID) {
	if !w.Add(spread(int64(id))) {
		f.duplicates.Add(1)
	}
	f.generated.Add(1)
}

// spread moves the worker ID of a UID above its time unit. What one worker ID stamps is then dense, and a set needs 8 bytes for each
// millisecond in which a worker ID is used: 29 MB for an hour, instead of a page of 1 KiB for each millisecond.
func spread(id int64) int64 {
	unit, worker, sequence := id>>(workerBits+sequenceBits), id>>sequenceBits&(1<<workerBits-1), id&(1<<sequenceBits-1)
	return worker<<(63-workerBits) | unit<<sequenceBits | sequence
}

// Run generates UIDs until the fleet ends, with one generator after the other: each is closed after life. A
// generator whose take fails is used further.
func (f *Fleet) Run(s recycled.Store, cached bool, life time.Duration, opts ...recycled.Option) {
	k := f.of(cached)
	k.isRun.Store(true)
	f.running.Go(func() {
		p := f.Process(s, opts...)
		for f.ctx.Err() == nil {
			ctx, cancel := context.WithTimeout(f.ctx, 3*time.Second)
			g, err := NewGenerator(ctx, p.Assigner, cached)
			cancel()
			if err != nil {
				k.failed.Store(&err)
				time.Sleep(5 * time.Millisecond)
				continue
			}
			k.started.Add(1)
			f.leases.Add(1)
			for end := time.Now().Add(life); f.ctx.Err() == nil && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
				p.Take(g, 20)
			}
			g.Close()
		}
	})
}

// RunLeases takes leases, extends and releases them until the fleet ends, as fast as it can. It stamps a UID in each
// millisecond of each grant, and all UIDs of the last few milliseconds. Some leases are not released.
func (f *Fleet) RunLeases(store recycled.Store) {
	s := &interruptedStore{Store: store, fleet: f}
	p := f.Process(s)
	f.running.Go(func() {
		l := Layout()
		epoch := uid.DefaultEpoch().UnixMilli()
		during := func(c call, do func(context.Context) error) error {
			ctx, cancel := context.WithTimeout(f.ctx, time.Second)
			defer cancel()
			s.call.Store(int32(c))
			return do(ctx)
		}
		for f.ctx.Err() == nil {
			var lease workerassign.Lease
			if err := during(callAssign, func(ctx context.Context) (err error) {
				lease, err = p.Assigner.Assign(ctx, Request())
				return err
			}); err != nil {
				time.Sleep(time.Millisecond)
				continue
			}
			f.leases.Add(1)
			next := lease.NotBefore().UnixMilli()
			for range 4 {
				var granted workerassign.Grant
				if err := during(callReserve, func(ctx context.Context) (err error) {
					granted, err = lease.Reserve(ctx, time.Now().Add(rand.N(Horizon/2)))
					return err
				}); err != nil {
					break
				}
				for ms := next; ms < granted.Until.UnixMilli(); ms++ {
					sequences := int64(1) // of each millisecond, so that any two spans that overlap are found
					if ms >= granted.Until.UnixMilli()-3 {
						sequences = l.MaxSequence() + 1
					}
					for sequence := range sequences {
						id, err := l.Allocate(ms-epoch, lease.WorkerID(), sequence)
						if err != nil {
							panic(err)
						}
						p.Add(uid.ID(id))
					}
					next = ms + 1
				}
			}
			if rand.IntN(10) > 0 {
				during(callRelease, func(ctx context.Context) error { return lease.Release(ctx, time.UnixMilli(next)) })
			}
			time.Sleep(rand.N(20 * time.Millisecond))
		}
	})
}

// Generated returns how many UIDs were generated.
func (f *Fleet) Generated() int64 { return f.generated.Load() }

// Begin says what the store has, if the fleet is not the first one, and which one came before; nil: that is not known. A UID of the one
// before, or of those before it, is a duplicate. Begin must be called first.
func (f *Fleet) Begin(s recycled.State, previous *Fleet) {
	f.log.Begin(s)
	if previous != nil {
		f.set = previous.set
		f.log.Follow(previous.log)
	}
}

// Ledger ends the fleet, and returns what the ledger says of it.
func (f *Fleet) Ledger() ledger.Report {
	f.End()
	return f.log.Check()
}

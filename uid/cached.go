package uid

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/workerassign"
)

// Cached takes UIDs from a ring that a padding goroutine keeps full. A take is one atomic add. A
// burst is served with time units that the clock has not reached yet, up to the limit of
// WithMaxBorrow. It is safe for concurrent use.
type Cached struct {
	// Every take reads the ring's first line, and every take from a block reads generation. The
	// padding keeps fields that are written off these lines. The ring is a field and not a pointer, so
	// that a take of a zero Cached finds a zero ring.
	_          cpu.CacheLinePad
	generation atomic.Uint64 // of the valid blocks: each scheduled padding, each drop, and Close, begins a new one
	_          cpu.CacheLinePad
	ring       ringbuffer.Ring
	_          cpu.CacheLinePad

	*core
	runs    *runProvider
	closing *closing
}

var _ Generator = (*Cached)(nil)

// NewCached returns a Cached generator: it checks the options, takes a lease from the assigner and
// fills the ring. ctx limits how long that takes; if a lease was taken before ctx ends, and granted no
// time, its release may take 5 seconds more. ctx has no effect on the generator afterwards: Close ends
// the generator. A static lease grants nothing before the next time unit starts, so its ring is empty
// at first, and the first takers wait for that.
//
// Errors wrap ErrOption (no worker ID was assigned), ErrBeforeEpoch, ErrTimeExhausted, ErrWorkerID,
// or ErrLease.
func NewCached(ctx context.Context, a workerassign.Assigner, opts ...Option) (*Cached, error) {
	cfg, err := newCachedConfig(opts)
	if err != nil {
		return nil, err
	}
	core, err := newCore(ctx, a, cfg)
	if err != nil {
		return nil, err
	}
	leases := core.leases
	c := &Cached{core: core, closing: newClosing()}
	works := false
	defer func() {
		if works {
			return
		}
		held := core.first // or, if the clock has not panicked before, the lease that the padding has left in use
		if c.runs != nil {
			held = c.runs.current.Load().held
		}
		leases.Close(held, held.First()) // no UID was handed out
	}()
	c.runs = newRunProvider(core)
	// The first padding may start a task of the lease manager, so OnChange comes first. But the ring
	// must not be used before Init returns.
	initialized := make(chan struct{})
	leases.OnChange(func() {
		select {
		case <-initialized:
			c.ring.Kick()
		case <-leases.Done():
		}
	})
	leases.OnVoid(func(h *leasing.HeldLease, err error) {
		select {
		case <-initialized:
			c.drop(h, err)
		case <-leases.Done():
		}
	})
	err = c.ring.Init(ctx, ringbuffer.Config{
		Provider:      c.runs,
		Capacity:      1 << cfg.boostPower,
		PaddingFactor: cfg.factor,
		Interval:      cfg.interval,
		Stale:         c.runs.isStale,
		OnSchedule: func() {
			c.generation.Add(1)
			core.end.warn()
		},
		BeforeRun:  c.runs.readClock,
		Assist:     true,
		TakePolicy: cfg.take,
		Logger:     cfg.logger,
	})
	if err != nil {
		return nil, fmt.Errorf("uid: the first padding failed: %w", err)
	}
	close(initialized)
	works = true
	return c, nil
}

// isConstructed reports whether NewCached returned the generator.
func (c *Cached) isConstructed() bool { return c != nil && c.core != nil }

// Next returns a UID. While the current run of the ring has one, it neither allocates nor blocks; the call that uses up a run may
// generate another one, for which it reads the clock. When the ring is empty,
// the take policy decides, and waiting is unbounded (NextContext limits it). Its errors wrap
// ErrClosed, ErrTimeExhausted (permanently), ErrEmpty, or, if a lease cannot be taken or extended,
// ErrLease (with ErrWorkerID if the layout has no more worker IDs).
func (c *Cached) Next() (ID, error) {
	if c != nil {
		if v, ok := c.ring.TryTake(); ok {
			return ID(v), nil
		}
	}
	return c.next(context.Background())
}

// NextContext is like Next, but waits no longer than until ctx ends: then the error wraps that of ctx
// and says what was waited for, and no UID is used up. While the ring has a UID, ctx is not checked.
func (c *Cached) NextContext(ctx context.Context) (ID, error) {
	if c != nil {
		if v, ok := c.ring.TryTake(); ok {
			return ID(v), nil
		}
	}
	return c.next(ctx)
}

// next is the slow path of Next, separate so that the fast path stays small.
func (c *Cached) next(ctx context.Context) (ID, error) {
	if !c.isConstructed() {
		return 0, errNotMade
	}
	v, _, err := c.ring.Claim(ctx, 1)
	if err != nil {
		return 0, translate(err)
	}
	return ID(v), nil
}

// NextN fills dst from the front, at one atomic add for each run that it takes from. When the ring is
// empty, the take policy decides, as with Next.
func (c *Cached) NextN(dst []ID) (int, error) { return c.NextNContext(context.Background(), dst) }

// NextNContext is like NextN, but waits no longer than until ctx ends.
func (c *Cached) NextNContext(ctx context.Context, dst []ID) (int, error) {
	if !c.isConstructed() {
		return 0, errNotMade
	}
	n := 0
	for n < len(dst) {
		first, got, err := c.ring.Claim(ctx, int64(len(dst)-n))
		if err != nil {
			return n, translate(err)
		}
		part := dst[n : n+int(got)]
		for i := range part {
			part[i] = ID(first + int64(i))
		}
		n += len(part)
	}
	return n, nil
}

// translate returns the generator's error for an error of the ring. The ring hides its ErrClosed and
// ErrExhausted in errors of a user's take policy. If such a policy returned the end of another
// generator, that is hidden here.
func translate(err error) error {
	switch {
	case errors.Is(err, ringbuffer.ErrClosed):
		return ErrClosed
	case errors.Is(err, ErrClosed), errors.Is(err, ErrTimeExhausted) && !errors.Is(err, ringbuffer.ErrExhausted):
		return mask(err)
	}
	return err
}

// drop drops a lease, all others that were taken since the last drop (see Manager.Drop; for Renew, h is nil), and all UIDs that were
// generated and are not taken. err is why, and wraps ErrLease. A call that begins after drop has returned gets no UID of these leases. The generator
// takes another lease.
func (c *Cached) drop(h *leasing.HeldLease, err error) {
	// No run is being generated when the leases are dropped, and what was generated before is in the ring.
	c.ring.Drop(func() { c.leases.Drop(h, err) })
	// After the ring, so that every block of the last generation was claimed before.
	c.generation.Add(1)
	c.ring.Kick()
}

// Parse splits a UID into its parts.
func (c *Cached) Parse(id ID) Parts {
	if !c.isConstructed() {
		return Parts{ID: id}
	}
	return c.cfg.format.Parse(id)
}

// Format returns the layout, epoch and time unit of the generator's UIDs.
func (c *Cached) Format() Format {
	if !c.isConstructed() {
		return Format{}
	}
	return c.cfg.format
}

// Close ends the generator: see Generator. The UIDs in the ring are lost, which is a gap. Close waits
// for background work, and for a few seconds at most until the lease is released. The error says that
// the release failed, or wraps ErrBusy.
func (c *Cached) Close() error {
	if !c.isConstructed() {
		return nil
	}
	return c.closing.run(c.endWork)
}

// endWork does the work of Close.
func (c *Cached) endWork() error {
	err := c.ring.Close() // after which the run provider is not called any more
	// After the ring, so that every block of the last generation was claimed before.
	c.generation.Add(1)
	l := c.runs.current.Load()
	reached, ok := c.ring.Reached()
	return errors.Join(err, c.leases.Close(l.held, l.usedAtClose(reached, ok, c.cfg.format.layout)))
}

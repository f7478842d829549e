package workerassign

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/millis"
)

// parent is a lease of the wrapped assigner, which Divide assigns in parts. A child is the lease of one
// part.
type parent struct {
	lease     Lease
	id        int64 // the worker ID of lease
	innerBits int   // the number of bits for id
	partCount int64
	nextPart  int64 // the number of the next child; guarded by the lock of the divideAssigner

	lost        atomic.Bool   // whether the last attempt to extend the lease failed
	isVoid      atomic.Bool   // whether what the lease was granted is void
	voidLeases  *atomic.Int64 // that of the divideAssigner
	voidBefore  int64         // its value when this one was assigned
	reserveLock chan struct{} // a lock, held by sending: calls of a lease's Reserve must not overlap

	mu         sync.Mutex
	unreleased int64     // the number of parts that are not assigned yet, or are assigned and not released
	used       time.Time // the latest of the times that the children were released with
}

func newParent(lease Lease, id int64, bits, innerBits int, voidLeases *atomic.Int64, voidBefore int64) *parent {
	parts := int64(1) << bits
	return &parent{lease: lease, id: id, innerBits: innerBits, partCount: parts, unreleased: parts, reserveLock: make(chan struct{}, 1),
		voidLeases: voidLeases, voidBefore: voidBefore}
}

// mayBeCopied reports whether a copy of this process may have the lease: one that was assigned before another one was found void, or
// before a renewal.
func (p *parent) mayBeCopied() bool { return p.voidLeases.Load() != p.voidBefore }

// newChild returns the lease of the next part. There must be one. The caller must hold the lock of the
// divideAssigner.
func (p *parent) newChild(now func() time.Time) *child {
	c := &child{parent: p, id: p.nextPart<<p.innerBits | p.id, now: Request{Now: now}.Time}
	p.nextPart++
	return c
}

// releaseUnassigned counts the parts that were not assigned as released and not used. If that releases
// the lease, it returns the error of the release.
func (p *parent) releaseUnassigned(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	if err := p.release(ctx, p.partCount-p.nextPart, time.Time{}); err != nil {
		return fmt.Errorf("worker ID %d: %w", p.id, err)
	}
	return nil
}

// release counts parts, at least one, as released. It releases the lease after its last part.
func (p *parent) release(ctx context.Context, parts int64, used time.Time) error {
	p.mu.Lock()
	p.unreleased -= parts
	p.used = millis.Later(p.used, used)
	last, used := p.unreleased == 0, p.used
	p.mu.Unlock()
	if !last {
		return nil
	}
	err := p.lease.Release(ctx, used)
	p.noteVoid(err)
	return err
}

// noteVoid records that what the lease was granted is void, if err says so.
func (p *parent) noteVoid(err error) {
	if errors.Is(err, ErrVoid) && !p.isVoid.Swap(true) {
		p.voidLeases.Add(1)
	}
}

// child is the lease of one part of a parent.
type child struct {
	*parent
	id       int64
	now      func() time.Time // the generator's clock
	released atomic.Bool
}

func (c *child) WorkerID() int64      { return c.id }
func (c *child) NotBefore() time.Time { return c.lease.NotBefore() }

func (c *child) Reserve(ctx context.Context, until time.Time) (Grant, error) {
	// The clock is read before the lease's Reserve, which may grant time only up to the present.
	now := c.now()
	select {
	case c.reserveLock <- struct{}{}:
	case <-ctx.Done():
		return Grant{}, fmt.Errorf("workerassign: context ended while waiting for the Reserve of another generator: %w", context.Cause(ctx))
	}
	lost := true // also if Reserve panics
	defer func() {
		c.lost.Store(lost)
		<-c.reserveLock
	}()
	if c.released.Load() {
		lost = c.lost.Load()
		return Grant{}, fmt.Errorf("%w: worker ID %d may be in use by another generator", ErrReleased, c.id)
	}
	granted, err := c.lease.Reserve(ctx, until)
	switch {
	case errors.Is(err, ErrVoid):
		c.noteVoid(err)
	case err == nil:
		lost = !granted.Until.After(now) && until.After(now)
	case ctx.Err() != nil: // the error says nothing about the lease
		lost = c.lost.Load()
	}
	return c.scaled(granted), err
}

// Release releases the lease of the parent if this was its last part, and returns the error of that.
func (c *child) Release(ctx context.Context, used time.Time) error {
	if c.released.Swap(true) {
		return nil
	}
	return c.release(ctx, 1, used)
}

// scaled returns a grant of the parent's lease with the parts that are left.
func (c *child) scaled(g Grant) Grant {
	g = g.limited(int64(1)<<c.innerBits - 1)
	if g.Total > 0 {
		g.Remaining, g.Total = g.Remaining*c.partCount+c.partCount-1-c.id>>c.innerBits, (g.Total+1)*c.partCount-1
	}
	return g
}

package workerassign

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// parent is a lease that Divide gives out in parts.
type parent struct {
	lease     Lease
	id        int64
	innerBits int   // the bits that hold id
	partCount int64 // how many there are
	nextPart  int64 // the part that is given out next; the lock of the divided guards it

	lost        atomic.Bool   // the last try to extend it failed
	reserveLock chan struct{} // a lock, held by a send: a lease takes one Reserve at a time

	mu         sync.Mutex
	unreleased int64     // parts that may still be given out, or were and are not released
	used       time.Time // the greatest of all parts'
}

func newParent(lease Lease, id int64, bits, rest int) *parent {
	parts := int64(1) << bits
	return &parent{lease: lease, id: id, innerBits: rest, partCount: parts, unreleased: parts, reserveLock: make(chan struct{}, 1)}
}

// child returns the next part. There must be one, and the lock of the divided must be held.
func (p *parent) newChild(now func() time.Time) *child {
	c := &child{parent: p, id: p.nextPart<<p.innerBits | p.id, now: Request{Now: now}.now}
	p.nextPart++
	return c
}

// abandon counts the parts that were not given out as released, unused. Where that releases the
// lease, it returns why that failed.
func (p *parent) releaseUnassigned(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("workerassign: Release panicked: %v", v)
		}
		if err != nil {
			err = fmt.Errorf("worker ID %d: %w", p.id, err)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	return p.release(ctx, p.partCount-p.nextPart, time.Time{})
}

// release counts parts, at least one, that are not held any more, and releases the lease after
// the last.
func (p *parent) release(ctx context.Context, parts int64, used time.Time) error {
	p.mu.Lock()
	p.unreleased -= parts
	p.used = laterOf(p.used, used)
	last, used := p.unreleased == 0, p.used
	p.mu.Unlock()
	if !last {
		return nil
	}
	return p.lease.Release(ctx, used)
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

func (c *child) Reserve(ctx context.Context, until time.Time) (time.Time, error) {
	now := c.now() // under no lock, and before the lease's Reserve, which may grant no more than that
	select {
	case c.reserveLock <- struct{}{}:
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("workerassign: gave up waiting for another generator's Reserve: %w", context.Cause(ctx))
	}
	lost := true // unless it is found not to be; a panic means that it is
	defer func() {
		c.lost.Store(lost)
		<-c.reserveLock
	}()
	if c.released.Load() {
		lost = c.lost.Load()
		return time.Time{}, fmt.Errorf("%w: worker ID %d may be another's", ErrReleased, c.id)
	}
	granted, err := c.lease.Reserve(ctx, until)
	switch {
	case err == nil:
		lost = !granted.After(now) && until.After(now)
	case ctx.Err() != nil: // which says nothing of the lease
		lost = c.lost.Load()
	}
	return granted, err
}

// Release releases the parent's lease if this was the last part. An error is the parent's.
func (c *child) Release(ctx context.Context, used time.Time) error {
	if c.released.Swap(true) {
		return nil
	}
	return c.release(ctx, 1, used)
}

// Remaining implements CountingLease.
func (c *child) Remaining(int64) (n, all int64) {
	n, all = remainingIDs(c.lease, int64(1)<<c.innerBits-1)
	if all > 0 {
		n, all = n*c.partCount+c.partCount-1-c.id>>c.innerBits, (all+1)*c.partCount-1
	}
	return n, all
}

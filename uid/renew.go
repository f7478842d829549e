package uid

import (
	"context"

	"github.com/ringuid/ringuid/internal/leasing"
)

// Renew replaces the generator's lease, for a process that may have been copied while it ran. UIDs are unique only if no running
// process is resumed more than once: if a snapshot of a running machine is resumed twice, both copies hold the same lease, and
// generate the same UIDs. So call Renew in both copies after the resume, before they take UIDs, for each generator of
// the process. Nothing else calls it.
//
// Renew drops the lease in use, a next one that was taken in advance, and all UIDs that were generated and not taken: in the ring and
// in the blocks of Claim, Local, All and package percpu. A call that begins after Renew has returned gets no UID of these leases,
// whether or not Renew has failed. The leases are not released, because the other copy may hold them. Then the generator takes another
// lease. Meanwhile takers wait, or do what the take policy says, as at a rollover. When Renew returns nil, the generator has
// another lease, which may begin later.
//
// Renew returns the error of the first try that fails, which wraps ErrLease and the assigner's error, or that of ctx if ctx ends
// first; with a ctx that has ended, it drops the leases and does not wait. After both the generator has no lease, and tries again in
// the background until it has another one, is closed, or the layout has no more worker IDs (ErrWorkerID). While tries fail, takers get
// errors that wrap ErrLease. After Close, Renew returns ErrClosed.
//
// The clock of a machine that was resumed is behind until something sets it. Until then, package recycled refuses with recycled.ErrClockSkew
// if it is behind by more than the clock bound.
//
// With recycled.WithWorkerID, the new lease is one of the same slot, which is free only after the grace of the lease that was
// dropped. Until then there are no UIDs, and of two copies only one gets the slot.
//
// An assigner whose state may have been copied too, in memory or in a file on the same machine, refuses: workerassign.Static,
// workerassign.StaticFile, workerassign.File, recycled.Saved, and package recycled on a store without a clock of its own, such as that of
// package filestore. Then the error wraps workerassign.ErrRenewal, each further try fails in the same way, and the generator never
// generates a UID again. Close it, and create another one with an assigner that the other copy does not have, for example a
// workerassign.Static with another worker ID. With the store of etcd the same assigner will do, if its servers were not copied. What
// both copies have returned before both have called Renew may be equal.
//
// Each Renew uses up a worker ID, two if a next lease was taken in advance, or occupies a slot of package recycled until its grace is over. It
// may be called concurrently with all other methods; each concurrent call drops what was taken before it.
func (c *Cached) Renew(ctx context.Context) error {
	if !c.isConstructed() {
		return errNotMade
	}
	c.drop(nil, leasing.ErrRenewed)
	if c.closing.begun.Load() {
		return ErrClosed
	}
	err := c.leases.AwaitTaken(ctx)
	if c.closing.begun.Load() {
		return ErrClosed
	}
	if err == nil { // take the lease into use, so that usually Stats have it; not for long, because it may begin later
		padding, cancel := context.WithTimeout(ctx, pollInterval)
		defer cancel()
		c.ring.Pad(padding)
	}
	return err
}

// Renew replaces the generator's lease, for a process that may have been copied while it ran. It is like Cached.Renew; a Default
// generator has no UIDs in advance.
func (d *Default) Renew(ctx context.Context) error {
	if !d.isConstructed() {
		return errNotMade
	}
	d.leaseChanger.drop(nil, leasing.ErrRenewed)
	if d.closing.begun.Load() {
		return ErrClosed
	}
	err := d.leases.AwaitTaken(ctx)
	if d.closing.begun.Load() {
		return ErrClosed
	}
	if err == nil { // take the lease into use, if it has begun, so that usually Stats have it
		d.keep()
	}
	return err
}

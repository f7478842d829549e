package uid

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
)

// leaseChanger extends the lease of a Default generator, and replaces it by another one when it is
// lost.
type leaseChanger struct {
	*core
	waiter *waiter
	lease  *atomic.Pointer[defaultLease] // in use
	spread spread                        // of all leases

	// mu is held while the lease is sealed and replaced. No user code runs under it.
	mu        sync.Mutex
	lostAt    time.Time // when a lost lease was last logged
	horizon   horizonLog
	exhausted atomic.Bool // the time bits are

	past    atomic.Int64 // the number of issued UIDs, without those in the unit of the lease's last one
	changes atomic.Uint64
}

// sealCurrent seals the lease in use and returns it. The caller holds mu.
func (c *leaseChanger) sealCurrent() *defaultLease {
	l := c.lease.Load()
	c.past.Add(l.seal())
	return l
}

// seal seals the lease in use, permanently, and returns it.
func (c *leaseChanger) seal() *defaultLease {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sealCurrent()
}

// drop drops a lease and all others that were taken since the last drop: the one in use and the next one, too; for Renew, h is nil
// (see Manager.Drop). err is why, and wraps ErrLease. A call that begins after drop has returned gets no UID of these leases. It takes
// another lease.
func (c *leaseChanger) drop(h *leasing.HeldLease, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h != nil && h.IsDropped() {
		return
	}
	c.sealCurrent()
	if h == nil && c.waiter.isClosed() {
		return // Close takes the lease as it is
	}
	c.leases.Drop(h, err)
}

// whySealed is called when the lease is sealed. It returns an error, or nil if another lease has
// replaced it, or will do so because it was dropped.
func (c *leaseChanger) whySealed() error {
	if c.waiter.isClosed() {
		return ErrClosed
	}
	if c.exhausted.Load() {
		return c.timeExhausted(c.cfg.format.layout.MaxDelta() + 1)
	}
	c.mu.Lock() // until the replacement is complete
	defer c.mu.Unlock()
	return nil
}

// timeExhausted records that the time bits are exhausted, permanently, and returns the error.
func (c *leaseChanger) timeExhausted(unit int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.waiter.isClosed() && !c.exhausted.Swap(true) {
		c.sealCurrent() // so that no call returns a UID if the wall clock goes back
	}
	return &timeExhaustedError{format: c.cfg.format, delta: unit}
}

// extend waits until a unit that has started may be stamped, because the lease was extended or
// replaced, or returns an error that says why not. elapsed is the time that UIDs are stamped with,
// since the clock's start. The caller tries again. However many callers wait, there is one call of
// the assigner for each lease at a time.
func (c *leaseChanger) extend(ctx context.Context, l *defaultLease, unit int64, elapsed time.Duration) error {
	if c.waiter.isClosed() {
		return ErrClosed
	}
	if unit > c.cfg.format.layout.MaxDelta() {
		return c.timeExhausted(unit)
	}
	// The channels come first, so that no result is missed.
	dropped := c.leases.Dropped()
	tried, assigned := l.held.NextTry(), c.leases.NextTry()
	next, err := c.try(l, unit, elapsed)
	switch {
	case next.inUse:
		return nil
	case next.err != nil && err != nil:
		return fmt.Errorf("%w; and no other lease: %w", err, next.err)
	case next.err != nil:
		return next.err
	}
	c.waiter.rejectedTakes.Add(1)
	var begins <-chan time.Time
	if next.begins > 0 {
		timer := time.NewTimer(min(next.begins, time.Second)) // the clock may step forward
		defer timer.Stop()
		begins = timer.C
	}
	select {
	case <-tried:
	case <-assigned:
	case <-dropped: // also by Close: what it waits for may not end any more
	case <-next.tried:
	case <-begins:
	case <-ctx.Done():
		if next.begins > 0 {
			return fmt.Errorf("uid: gave up waiting: %w: %w", next.notBegun, ended(ctx))
		}
		return fmt.Errorf("uid: gave up waiting for a lease: %w", ended(ctx))
	}
	return nil
}

// try extends a lease for a unit that has started, if that is due, and replaces it if it is lost. err is the error of the last try to
// extend it. try does not block.
func (c *leaseChanger) try(l *defaultLease, unit int64, elapsed time.Duration) (next nextLease, err error) {
	err = c.leases.Extend(l.held, unit)
	switch {
	case unit < l.held.Granted(), c.lease.Load() != l: // a lease that was replaced is not extended any more, so nothing would end a wait for that
		next.inUse = true
	case err != nil || l.held.Denied():
		next = c.change(l, unit, elapsed, err)
	}
	return next, err
}

// nextLease is the state of the lease that replaces a lost one.
type nextLease struct {
	inUse  bool            // it has replaced the lost one, or is not required
	err    error           // why there is none
	tried  <-chan struct{} // closed after the next try to extend it; nil if it is not being extended
	begins time.Duration   // the time until its first unit; 0 if it does not wait for that

	notBegun error // why it waits for that
}

// change replaces a lease that is lost, if the next one is ready. err is the reason, if it is known.
// elapsed is the time that UIDs are stamped with, and lies in the unit now.
func (c *leaseChanger) change(l *defaultLease, now int64, elapsed time.Duration, err error) nextLease {
	clockNow := c.clock.Elapsed() // not under the lock, because it may call the user's clock
	c.mu.Lock()
	if c.lease.Load() != l || l.last.Load() == sealed && !l.held.IsDropped() || c.waiter.isClosed() || c.exhausted.Load() {
		c.mu.Unlock()
		return nextLease{inUse: true}
	}
	next, state := c.ready(l, now)
	if taken := c.leases.Next(); taken != nil && l.firstUnitOf(taken) > now { // granted or not
		firstUnit := l.firstUnitOf(taken)
		c.mu.Unlock()
		// Not by the generator's clock, which may have reached the unit if UIDs have the wall
		// clock's time.
		state.begins, state.notBegun = max(c.clock.Until(firstUnit, elapsed), 1), c.notBegun(taken.WorkerID(), firstUnit)
		return state
	}
	if next == nil {
		c.mu.Unlock()
		return state
	}
	c.leases.Use()
	c.sealCurrent()
	used := l.used()
	if !l.held.IsRenewed() {
		c.leases.RecordLoss(clockNow - l.since)
	}
	c.lease.Store(newDefaultLease(c.cfg.format.layout, next, l.firstUnitOf(next), clockNow, c.spread))
	c.leases.Retire(l.held, used)
	c.changes.Add(1)
	c.horizon.note(&c.cfg, next)
	c.mu.Unlock()
	if l.held.IsRenewed() {
		logRenewed(&c.cfg, next)
	} else {
		c.logLost(next.WorkerID(), err)
	}
	return nextLease{inUse: true}
}

// ready returns the next lease if its first unit is granted. Otherwise it has it taken or extended, and
// returns its state. The caller holds mu.
func (c *leaseChanger) ready(l *defaultLease, now int64) (*leasing.HeldLease, nextLease) {
	next, tried, err := c.leases.Ready(func(next *leasing.HeldLease) int64 { return max(l.firstUnitOf(next), now) })
	return next, nextLease{err: err, tried: tried}
}

// logLost logs that a lease was replaced because it was lost, at most once in logInterval.
func (c *leaseChanger) logLost(workerID int64, err error) {
	now := c.clock.Now()
	c.mu.Lock()
	if now.Sub(c.lostAt) < logInterval && !c.lostAt.IsZero() {
		c.mu.Unlock()
		return
	}
	c.lostAt = now
	c.mu.Unlock()
	c.cfg.log.Log(slog.LevelWarn, msgLeaseLost, "worker_id", workerID, "rollovers", c.changes.Load(), "err", err)
}

package uid

import (
	"errors"
	"fmt"

	"github.com/ringuid/ringuid/ringbuffer"
)

// Health implements Generator. Without scheduled padding (WithScheduleInterval(0)), a generator whose ring
// is full is OK although its lease was lost, because the ring still has UIDs.
//
// It does not allocate memory if the generator is OK.
func (c *Cached) Health() Health {
	if !c.isConstructed() {
		return Health{Err: errNotMade}
	}
	if c.closing.begun.Load() {
		return Health{Err: ErrClosed}
	}
	lease := c.runs.current.Load()
	return c.healthOf(lease.held, c.runs.whyNotOK(lease, c.ring.Stats()))
}

// whyNotOK returns why a take of the ring would not return a UID before the next time unit has started. It
// is safe for concurrent use.
func (p *runProvider) whyNotOK(lease *leaseInUse, ring ringbuffer.Stats) error {
	if ring.Fill > 0 {
		return nil
	}
	held, layout := lease.held, p.cfg.format.layout
	now := p.clock.Unit()
	unit := p.nextUnit(lease, now)
	soon := now + lease.borrowLimit + 1 // the last unit that may be stamped when the next unit starts
	switch {
	case unit > layout.MaxDelta():
		return &timeExhaustedError{format: p.cfg.format, delta: unit}
	case unit > soon && !lease.hasStamped():
		return p.notBegun(held)
	case unit > soon:
		return errAtLimit
	}
	var notYet *ringbuffer.NotYetError
	if err := ring.LastError; err != nil && !errors.Is(err, ErrLease) && !errors.As(err, &notYet) {
		return err // the padding failed for a reason that is none of the lease
	}
	if unit < held.Granted() {
		return nil
	}
	failed, err := p.leases.WhyNotGranted(held, unit)
	next := p.leases.Next()
	switch {
	case next != nil && next.First() > now+p.limitFor(next)+1 && unit <= now:
		if err != nil {
			return fmt.Errorf("%w; until then: %w", p.notBegun(next), err)
		}
		return p.notBegun(next)
	case err == nil || unit == now+1 && !failed:
		return nil
	case next != nil && max(next.First(), now) < next.Granted():
		return nil // it replaces the lease in use
	case next == nil && held.IsDropped():
		if noNext := p.leases.WhyNoNext(); noNext != nil {
			return fmt.Errorf("%w; and no other lease: %w", err, noNext)
		}
	}
	return err
}

// errAtLimit is the error of Health for a generator that waits for the clock for more than a unit.
var errAtLimit = fmt.Errorf("%w: UID time is at the borrow limit, and the clock must reach the next time unit first", ErrEmpty)

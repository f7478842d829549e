package uid

import "fmt"

// Health implements Generator. It changes nothing: the generator extends its lease by itself, also while no UIDs are taken, and
// replaces it if it is lost.
//
// It does not allocate memory if the generator is OK.
func (d *Default) Health() Health {
	if !d.isConstructed() {
		return Health{Err: errNotMade}
	}
	for {
		l := d.lease.Load()
		last := l.last.Load() // read before the clock, as in next
		if last == sealed {
			if err := d.leaseChanger.whySealed(); err != nil {
				return d.healthOf(l.held, err)
			}
			if d.lease.Load() != l {
				continue
			}
		}
		if d.waiter.isClosed() {
			return d.healthOf(l.held, ErrClosed)
		}
		err := d.whyNotOK(l, last, d.stepAt(l, last, d.clock.Read()))
		if err != nil && d.lease.Load() != l { // it says nothing about the lease that has replaced this one
			continue
		}
		return d.healthOf(l.held, err)
	}
}

// whyNotOK returns why Next would not return a UID before the next time unit has started, if s is what it does now.
func (d *Default) whyNotOK(l *defaultLease, last int64, s step) error {
	wait := max(d.clock.Until(s.unit, s.elapsed), 0)
	switch {
	case s.kind == stamp:
		return nil
	case s.kind == waitForClock:
		until := s.unit
		if last&d.seqMask == d.seqMask { // its sequence is used up
			until++
		}
		if d.isLong(d.clock.Until(until, s.elapsed)) || wait > d.cfg.rollback.bound {
			return fmt.Errorf("%w: it is %v behind the last UID's time", ErrClockBack, wait)
		}
		return nil
	case s.unit > d.cfg.format.layout.MaxDelta():
		return &timeExhaustedError{format: d.cfg.format, delta: s.unit}
	case d.isLong(wait) && s.unit == l.firstUnit:
		return d.notBegun(l.workerID, s.unit)
	}
	failed, err := d.leases.WhyNotGranted(l.held, s.unit)
	if !failed && (wait > 0 || !l.held.IsAskedBefore(s.unit)) { // it may be granted before the next unit starts
		return nil
	}
	next := d.leases.Next()
	switch {
	case !failed:
		return err
	case next == nil:
		if noNext := d.leases.WhyNoNext(); noNext != nil && wait == 0 {
			return fmt.Errorf("%w; and no other lease: %w", err, noNext)
		}
		return err
	}
	first := max(l.firstUnitOf(next), s.unit)
	switch {
	case d.isLong(d.clock.Until(first, s.elapsed)):
		return fmt.Errorf("%w; until then: %w", d.notBegun(next.WorkerID(), first), err)
	case first < next.Granted():
		return nil // it replaces the lease in use
	}
	return err
}

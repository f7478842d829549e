package uid

import (
	"fmt"
	"time"
)

// Health implements Generator. It extends the lease if that is due, in the background, so that an idle
// generator whose health is checked keeps its lease, and replaces a lease that is lost.
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
		replaced, err := d.whyNotOK(l, last)
		if replaced {
			continue
		}
		return d.healthOf(l.held, err)
	}
}

// whyNotOK returns why Next would not return a UID before the next time unit has started, if last is the
// lease's last UID; or that the lease was replaced.
func (d *Default) whyNotOK(l *defaultLease, last int64) (replaced bool, err error) {
	if d.waiter.isClosed() {
		return false, ErrClosed
	}
	r := d.clock.Read()
	elapsed := r.Elapsed
	if !d.cfg.rollback.ride {
		elapsed = min(elapsed, r.Wall)
	}
	now, unit := d.clock.UnitAt(elapsed), last>>d.seqBits
	switch {
	case last == sealed: // the lease was dropped
		unit = now
	case !d.cfg.rollback.ride && now < unit && unit >= l.firstUnit:
		if behind := d.clock.Until(unit, elapsed); d.isLong(behind) || behind > d.cfg.rollback.bound {
			return false, fmt.Errorf("%w: it is %v behind the last UID's time", ErrClockBack, behind)
		}
		return false, nil
	case now <= unit && last&d.seqMask == d.seqMask: // Next waits for the unit after it
		unit++
		if d.isLong(d.clock.Until(unit, elapsed)) && unit == l.firstUnit {
			return false, d.notBegun(l.workerID, unit)
		}
	default:
		unit = max(unit, now)
	}
	if unit > d.cfg.format.layout.MaxDelta() {
		return false, &timeExhaustedError{format: d.cfg.format, delta: unit}
	}
	if unit < l.held.Granted() {
		d.leases.Extend(l.held, unit) // an error of it matters at the end of the grant
		return false, nil
	}
	failed, err := d.leases.Check(l.held, unit)
	if unit > now {
		return false, d.whyNotGranted(l, unit, elapsed, failed, err)
	}
	if !failed {
		return false, err
	}
	next := d.leaseChanger.change(l, unit, elapsed, err)
	switch {
	case next.inUse:
		return true, nil
	case d.isLong(next.begins):
		return false, fmt.Errorf("%w; until then: %w", next.notBegun, err)
	case next.err != nil:
		return false, fmt.Errorf("%w; and no other lease: %w", err, next.err)
	}
	return false, err
}

// whyNotGranted returns why a unit that has not started, and is not granted yet, will not be granted when it starts;
// nil if nothing is known. failed and err are what Check has returned.
func (d *Default) whyNotGranted(l *defaultLease, unit int64, elapsed time.Duration, failed bool, err error) error {
	if !failed {
		return nil
	}
	next := d.leases.Next()
	if next == nil {
		return err
	}
	first := max(l.firstUnitOf(next), unit)
	switch {
	case d.isLong(d.clock.Until(first, elapsed)):
		return fmt.Errorf("%w; until then: %w", d.notBegun(next.WorkerID(), first), err)
	case first >= next.Granted():
		return err
	}
	return nil
}

package uid

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/ringbuffer"
)

// Health is whether a generator generates UIDs now, and for how long it will without its assigner's store:
// for a readiness probe and for alerts. A generator that is OK returns a UID at once, or when the next time
// unit starts. It may be OK although its store is down: alert on For, and let the probe check OK.
//
// A generator is not OK after Close, while its lease is lost and no other is at hand, before its lease
// begins, when the time bits are exhausted, and while padding fails and the ring is empty. Such a generator
// recovers by itself, except from Close and the end of the time bits.
type Health struct {
	// Err is why Next does not return a UID now. It wraps the error that Next returns or waits with. nil
	// means that the generator is OK.
	Err error

	// Until is up to when UIDs can be generated if the assigner's store cannot be reached from now on: the
	// end of what is granted of the lease in use and of a next one that was taken in advance, or of the
	// time bits. It holds for a load of up to the layout's rate; a Cached generator that borrows time for a
	// greater load uses up the grant earlier. It is the zero time if the generator is not OK.
	Until time.Time

	// For is how long UIDs last if the store fails now, at up to the layout's rate: the time up to Until by the
	// generator's clock, at least 0. It is less than a time unit for leases that grant nothing in advance, as those of
	// workerassign.Static.
	For time.Duration

	// Bounded reports whether Until is the end of a grant. If it is false, as for the leases of
	// workerassign.NewDisposable, Until is the end of the time bits, and the assigner is only required for
	// rollovers.
	Bounded bool
}

// OK reports whether Next returns a UID at once, or when the next time unit starts.
func (h Health) OK() bool { return h.Err == nil }

// LogValue implements slog.LogValuer. The group has the keys ok, for and bounded, until if it is known, and err if the generator is
// not OK.
func (h Health) LogValue() slog.Value {
	attrs := safelog.AppendTime([]slog.Attr{slog.Bool("ok", h.OK())}, "until", h.Until)
	attrs = append(attrs, slog.Duration("for", h.For), slog.Bool("bounded", h.Bounded))
	return slog.GroupValue(safelog.AppendError(attrs, "err", h.Err)...)
}

// MarshalJSON implements json.Marshaler, for the answer of a probe: an object with the keys of LogValue. until is a time as in RFC
// 3339, with more digits of the year if it has more than four, and for is a number of nanoseconds.
func (h Health) MarshalJSON() ([]byte, error) { return safelog.JSON(h.LogValue()) }

// healthOf returns the Health of a generator with a lease in use. err is why it is not OK.
func (c *core) healthOf(h *leasing.HeldLease, err error) Health {
	unit, bounded := c.leases.GrantedUntil(h)
	if err != nil {
		return Health{Err: err, Bounded: bounded}
	}
	until := c.cfg.format.base.Time(min(unit, c.cfg.format.layout.MaxDelta()+1))
	return Health{Until: until, For: max(until.Sub(c.clock.Now()), 0), Bounded: bounded}
}

// isLong reports whether d, the time to wait for a unit, is more than a time unit.
func (c *core) isLong(d time.Duration) bool { return d > c.cfg.format.Unit() }

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
	held := lease.held
	now := p.clock.Unit()
	s := p.stepAt(lease, now, lease.borrowLimit+1) // up to the last unit that may be stamped when the next unit starts
	switch {
	case s.unit > p.cfg.format.layout.MaxDelta():
		return &timeExhaustedError{format: p.cfg.format, delta: s.unit}
	case s.kind == waitForClock && !lease.hasStamped():
		return p.notBegun(held)
	case s.kind == waitForClock:
		return errAtLimit
	}
	var notYet *ringbuffer.NotYetError
	if err := ring.LastError; err != nil && !errors.Is(err, ErrLease) && !errors.As(err, &notYet) {
		return err // the padding failed for a reason that is none of the lease
	}
	if s.kind == stamp {
		return nil
	}
	failed, err := p.leases.WhyNotGranted(held, s.unit)
	next := p.leases.Next()
	switch {
	case next != nil && next.First() > now+p.limitFor(next)+1 && s.unit <= now:
		if err != nil {
			return fmt.Errorf("%w; until then: %w", p.notBegun(next), err)
		}
		return p.notBegun(next)
	case err == nil || s.unit == now+1 && !failed:
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

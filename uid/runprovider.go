package uid

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/unitclock"
	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/workerassign"
)

// pollInterval is when the padder tries again while the lease manager is busy. The manager wakes it
// earlier when it has changed something.
const pollInterval = 50 * time.Millisecond

// Reasons why there is no run yet.
var (
	errClockBehind = errors.New("uid: the clock must reach the next time unit first")
	errTooSoon     = errors.New("uid: UID time is at the borrow limit, and the rollover interval is not over")
	errNoLeaseYet  = errors.New("uid: UID time is at the borrow limit, and the next lease is not assigned yet")
	errNoGrantYet  = errors.New("uid: the lease is not extended yet")
	errNoGain      = errors.New("uid: UID time is at the borrow limit, and the next lease begins no earlier")
)

// runProvider generates the runs of a Cached generator. It is the ring's Provider, so the fields
// without a lock belong to the goroutine that has the ring's turn. A run is one whole time
// unit of one worker ID (less what WithSpread leaves out), which is invariant 2. Its unit is
//
//	max(last + 1, now, first unit of the lease)
//
// so units only increase within a lease, which is invariant 4, and idle units are skipped.
type runProvider struct {
	cfg    config
	clock  *unitclock.Clock
	leases *leasing.Manager
	spread spread

	// elapsed is the latest time that was read from the clock, since its start. The clock may be user
	// code, so readClock reads it before a turn of the ring, and NextRun does not.
	elapsed atomic.Int64

	rollback rollbackWatch // counts steps back of the wall clock

	log     rolloverLog
	current atomic.Pointer[leaseInUse] // is stored with the turn, and read by Stats and Health, too
	changes atomic.Uint64              // of the lease
}

// leaseInUse is a lease that is in use, and what follows from it. Only stamped changes, with the turn.
type leaseInUse struct {
	held         *leasing.HeldLease
	since        time.Time    // when it was taken into use
	borrowLimit  int64        // how many units ahead of now may be stamped: see limitFor
	prefetchLead int64        // how many units ahead of now the next lease is taken
	rollover     bool         // whether it is replaced at the borrow limit
	stamped      atomic.Int64 // the last unit stamped with it; held.First() - 1 before the first one
}

func newRunProvider(c *core) *runProvider {
	p := &runProvider{
		cfg:    c.cfg,
		clock:  c.clock,
		leases: c.leases,
		spread: newSpread(c.cfg.spread),
	}
	p.rollback = rollbackWatch{policy: RideOut(), clock: c.clock, log: c.cfg.log}
	p.readClock()
	p.log = rolloverLog{cfg: c.cfg, rolloverAt: p.now()}
	p.use(c.first, c.first.First()-1)
	return p
}

// use takes a lease into use. last is the last unit that must not be stamped with it.
func (p *runProvider) use(h *leasing.HeldLease, last int64) {
	ring := int64(1) << p.cfg.boostPower
	l := &leaseInUse{held: h, since: p.now(), borrowLimit: p.limitFor(h)}
	l.prefetchLead = (l.borrowLimit + ring) / 2
	// Otherwise an idle generator, whose ring is full, would reach the limit, and one rollover would
	// follow the other: see config.checkBorrow.
	l.rollover = p.cfg.rollover && l.borrowLimit >= 2*ring
	l.stamped.Store(last)
	p.log.limited(h, l.borrowLimit, l.rollover)
	p.current.Store(l)
}

// limitFor returns the borrow limit for a lease, in units.
func (p *runProvider) limitFor(h *leasing.HeldLease) int64 {
	return h.MaxAhead(int64(p.cfg.borrow / p.clock.TimeBase().Unit()))
}

// readClock reads the clock for the next call of NextRun. It is safe for concurrent use.
func (p *runProvider) readClock() {
	r := p.clock.Read()
	p.rollback.note(r.Behind)
	elapsed := int64(r.Elapsed)
	for {
		latest := p.elapsed.Load()
		if elapsed <= latest || p.elapsed.CompareAndSwap(latest, elapsed) {
			return
		}
	}
}

// now returns the time that was read last.
func (p *runProvider) now() time.Time { return p.clock.TimeAt(time.Duration(p.elapsed.Load())) }

// nowUnit returns the unit of the time that was read last.
func (p *runProvider) nowUnit() int64 { return p.clock.UnitAt(time.Duration(p.elapsed.Load())) }

// until returns the time until a unit starts; 0 if it has started.
func (p *runProvider) until(unit int64) time.Duration {
	return max(p.clock.Until(unit, time.Duration(p.elapsed.Load())), 0)
}

// NextRun returns the next run, for the time that readClock read last. It does not block, and calls
// no user code.
func (p *runProvider) NextRun(context.Context) (ringbuffer.Run, error) {
	for now := p.nowUnit(); ; { // again if the lease was changed
		l := p.current.Load()
		s := p.stepAt(l, now, l.borrowLimit)
		if s.kind != waitForClock && (p.leases.Next() != nil || l.rollover && s.unit > now+l.prefetchLead && l.isWorthReplacing(now)) {
			p.nextLease(l, now) // also extends the next lease, after a burst too; an error matters at the borrow limit
		}
		var err error
		switch {
		case s.kind == waitForClock:
			err = p.onBorrowLimit(l, now, s.unit)
		case s.unit > p.cfg.format.layout.MaxDelta():
			err = &timeExhaustedError{format: p.cfg.format, delta: s.unit}
		default:
			err = p.leases.Extend(l.held, s.unit)
			if s.kind == stamp { // an error matters at the end of the grant
				return p.stamp(l, s.unit), nil
			}
			err = p.onGrantEnd(l, now, s.unit, err)
		}
		if err != nil {
			return ringbuffer.Run{}, err
		}
	}
}

// stepAt returns what NextRun does if it is now, and up to ahead units ahead of that may be stamped. It changes nothing: Health calls
// it, too. waitForClock is for a unit beyond the borrow limit, where NextRun may also change the lease.
func (p *runProvider) stepAt(l *leaseInUse, now, ahead int64) step {
	s := step{unit: max(l.stamped.Load()+1, now)}
	if l.held.IsDropped() { // it has no next unit, so the generator does not wait for the clock
		s.unit = now
	}
	switch {
	case s.unit > now+ahead:
		s.kind = waitForClock
	case s.unit >= l.held.Granted():
		s.kind = waitForLease
	}
	return s
}

// stamp returns the run of a unit of the lease in use. Invariant 5: the worker ID was checked when it was assigned, the run has all
// sequence numbers, and no grant goes beyond the time bits.
func (p *runProvider) stamp(l *leaseInUse, unit int64) ringbuffer.Run {
	l.stamped.Store(unit)
	layout, first := p.cfg.format.layout, p.spread.first(unit)
	run := ringbuffer.Run{
		First:  layout.AllocateUnchecked(unit, l.held.WorkerID(), first),
		Length: layout.MaxSequence() + 1 - first,
	}
	if run.First == 0 { // 0 is not a UID: UIDs are positive
		run = ringbuffer.Run{First: 1, Length: run.Length - 1}
	}
	return run
}

// hasStamped reports whether a unit was stamped with the lease. If it begins so late that none was, the generator waits for it, and
// does not replace it.
func (l *leaseInUse) hasStamped() bool { return l.stamped.Load() >= l.held.First() }

// isWorthReplacing reports whether a change of the lease at the borrow limit gains at least three quarters of what the limit
// allows. If it does not, the first unit of the lease in use lies ahead of the clock, at the floor of a pool (R7), and that of
// all other leases too: a generator that waits for a floor would otherwise use another worker ID for each run of its ring.
//
// A lease that was taken just now begins in the next unit, or later if the clock of the store is ahead. It must be worth
// replacing at once, because otherwise a generator could use only one lease in a unit, whatever the load is.
func (l *leaseInUse) isWorthReplacing(now int64) bool {
	return l.held.First() <= now+1+l.borrowLimit/4
}

// onBorrowLimit is called when the next unit lies beyond the borrow limit. It changes to the next
// lease, which starts at the current time again, or returns what to wait for. If the lease is bounded and
// there is no next one, it waits for the clock, whatever the assigner says: the borrow limit is then close,
// and a pool may well be full. It also waits if the assigner has no other worker ID while this one is leased.
func (p *runProvider) onBorrowLimit(l *leaseInUse, now, unit int64) error {
	wait := &ringbuffer.NotYetError{After: p.until(unit - l.borrowLimit), Reason: errClockBehind}
	if !l.hasStamped() {
		wait.Reason = p.notBegun(l.held)
		return wait
	}
	if !l.rollover {
		return wait
	}
	if left := p.cfg.minRolloverInterval - p.now().Sub(l.since); left > 0 {
		wait.After, wait.Reason = min(wait.After, left), errTooSoon
		return wait
	}
	if next := p.leases.Next(); !l.isWorthReplacing(now) || next != nil && l.firstUnitOf(next, now) >= unit {
		wait.Reason = errNoGain
		return wait
	}
	next, err := p.nextLease(l, now)
	if next == nil {
		_, bounded := l.held.Horizon()
		if err != nil && !bounded && !errors.Is(err, workerassign.ErrInUse) {
			return err
		}
		wait.After, wait.Reason = min(wait.After, pollInterval), errNoLeaseYet
		if err != nil {
			wait.Reason = err
		}
		return wait
	}
	if l.firstUnitOf(next, now) > now+p.limitFor(next) {
		wait.Reason = errNoGain // nothing could be stamped with it now
		return wait
	}
	p.leases.RecordRollover()
	p.change(l, next)
	p.log.rolledOver(next, time.Duration(l.borrowLimit)*p.cfg.format.Unit(), p.now(), p.changes.Load())
	return nil
}

// notBegun returns the error for a lease whose first unit is beyond the borrow limit.
func (p *runProvider) notBegun(h *leasing.HeldLease) error {
	return &notBegunError{workerID: h.WorkerID(), begins: p.cfg.format.base.Time(h.First())}
}

// onGrantEnd is called when the next unit is not granted. err is the reason, if it is known. If the
// lease cannot be extended and another one is ready, it changes to that. Otherwise it returns what to
// wait for.
func (p *runProvider) onGrantEnd(l *leaseInUse, now, unit int64, err error) error {
	wait := &ringbuffer.NotYetError{After: pollInterval, Reason: errNoGrantYet}
	if unit > now { // UID time may go on before that unit starts: if a try fails or is refused, the lease manager wakes nobody
		wait.After, wait.Reason = min(wait.After, p.until(unit)), errClockBehind
	}
	// The lease is lost if it cannot be extended, or does not grant a unit that has started. If another
	// lease is at hand, it is also replaced if it does not grant a unit that has not started.
	if err != nil || l.held.Denied() || p.leases.Next() != nil && l.held.IsRefused(unit) {
		next, failed := p.nextLease(l, now)
		if next != nil && l.firstUnitOf(next, now) <= now+p.limitFor(next) {
			p.change(l, next)
			if l.held.IsRenewed() {
				logRenewed(&p.cfg, next)
				return nil
			}
			p.leases.RecordLoss(p.now().Sub(l.since))
			p.log.lost(next, p.now(), p.changes.Load(), err)
			return nil
		}
		if next := p.leases.Next(); next != nil && unit <= now {
			if first := l.firstUnitOf(next, now); first > now+p.limitFor(next) {
				wait.After, wait.Reason = p.until(first-p.limitFor(next)), p.notBegun(next)
				if err != nil {
					wait.Reason = fmt.Errorf("%w; until then: %w", wait.Reason, err)
				}
				return wait
			}
		}
		if l.held.IsDropped() {
			if failed != nil {
				return fmt.Errorf("%w; and no other lease: %w", err, failed)
			}
			wait.Reason = err // nothing is in the ring, but the next lease is being taken
			return wait
		}
	}
	if err != nil {
		return err
	}
	return wait
}

// nextLease returns the next lease if its first unit is granted. Otherwise it has it taken or extended.
// The error says why there is none.
func (p *runProvider) nextLease(l *leaseInUse, now int64) (*leasing.HeldLease, error) {
	next, _, err := p.leases.Ready(func(next *leasing.HeldLease) int64 { return l.firstUnitOf(next, now) })
	return next, err
}

// used returns the unit after the last one that was stamped with the lease.
func (l *leaseInUse) used() int64 { return max(l.stamped.Load()+1, l.held.First()) }

// usedAtClose returns the unit after the last one of the lease that takers have reached, when the ring is closed. reached and ok are
// what Ring.Reached returns: the first UID of the run which Close has taken out of the ring. No UID of a later run is handed out any
// more, and the blocks are of this run or of earlier ones. If that run is of a lease before, nothing of this one was reached.
func (l *leaseInUse) usedAtClose(reached int64, ok bool, layout bitsalloc.Layout) int64 {
	if ok {
		unit, workerID, _ := layout.Split(reached)
		if workerID == l.held.WorkerID() && unit >= l.held.First() {
			return unit + 1
		}
	}
	return l.held.First()
}

// lastBefore returns the last unit that must not be stamped with the next lease, also if the assigner has forgotten what it granted
// to this one.
func (l *leaseInUse) lastBefore(next *leasing.HeldLease) int64 {
	if next.WorkerID() == l.held.WorkerID() {
		return max(next.First()-1, l.stamped.Load())
	}
	return next.First() - 1
}

// firstUnitOf returns the first unit that would be stamped with the next lease.
func (l *leaseInUse) firstUnitOf(next *leasing.HeldLease, now int64) int64 {
	return max(l.lastBefore(next)+1, now)
}

// change replaces the lease in use by the next one.
func (p *runProvider) change(l *leaseInUse, next *leasing.HeldLease) {
	p.leases.Use()
	p.leases.Retire(l.held, l.used())
	p.use(next, l.lastBefore(next))
	p.changes.Add(1)
}

// isStale reports whether a run would be older than the staleness bound at the next scheduled padding.
func (p *runProvider) isStale(first int64) bool {
	delta, _, _ := p.cfg.format.layout.Split(first)
	p.readClock() // so that an idle generator, too, finds that the wall clock was set back
	behind := p.now().Sub(p.cfg.format.base.Time(delta))
	return behind+p.cfg.interval > p.cfg.staleness
}

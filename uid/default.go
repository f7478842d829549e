package uid

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/unitclock"
	"github.com/ringuid/ringuid/workerassign"
)

// Default stamps each UID with the time of the call. When the sequence of a time unit is used up,
// callers wait for the next one. It is the default mode of Baidu's UidGenerator without its defects: it
// neither spins nor holds a lock while it waits, and it tolerates a clock that steps back. It is safe
// for concurrent use.
//
// A step of the wall clock is noticed when the time unit is over: until then Next reads only the
// monotonic clock. With WaitOut and Refuse it reads the wall clock at each call.
type Default struct {
	// Every take reads these fields, and only a change of the lease writes them. The padding keeps
	// fields that are written off their cache line.
	_            cpu.CacheLinePad
	lease        atomic.Pointer[defaultLease] // in use
	start        time.Time                    // the clock's start, with its monotonic reading if useMonotonic
	useMonotonic bool                         // the fast path reads the system's monotonic clock
	seqBits      int
	seqMask      int64
	_            cpu.CacheLinePad

	*core
	leaseChanger leaseChanger
	rollback     rollbackWatch
	waiter       waiter
	closing      *closing
	reported     atomic.Uint64 // the greatest Stats.Issued so far
}

var _ Generator = (*Default)(nil)

// NewDefault returns a Default generator: it checks the options and takes a lease from the assigner.
// ctx limits how long that takes; if a lease was taken before ctx ends, and granted no time, its release may take 5 seconds
// more. ctx has no effect on the generator afterwards: Close ends the generator.
//
// Errors wrap ErrOption (no worker ID was assigned), ErrBeforeEpoch, ErrTimeExhausted, ErrWorkerID,
// or ErrLease.
func NewDefault(ctx context.Context, a workerassign.Assigner, opts ...DefaultOption) (*Default, error) {
	cfg, err := newDefaultConfig(opts)
	if err != nil {
		return nil, err
	}
	core, err := newCore(ctx, a, cfg)
	if err != nil {
		return nil, err
	}
	made := false
	defer func() {
		if !made { // the clock has panicked
			core.leases.Close(core.first, core.first.First())
		}
	}()
	d := newDefaultOn(core)
	core.leases.Go(d.keepLease)
	made = true
	return d, nil
}

// keepInterval returns how often the lease of a generator is looked at, so that it is extended although no UIDs are taken: the first
// time that is due is after three eighths of the time that is reserved ahead (see leasing.HeldLease).
func (d *Default) keepInterval() time.Duration {
	return min(max(d.cfg.reserve/8, time.Millisecond), time.Second)
}

// keepLease extends the lease while no UIDs are taken, until the generator is closed. If the lease needs no extension, it waits until
// that is dropped.
func (d *Default) keepLease(ctx context.Context) {
	for {
		dropped := d.leases.Dropped() // first, so that no drop is missed
		if d.lease.Load().held.Granted() > d.cfg.format.layout.MaxDelta() {
			<-dropped
		}
		if !leasing.Sleep(ctx, d.keepInterval()) {
			return
		}
		d.keep()
	}
}

// keep extends the lease if that is due, and replaces it if it is lost, as Next does.
func (d *Default) keep() {
	l := d.lease.Load()
	s := d.stepAt(l, l.last.Load(), d.clock.Read())
	switch {
	case s.kind == waitForClock || s.unit > d.cfg.format.layout.MaxDelta():
	case s.kind == waitForUnit:
		d.leases.Extend(l.held, s.unit)
	default:
		d.leaseChanger.try(l, s.unit, s.elapsed)
	}
}

// newDefaultOn returns a Default generator for a core.
func newDefaultOn(c *core) *Default {
	layout := c.cfg.format.layout
	d := &Default{
		start:        c.clock.Start(),
		useMonotonic: c.clock.IsSystem() && c.cfg.rollback.ride,
		seqBits:      layout.SequenceBits(),
		seqMask:      layout.MaxSequence(),
		core:         c,
		closing:      newClosing(),
		waiter:       waiter{closed: make(chan struct{})},
	}
	d.rollback = rollbackWatch{policy: c.cfg.rollback, clock: c.clock, waiter: &d.waiter, log: c.cfg.log}
	d.leaseChanger = leaseChanger{core: c, waiter: &d.waiter, lease: &d.lease}
	spread := newSpread(c.cfg.spread)
	d.leaseChanger.spread = spread
	d.lease.Store(newDefaultLease(layout, c.first, c.first.First(), c.clock.Elapsed(), spread))
	d.leaseChanger.horizon.note(&c.cfg, c.first)
	c.leases.OnVoid(d.leaseChanger.drop)
	return d
}

// isConstructed reports whether NewDefault returned the generator.
func (d *Default) isConstructed() bool { return d != nil && d.core != nil }

// Next returns a UID with the current time. When the unit's sequence is used up, it waits for the next
// unit; when the lease was not extended in time, for the assigner; and with WaitOut, for the wall
// clock. NextContext limits the wait. Its errors wrap ErrClosed, ErrTimeExhausted (permanently),
// ErrLease or, depending on WithRollback, ErrClockBack.
//
// A lease that is lost is replaced by another one. UIDs then have another worker ID, and may be less
// than earlier ones.
func (d *Default) Next() (ID, error) {
	if id, ok := d.take(); ok {
		return id, nil
	}
	return d.next(context.Background())
}

// NextContext is like Next, but waits no longer than until ctx ends: then the error wraps that of ctx,
// and no UID is used up. While there is a UID, ctx is not checked.
func (d *Default) NextContext(ctx context.Context) (ID, error) {
	if id, ok := d.take(); ok {
		return id, nil
	}
	return d.next(ctx)
}

// take is the fast path: the next sequence of the last UID's unit, while that is not over. It reads
// only the monotonic clock.
func (d *Default) take() (ID, bool) {
	if d == nil {
		return 0, false
	}
	l := d.lease.Load()
	if l == nil {
		return 0, false
	}
	// Read before last, so that the unit that ends then is not after last's.
	unitEnd := l.unitEnd.Load()
	if unitEnd == 0 || time.Since(d.start) >= time.Duration(unitEnd) {
		return 0, false
	}
	for {
		last := l.last.Load()
		if last&d.seqMask == d.seqMask {
			return 0, false
		}
		if l.last.CompareAndSwap(last, last+1) {
			return l.compose(last + 1), true
		}
	}
}

// next is the slow path of Next: it reads the wall clock, begins units, waits, and changes leases.
func (d *Default) next(ctx context.Context) (ID, error) {
	if !d.isConstructed() {
		return 0, errNotMade
	}
	for {
		l := d.lease.Load()
		// Read before the clock, so that a time before last's means that the clock went back.
		last := l.last.Load()
		if last == sealed {
			if err := d.leaseChanger.whySealed(); err != nil {
				return 0, err
			}
			if d.lease.Load() != l {
				continue
			}
		}
		r := d.clock.Read()
		if d.cfg.rollback.ride && (r.Behind >= d.cfg.format.Unit() || d.rollback.counted.Load() != 0) {
			d.rollback.note(r.Behind)
		}
		s := d.stepAt(l, last, r)
		if s.isNewUnit {
			d.rollback.caughtUp()
		}
		var err error
		switch s.kind {
		case waitForClock:
			err = d.rollback.wait(ctx, s.unit)
		case waitForUnit:
			err = d.waitForUnit(ctx, l, s.unit, s.elapsed)
		case waitForLease:
			err = d.leaseChanger.extend(ctx, l, s.unit, s.elapsed)
		case stamp:
			next := max(last+1, l.firstOf(s.unit))
			if !l.last.CompareAndSwap(last, next) {
				continue
			}
			if d.useMonotonic {
				l.setUnitEnd(r.Monotonic + d.clock.UntilUnitEnds(s.elapsed))
			}
			if s.isNewUnit {
				d.onNewUnit(l, last, s.unit)
			}
			return l.compose(next), nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// A step is what Default.Next, or the provider of a Cached generator, does at a time with a lease whose last UID is known.
type step struct {
	kind stepKind
	unit int64 // that is stamped, or waited for

	// For Default.Next.
	isNewUnit bool          // unit is the present one, and after that of the last UID
	elapsed   time.Duration // the time that UIDs are stamped with, since the clock's start
}

type stepKind int

const (
	stamp        stepKind = iota // the next UID, or run, which is of unit
	waitForClock                 // unit is further ahead of the clock than WithRollback or the borrow limit allows
	waitForUnit                  // the sequence of the unit before is used up
	waitForLease                 // unit is not granted: the lease must be extended, or replaced
)

// stepAt returns the step of a lease whose last UID is last, at the time r. It changes nothing.
func (d *Default) stepAt(l *defaultLease, last int64, r unitclock.Reading) step {
	s := step{elapsed: r.Elapsed, unit: last >> d.seqBits}
	if !d.cfg.rollback.ride {
		s.elapsed = min(s.elapsed, r.Wall)
	}
	now := d.clock.UnitAt(s.elapsed)
	switch {
	case last == sealed: // the lease was dropped
		s.kind, s.unit = waitForLease, max(now, 0) // the wall clock may be before the epoch
		return s
	case now > s.unit:
		s.unit, s.isNewUnit = now, true
	case now < s.unit && !d.cfg.rollback.ride && s.unit >= l.firstUnit:
		s.kind = waitForClock
		return s
	case last&d.seqMask == d.seqMask:
		s.kind, s.unit = waitForUnit, s.unit+1
		return s
	}
	// Invariant 5: no grant goes beyond the time bits, so that composing the UID loses no bits.
	if s.unit >= l.held.Granted() {
		s.kind = waitForLease
	}
	return s
}

// onNewUnit is called once in a unit, by the caller that has its first UID. last is the value of
// l.last before it.
func (d *Default) onNewUnit(l *defaultLease, last, unit int64) {
	d.leaseChanger.past.Add(l.issuedInUnitOf(last))
	d.leases.Extend(l.held, unit) // an error of it matters at the end of the grant
	d.end.warn()
}

// waitForUnit waits until a unit may have started. The caller tries again. No lock is held.
func (d *Default) waitForUnit(ctx context.Context, l *defaultLease, unit int64, elapsed time.Duration) error {
	if d.waiter.isClosed() {
		return ErrClosed
	}
	if unit > d.cfg.format.layout.MaxDelta() {
		return d.leaseChanger.timeExhausted(unit)
	}
	// At most a second, because the clock may step forward.
	err := d.waiter.sleep(ctx, min(max(d.clock.Until(unit, elapsed), 0), time.Second-1)+1)
	if err != nil && !d.waiter.isClosed() && unit == l.firstUnit && d.clock.Until(unit, elapsed) > d.cfg.format.Unit() {
		return fmt.Errorf("uid: gave up waiting: %w: %w", d.notBegun(l.workerID, unit), ended(ctx))
	}
	return err
}

// NextN fills dst from the front. When a unit's sequence is used up, it waits for the next unit, so
// many UIDs take a long time.
func (d *Default) NextN(dst []ID) (int, error) { return d.NextNContext(context.Background(), dst) }

// NextNContext is like NextN, but waits no longer than until ctx ends.
func (d *Default) NextNContext(ctx context.Context, dst []ID) (int, error) {
	return fill(ctx, dst, d.NextContext)
}

// All returns an iterator over the generator's UIDs, each one stamped when the loop takes it. It ends as Cached.All does.
func (d *Default) All(ctx context.Context) iter.Seq2[ID, error] { return all(ctx, d.NextContext) }

// Parse splits a UID into its parts.
func (d *Default) Parse(id ID) Parts {
	if !d.isConstructed() {
		return Parts{ID: id}
	}
	return d.cfg.format.Parse(id)
}

// Format returns the layout, epoch and time unit of the generator's UIDs.
func (d *Default) Format() Format {
	if !d.isConstructed() {
		return Format{}
	}
	return d.cfg.format
}

// Close ends the generator: see Generator. It waits for background work, and for a few seconds at most
// until the lease is released. The error says that the release failed, or wraps ErrBusy.
func (d *Default) Close() error {
	if !d.isConstructed() {
		return nil
	}
	return d.closing.run(d.endWork)
}

// endWork does the work of Close.
func (d *Default) endWork() error {
	close(d.waiter.closed)
	l := d.leaseChanger.seal()
	return d.leases.Close(l.held, l.used())
}

package uid

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/bitsalloc"
)

// sealedLast is the value of last when nothing more may be stamped with a lease: its sequence is
// used up, and its unit never comes.
const sealedLast = math.MaxInt64

// defaultLease is a lease of a Default generator together with its last UID. The two are one
// object, so that no UID of one lease is ever counted on from another's.
type defaultLease struct {
	_ cpu.CacheLinePad // what takers write is on lines of its own

	// last is the last UID without its worker ID: its unit above the sequence bits, its
	// sequence in them. It only grows, by compare-and-swap, so each value is one caller's:
	// invariants 2 to 4 in one word. Sealing swaps in sealedLast, after which no caller has a UID
	// of the lease.
	last atomic.Int64
	// until is when a unit ends, by the monotonic clock since its start. That unit is not after
	// last's. 0 before the first, and where the fast path is not used.
	until atomic.Int64

	layout   bitsalloc.Layout
	workerID int64

	_     cpu.CacheLinePad
	hold  *tenure
	since time.Duration // when it was taken into use, since the clock's start
	begin int64         // the first unit that may be stamped
	first int64         // what last was at first
	final atomic.Int64  // what last was when it was sealed
}

// newDefaultLease makes one whose first unit is begin, which is not before the lease's floor.
func newDefaultLease(h *tenure, begin int64, since time.Duration) *defaultLease {
	l := &defaultLease{layout: h.format.layout, workerID: h.workerID, hold: h, since: since, begin: begin}
	l.first = begin<<l.layout.SequenceBits() - 1 // the last of the unit before the first
	if begin == 0 && h.workerID == 0 {
		l.first = 0 // which is no UID: they are positive
	}
	l.last.Store(l.first)
	return l
}

// compose puts the worker ID between the time and the sequence. Each was checked.
func (l *defaultLease) compose(v int64) ID {
	return ID(l.layout.AllocateUnchecked(v>>l.layout.SequenceBits(), l.workerID, v&l.layout.MaxSequence()))
}

// ends notes when last's unit, or one before it, ends.
func (l *defaultLease) ends(at time.Duration) {
	if int64(at) > l.until.Load() { // an earlier one, stored late, would make takers look once more, no worse
		l.until.Store(int64(at))
	}
}

// issuedInUnitOf returns how many UIDs were issued in the unit of last, which is a value that the
// word has had.
func (l *defaultLease) issuedInUnitOf(last int64) int64 {
	if last == l.first || last == sealedLast {
		return 0
	}
	n := last&l.layout.MaxSequence() + 1
	if l.workerID == 0 && last <= l.layout.MaxSequence() {
		n-- // 0 is no UID
	}
	return n
}

// used returns the unit after the last one that was stamped, of a lease that is sealed.
func (l *defaultLease) used() int64 {
	if final := l.final.Load(); final != l.first {
		return final>>l.layout.SequenceBits() + 1
	}
	return l.begin
}

// seal takes care that nothing more is stamped with a lease, and returns what used does. changing
// is held.
func (d *Default) seal(l *defaultLease) int64 {
	if last := l.last.Swap(sealedLast); last != sealedLast {
		l.final.Store(last)
		d.past.Add(l.issuedInUnitOf(last))
	}
	return l.used()
}

// whySealed is called by who finds a lease sealed. It returns an error, or nil where another lease
// has taken its place.
func (d *Default) whySealed() error {
	if d.isClosed() {
		return ErrClosed
	}
	if d.spent.Load() {
		return d.exhausted(d.time.format.layout.MaxDelta() + 1)
	}
	d.changing.Lock() // until the change is over
	defer d.changing.Unlock()
	return nil
}

// exhausted notes that the time bits are spent, permanently, and returns the error that says so.
func (d *Default) exhausted(unit int64) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	if !d.isClosed() && !d.spent.Swap(true) {
		d.seal(d.lease.Load()) // so that no call finds a UID, should the wall clock go back
	}
	return &timeExhaustedError{format: d.time.format, delta: unit}
}

// extend waits until a unit that the clock has reached may be stamped, because the lease was
// extended or another took its place, or returns an error that says why not. elapsed is the time
// that UIDs are stamped with, since the clock's start. The caller looks again. However many callers
// wait, the assigner is asked one thing at a time.
func (d *Default) extend(ctx context.Context, l *defaultLease, unit int64, elapsed time.Duration) error {
	if d.isClosed() {
		return ErrClosed
	}
	if most := d.time.format.layout.MaxDelta(); unit > most {
		return d.exhausted(unit)
	}
	// The channels before asking, so that no answer is missed.
	tried, assigned := l.hold.extending.next(), d.keeper.assigning.next()
	err := d.keeper.extend(l.hold, unit)
	if unit < l.hold.granted.Load() {
		return nil
	}
	var next nextLease
	if err != nil || l.hold.denied.Load() {
		if next = d.change(l, unit, elapsed, err); next.inUse {
			return nil
		}
		switch {
		case next.err != nil && err != nil:
			return fmt.Errorf("%w; and no other lease: %w", err, next.err)
		case next.err != nil:
			return next.err
		}
	}
	d.rejectedTakes.Add(1)
	var begun <-chan time.Time
	if next.begins > 0 {
		timer := time.NewTimer(min(next.begins, time.Second)) // the clock may step on
		defer timer.Stop()
		begun = timer.C
	}
	select {
	case <-tried:
	case <-assigned:
	case <-next.tried:
	case <-begun:
	case <-ctx.Done():
		return fmt.Errorf("uid: gave up waiting for the lease to be extended: %w", context.Cause(ctx))
	case <-d.done:
		return ErrClosed
	}
	return nil
}

// nextLease says how things stand with the lease that takes the place of one that is lost.
type nextLease struct {
	inUse  bool            // it has done so
	err    error           // why there is none
	tried  <-chan struct{} // closed after the next try to extend it; nil where it is not being extended
	begins time.Duration   // how long it is until its first unit; 0 where that is not what it waits for
}

// change changes a lease that is lost, why being the reason, if that is known, for the next one, if
// that is ready. stamped is the time that UIDs are stamped with, and lies in the unit now.
func (d *Default) change(l *defaultLease, now int64, stamped time.Duration, why error) nextLease {
	elapsed := d.time.elapsed() // not under the lock: it may call the user's clock
	d.changing.Lock()
	if d.lease.Load() != l || l.last.Load() == sealedLast {
		d.changing.Unlock()
		return nextLease{inUse: true}
	}
	next, state := d.ready(l, now)
	if next == nil {
		d.changing.Unlock()
		return state
	}
	if begin := l.beginOf(next); begin > now {
		d.changing.Unlock()
		// Not by the generator's own clock, which may have reached it where UIDs have the wall
		// clock's time.
		return nextLease{begins: max(d.time.away(begin, stamped), 1)}
	}
	d.keeper.next.Store(nil)
	used := d.seal(l)
	d.keeper.noteLoss(elapsed - l.since)
	d.lease.Store(newDefaultLease(next, l.beginOf(next), elapsed))
	d.keeper.retire(l.hold, used)
	d.rollovers.Add(1)
	d.changing.Unlock()
	d.reportLost(next, why)
	return nextLease{inUse: true}
}

// beginOf returns the first unit that may be stamped with the next lease: an assigner that forgets
// its grants makes no duplicates here.
func (l *defaultLease) beginOf(next *tenure) int64 {
	if next.workerID != l.workerID {
		return next.floor
	}
	last := l.last.Load()
	if last == sealedLast {
		last = l.final.Load()
	}
	return max(next.floor, last>>l.layout.SequenceBits()+1)
}

// ready returns the next lease if its first unit is granted; if not, it has one taken, or the one
// there is extended. One that is lost is given back. changing is held.
func (d *Default) ready(l *defaultLease, now int64) (*tenure, nextLease) {
	next := d.keeper.next.Load()
	if next == nil {
		return nil, nextLease{err: d.keeper.prepare()}
	}
	begin, tried := max(l.beginOf(next), now), next.extending.next()
	err := d.keeper.extend(next, begin)
	if begin < next.granted.Load() {
		return next, nextLease{}
	}
	if err != nil || next.denied.Load() {
		d.keeper.next.Store(nil)
		d.keeper.noteLoss(0)
		d.keeper.retire(next, next.floor)
		return nil, nextLease{err: d.keeper.prepare()}
	}
	return nil, nextLease{tried: tried}
}

// reportLost logs that a lease was changed because it was lost, once a minute at most.
func (d *Default) reportLost(next *tenure, why error) {
	now := d.time.now()
	d.changing.Lock()
	if now.Sub(d.lostAt) < reportEvery && !d.lostAt.IsZero() {
		d.changing.Unlock()
		return
	}
	d.lostAt = now
	d.changing.Unlock()
	d.cfg.log.Log(slog.LevelWarn, "uid: a lease was not extended; went on with another", "worker_id", next.workerID,
		"rollovers", d.rollovers.Load(), "err", why)
}

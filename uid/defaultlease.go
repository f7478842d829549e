package uid

import (
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/leasing"
)

// sealed is the value of a defaultLease's last when nothing more may be stamped with it: its sequence is
// used up, and its unit is never reached.
const sealed = math.MaxInt64

// defaultLease is a lease of a Default generator together with its last UID. The two are one object, so
// that no caller adds 1 to the last UID of another lease.
type defaultLease struct {
	_ cpu.CacheLinePad // the fields that takers write are on separate cache lines

	// last is the last UID without its worker ID: the unit above the sequence bits, and the sequence.
	// It only increases, by compare-and-swap, so each value belongs to one caller: invariants 2 to 4 in
	// one word. Sealing swaps in the value sealed, after which no caller gets a UID of the lease.
	last atomic.Int64
	// unitEnd is when a unit ends, by the monotonic clock since its start. That unit is not after the
	// unit of last. It is 0 before the first UID, and if the fast path is not used.
	unitEnd atomic.Int64

	layout   bitsalloc.Layout
	workerID int64

	_         cpu.CacheLinePad
	held      *leasing.HeldLease
	since     time.Duration // when it was taken into use, since the clock's start
	firstUnit int64         // the first unit that may be stamped
	initial   int64         // the initial value of last
	final     atomic.Int64  // the value of last when it was sealed
	spread    spread
}

// newDefaultLease returns a lease whose first unit is firstUnit, which is not before held.First().
func newDefaultLease(layout bitsalloc.Layout, held *leasing.HeldLease, firstUnit int64, since time.Duration, s spread) *defaultLease {
	l := &defaultLease{layout: layout, workerID: held.WorkerID(), held: held, since: since, firstUnit: firstUnit, spread: s}
	l.initial = firstUnit<<layout.SequenceBits() - 1 // the last of the unit before the first one
	if firstUnit == 0 && l.workerID == 0 {
		l.initial = 0 // 0 is not a UID: UIDs are positive
	}
	l.last.Store(l.initial)
	return l
}

// compose inserts the worker ID between the time and the sequence. All three were checked.
func (l *defaultLease) compose(last int64) ID {
	return ID(l.layout.AllocateUnchecked(last>>l.layout.SequenceBits(), l.workerID, last&l.layout.MaxSequence()))
}

// setUnitEnd records when the unit of last, or one before it, ends.
func (l *defaultLease) setUnitEnd(at time.Duration) {
	if int64(at) > l.unitEnd.Load() { // an earlier one, stored late, only sends takers to the slow path once more
		l.unitEnd.Store(int64(at))
	}
}

// issuedInUnitOf returns how many UIDs were issued in the unit of last, which is a value that the field
// last has had.
func (l *defaultLease) issuedInUnitOf(last int64) int64 {
	if last == l.initial || last == sealed {
		return 0
	}
	first := l.spread.first(last >> l.layout.SequenceBits())
	if l.workerID == 0 && last <= l.layout.MaxSequence() {
		first = max(first, 1) // 0 is not a UID
	}
	return last&l.layout.MaxSequence() + 1 - first
}

// firstOf returns the value of last for the first UID of a unit.
func (l *defaultLease) firstOf(unit int64) int64 {
	return unit<<l.layout.SequenceBits() | l.spread.first(unit)
}

// seal ensures that nothing more is stamped with the lease. It returns how many UIDs were issued in the
// last unit; 0 if the lease was sealed before. The caller holds the lock that serializes sealing.
func (l *defaultLease) seal() (issued int64) {
	last := l.last.Swap(sealed)
	if last == sealed {
		return 0
	}
	l.final.Store(last)
	return l.issuedInUnitOf(last)
}

// used returns the unit after the last one that was stamped with a sealed lease.
func (l *defaultLease) used() int64 {
	if final := l.final.Load(); final != l.initial {
		return final>>l.layout.SequenceBits() + 1
	}
	return l.firstUnit
}

// firstUnitOf returns the first unit that may be stamped with the next lease, also if the assigner has forgotten what it granted to
// this one.
func (l *defaultLease) firstUnitOf(next *leasing.HeldLease) int64 {
	if next.WorkerID() != l.workerID {
		return next.First()
	}
	last := l.last.Load()
	if last == sealed {
		last = l.final.Load()
	}
	return max(next.First(), last>>l.layout.SequenceBits()+1)
}

package uid

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/workerassign"
)

// Default stamps each UID with the time of the call, and makes callers wait for the next
// time unit when the sequence of one is used up. It is the original's default mode without
// its defects: it neither spins nor holds a lock while it waits, and rides out a clock that steps
// back. It is safe for concurrent use.
//
// A step of the wall clock is noticed when the time unit is over: until then Next reads the
// monotonic clock alone. With WaitOut and Refuse it reads the wall clock at each call.
type Default struct {
	// Read by every take, and written when the lease changes: the padding keeps what is written
	// off their line.
	_       cpu.CacheLinePad
	lease   atomic.Pointer[defaultLease] // in use
	start   time.Time                    // of the clock, with its monotonic reading, where byMono
	byMono  bool                         // the fast path goes by the system's monotonic clock
	seqBits int
	seqMask int64
	_       cpu.CacheLinePad

	cfg    config
	time   *timeline
	keeper *keeper
	rides  bool // steps back of the wall clock

	// changing is held while the lease is sealed and another takes its place. Nothing of the
	// user's runs under it.
	changing sync.Mutex
	lostAt   time.Time     // when it was last logged that a lease was lost
	spent    atomic.Bool   // the time bits are
	done     chan struct{} // closed when Close begins
	closing  *closing

	rollbacks atomic.Uint64 // steps back of the wall clock
	counted   atomic.Int64  // how far behind it was when the last was counted
	isBack    atomic.Bool   // it is being waited for, or refused

	past          atomic.Int64  // how many UIDs were issued but for those in the unit of the lease's last one
	reported      atomic.Uint64 // the most UIDs that Stats has said are issued
	rejectedTakes atomic.Uint64
	rollovers     atomic.Uint64
}

var _ Generator = (*Default)(nil)

// NewDefault makes a Default generator: it checks the options and takes a lease of the
// assigner. ctx bounds that, and has no part in the generator's life: Close ends it.
//
// Errors wrap ErrOption (nothing was assigned), ErrBeforeEpoch, ErrTimeExhausted,
// ErrWorkerID, ErrLease or ErrClock.
func NewDefault(ctx context.Context, a workerassign.Assigner, opts ...Option) (*Default, error) {
	cfg, keeper, hold, err := begin(ctx, a, opts)
	if err != nil {
		return nil, err
	}
	return newDefaultOn(cfg, keeper, hold), nil
}

// newDefaultOn makes a Default generator of what begin returned.
func newDefaultOn(cfg config, keeper *keeper, hold *tenure) *Default {
	layout := keeper.time.format.layout
	d := &Default{
		start:   keeper.time.start,
		byMono:  keeper.time.system && cfg.rollback.ride,
		seqBits: layout.SequenceBits(),
		seqMask: layout.MaxSequence(),
		cfg:     cfg,
		time:    keeper.time,
		keeper:  keeper,
		rides:   cfg.rollback.ride,
		done:    make(chan struct{}),
		closing: newClosing(),
	}
	d.lease.Store(newDefaultLease(hold, hold.floor, keeper.time.elapsed()))
	return d
}

// Next returns a UID whose time is now's. Where the unit's sequence is used up it waits for
// the next unit; where the lease has an end that was not extended in time, for the assigner; and
// with WaitOut, for the wall clock. NextContext bounds these. Its errors wrap ErrClosed,
// ErrTimeExhausted (permanently), ErrLease, ErrClock or, where WithRollback says so,
// ErrClockBack.
//
// A lease that was lost is replaced by another one. Then UIDs have another worker ID, and may be
// less than those before.
func (d *Default) Next() (ID, error) {
	if id, ok := d.take(); ok {
		return id, nil
	}
	return d.next(context.Background())
}

// NextContext is Next with a bound on waiting: when ctx ends first, the error wraps its
// error, and no UID is used up. While there is a UID, ctx is not looked at.
func (d *Default) NextContext(ctx context.Context) (ID, error) {
	if id, ok := d.take(); ok {
		return id, nil
	}
	return d.next(ctx)
}

// take is the fast path: the next sequence of the last UID's unit, while that is not over. It
// reads the monotonic clock alone.
func (d *Default) take() (ID, bool) {
	if d == nil {
		return 0, false
	}
	l := d.lease.Load()
	if l == nil {
		return 0, false
	}
	// Before last, so that the unit of which this is the end is not after last's.
	until := l.until.Load()
	if until == 0 || time.Since(d.start) >= time.Duration(until) {
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

// next is the rest of Next: it looks at the wall clock, begins units, waits, and changes leases.
func (d *Default) next(ctx context.Context) (ID, error) {
	if !d.made() {
		return 0, errNotMade
	}
	for {
		l := d.lease.Load()
		// Before the clock, so that a time before last's is one that the clock has gone back to.
		last := l.last.Load()
		if last == sealedLast {
			if err := d.whySealed(); err != nil {
				return 0, err
			}
			continue
		}
		r, err := d.time.read()
		if err != nil {
			if d.isClosed() {
				return 0, ErrClosed
			}
			return 0, err
		}
		elapsed := r.elapsed
		if !d.rides {
			elapsed = min(elapsed, r.wall)
		} else if r.behind >= d.time.format.unit || d.counted.Load() != 0 {
			d.noteStep(r.behind)
		}
		now, unit := d.time.unitAt(elapsed), last>>d.seqBits
		switch {
		case now > unit:
			unit = now
			if d.isBack.Load() {
				d.isBack.Store(false) // it has caught up
			}
		case now < unit && !d.rides && unit >= l.begin:
			if err := d.clockBack(ctx, unit); err != nil {
				return 0, err
			}
			continue
		case last&d.seqMask == d.seqMask:
			if err := d.waitFor(ctx, unit+1, d.time.away(unit+1, elapsed)); err != nil {
				return 0, err
			}
			continue
		}
		// Invariant 5: what was granted ends where the time bits do, so the shift below does
		// not lose any.
		if unit >= l.hold.granted.Load() {
			if err := d.extend(ctx, l, unit, elapsed); err != nil {
				return 0, err
			}
			continue
		}
		next := max(last+1, unit<<d.seqBits)
		if !l.last.CompareAndSwap(last, next) {
			continue
		}
		if d.byMono {
			l.ends(r.passed + d.time.left(elapsed))
		}
		if unit > last>>d.seqBits {
			d.begun(l, last, unit)
		}
		return l.compose(next), nil
	}
}

// begun is called once a unit, by who has its first UID.
func (d *Default) begun(l *defaultLease, last, unit int64) {
	d.past.Add(l.issuedInUnitOf(last))
	d.keeper.extend(l.hold, unit) // a failure of it matters when the grant is over
	d.time.warn(d.cfg)
}

// NextN fills dst from the front. Where a unit's sequence is used up it waits for the next,
// so that many UIDs take long.
func (d *Default) NextN(dst []ID) (int, error) { return d.NextNContext(context.Background(), dst) }

// NextNContext is NextN with a bound on waiting.
func (d *Default) NextNContext(ctx context.Context, dst []ID) (int, error) {
	for n := range dst {
		id, err := d.NextContext(ctx)
		if err != nil {
			return n, err
		}
		dst[n] = id
	}
	return len(dst), nil
}

// waitFor waits until a unit that is so far away may have begun; the caller looks again. No
// lock is held.
func (d *Default) waitFor(ctx context.Context, unit int64, away time.Duration) error {
	if d.isClosed() {
		return ErrClosed
	}
	if unit > d.time.format.layout.MaxDelta() {
		return d.exhausted(unit)
	}
	d.rejectedTakes.Add(1)
	// Not longer than a second: the clock may step on.
	return d.sleep(ctx, min(max(away, 0)+1, time.Second))
}

// sleep waits for a while, or for ctx or the generator to end, which is an error.
func (d *Default) sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("uid: gave up waiting for the next time unit: %w", context.Cause(ctx))
	case <-d.done:
		return ErrClosed
	}
}

// isClosed reports whether Close was called.
func (d *Default) isClosed() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// Parse takes a UID apart.
func (d *Default) Parse(id ID) Parts {
	if !d.made() {
		return Parts{ID: id}
	}
	return d.time.format.Parse(id)
}

// Format returns the layout, epoch and time unit of the generator's UIDs.
func (d *Default) Format() Format {
	if !d.made() {
		return Format{}
	}
	return d.time.format
}

// Close ends the generator: see Generator. It waits for what runs in the background, and for a
// few seconds at most for the lease to be given back; the error says that this failed, or wraps
// ErrBusy.
func (d *Default) Close() error {
	if !d.made() {
		return nil
	}
	return d.closing.run(d.end)
}

// end is what Close does.
func (d *Default) end() error {
	close(d.done)
	d.changing.Lock()
	l := d.lease.Load()
	used := d.seal(l)
	d.changing.Unlock()
	return d.keeper.close(l.hold, used)
}

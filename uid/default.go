package uid

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// Default stamps each UID with the time of the call, and makes callers wait for the next
// time unit when the sequence of one is used up. It is the original's default mode without
// its defects: it neither locks nor spins, and rides out a clock that steps back. It is safe
// for concurrent use.
type Default struct {
	time    *timeline
	keeper  *keeper
	hold    *tenure
	rides   bool // steps back of the wall clock
	seqBits int
	seqMask int64
	done    chan struct{} // closed by Close
	close   func() error

	// last is the last UID without its worker ID: its unit above the sequence bits, its
	// sequence in them. It only grows, by compare-and-swap, so each value is one caller's:
	// invariants 2 to 4 in one word. Close sets it to its greatest value.
	last  atomic.Int64
	final atomic.Int64 // what last was when Close came
	spent atomic.Bool  // the time bits are

	rollbacks atomic.Uint64 // steps back of the wall clock
	counted   atomic.Int64  // how far behind it was when the last was counted
	isBack    atomic.Bool   // it is being waited for, or refused

	past          atomic.Int64 // how many UIDs were issued in units before the last one's
	rejectedTakes atomic.Uint64
}

var _ Generator = (*Default)(nil)

// askPause is how long a Default generator waits before it asks again for what was not granted.
const askPause = 5 * time.Millisecond

// closedLast is the value of last after Close: its sequence is used up, and its unit never
// comes.
const closedLast = math.MaxInt64

// NewDefault makes a Default generator: it checks the options and takes a lease of the
// assigner. ctx bounds that, and has no part in the generator's life: Close ends it.
//
// Errors wrap ErrOption (nothing was assigned), ErrBeforeEpoch, ErrTimeExhausted,
// ErrWorkerID or ErrLease.
func NewDefault(ctx context.Context, a workerassign.Assigner, opts ...Option) (*Default, error) {
	cfg, keeper, hold, err := begin(ctx, a, opts)
	if err != nil {
		return nil, err
	}
	layout := keeper.time.format.layout
	d := &Default{
		time:    keeper.time,
		keeper:  keeper,
		hold:    hold,
		rides:   cfg.rollback.ride,
		seqBits: layout.SequenceBits(),
		seqMask: layout.MaxSequence(),
		done:    make(chan struct{}),
	}
	d.last.Store(hold.floor<<d.seqBits - 1) // the last of the unit before the first
	d.past.Store(-(d.seqMask + 1))          // of which none was issued
	if hold.floor == 0 && hold.workerID == 0 {
		d.last.Store(0) // which is no UID: they are positive
		d.past.Store(-1)
	}
	d.close = sync.OnceValue(func() error {
		close(d.done)
		d.final.Store(d.last.Swap(closedLast))
		return keeper.close(hold, max(d.final.Load()>>d.seqBits+1, hold.floor))
	})
	return d, nil
}

// Next returns a UID whose time is now's. Where the unit's sequence is used up it waits for
// the next unit; where the lease has an end that was not extended in time, for the assigner; and
// with WaitOut, for the wall clock. NextContext bounds these. Its errors wrap ErrClosed,
// ErrTimeExhausted (for ever), ErrLease or, where WithRollback says so, ErrClockBack.
func (d *Default) Next() (ID, error) { return d.NextContext(context.Background()) }

// NextContext is Next with a bound on waiting: when ctx ends first, the error wraps its
// error, and no UID is used up. While there is a UID, ctx is not looked at.
func (d *Default) NextContext(ctx context.Context) (ID, error) {
	if !d.made() {
		return 0, errNotMade
	}
	for {
		last := d.last.Load()
		elapsed, behind := d.time.read()
		if !d.rides {
			elapsed -= behind // the wall clock's time
		} else if behind >= d.time.format.unit || d.counted.Load() != 0 {
			d.noteStep(behind)
		}
		now, unit := d.time.unitAt(elapsed), last>>d.seqBits
		switch {
		case now > unit:
			unit = now
			if d.isBack.Load() {
				d.isBack.Store(false) // it has caught up
			}
		case now < unit && !d.rides && unit >= d.hold.floor:
			if err := d.clockBack(ctx, d.time.away(unit, elapsed)); err != nil {
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
		if unit >= d.hold.granted.Load() {
			if err := d.extend(ctx, unit); err != nil {
				return 0, err
			}
			continue
		}
		next := max(last+1, unit<<d.seqBits)
		if d.last.CompareAndSwap(last, next) {
			if next&d.seqMask == 0 {
				d.begun(last, next)
			}
			return d.compose(next), nil
		}
	}
}

// begun is called once a unit, by who has its first UID.
func (d *Default) begun(last, next int64) {
	d.past.Add(last&d.seqMask + 1)
	d.keeper.extend(d.hold, next>>d.seqBits) // a failure of it matters when the grant is over
	d.time.warn(d.keeper.cfg)
}

// compose puts the worker ID between the time and the sequence. Each was checked.
func (d *Default) compose(v int64) ID {
	return ID(d.time.format.layout.AllocateUnchecked(v>>d.seqBits, d.hold.workerID, v&d.seqMask))
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

// exhausted notes that the time bits are spent, for ever, and returns the error that says so.
func (d *Default) exhausted(unit int64) error {
	d.spent.Store(true)
	d.hold.seal() // so that each call comes here, should the wall clock go back
	return &timeExhaustedError{format: d.time.format, delta: unit}
}

// extend waits until the lease is extended to a unit that the clock has reached, or an error
// says why not. The caller looks again.
func (d *Default) extend(ctx context.Context, unit int64) error {
	if d.isClosed() {
		return ErrClosed
	}
	if most := d.time.format.layout.MaxDelta(); unit > most || d.spent.Load() {
		return d.exhausted(max(unit, most+1))
	}
	tried := d.hold.extending.next()
	if err := d.keeper.extend(d.hold, unit); err != nil {
		return err
	}
	if unit < d.hold.granted.Load() {
		return nil
	}
	d.rejectedTakes.Add(1)
	select {
	case <-tried:
	case <-ctx.Done():
		return fmt.Errorf("uid: gave up waiting for the lease to be extended: %w", context.Cause(ctx))
	case <-d.done:
		return ErrClosed
	}
	if d.hold.refused.Load() > 0 {
		return d.sleep(ctx, askPause) // granted, but not enough: do not ask in a loop
	}
	return nil
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

// lastIssued is last, unless Close has changed it.
func (d *Default) lastIssued() int64 {
	if last := d.last.Load(); last != closedLast {
		return last
	}
	return d.final.Load()
}

// isClosed tells whether Close was called.
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

// Close ends the generator: see Generator. It waits for a few seconds at most for the lease
// to be given back; the error says that this failed.
func (d *Default) Close() error {
	if !d.made() {
		return nil
	}
	return d.close()
}

package uid

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

// askAgain is when the padder asks again while the keeper is on an errand; the keeper kicks
// it earlier when it is done.
const askAgain = 50 * time.Millisecond

// Why there is no run yet.
var (
	errClockBehind = errors.New("uid: the clock must reach the next time unit first")
	errTooSoon     = errors.New("uid: UID time is at its bound, and the next rollover's time has not come")
	errNoLeaseYet  = errors.New("uid: UID time is at its bound, and the next lease is still being taken")
	errNoGrantYet  = errors.New("uid: the lease is still being extended")
	errNoGain      = errors.New("uid: UID time is at its bound, and the next lease begins no earlier")
)

// stamper makes the runs of a Cached generator: it is the ring's provider, so that its
// fields belong to who holds the ring's token. A run is a whole time unit of one worker
// ID, which is invariant 2; its unit is
//
//	max(last + 1, now, the lease's floor)
//
// so units only go up within a lease, which is invariant 4, and idle ones are skipped.
type stamper struct {
	cfg    config
	time   *timeline
	keeper *keeper
	borrow int64 // how many units ahead of now may be stamped
	soon   int64 // how many units ahead of now the next lease is asked for

	// seen is the farthest that the clock was read, since its start. The clock may be the user's,
	// so it is read before the ring takes its locks, by readClock, and not in NextRun.
	seen atomic.Int64

	hold      *tenure
	last      int64     // the last unit stamped with hold; below its floor before the first
	since     time.Time // when hold was taken into use
	reported  time.Time // when a rollover was last logged, at first when the generator began
	reportedN uint64    // how many there had been then
	lostAt    time.Time // when it was last logged that a lease was not extended

	current   atomic.Pointer[tenure] // hold, for Stats
	rollovers atomic.Uint64
}

func newStamper(cfg config, t *timeline, k *keeper, h *tenure) *stamper {
	s := &stamper{
		cfg:    cfg,
		time:   t,
		keeper: k,
		borrow: int64(cfg.borrow / t.format.unit),
		hold:   h,
		last:   h.floor - 1,
	}
	s.readClock()
	s.since = s.clock()
	s.reported = s.since
	s.soon = (s.borrow + int64(1)<<cfg.boostPower) / 2
	s.current.Store(h)
	return s
}

// readClock reads the clock for the next call of NextRun. It may be called by any number of
// goroutines concurrently.
func (s *stamper) readClock() {
	elapsed := int64(s.time.elapsed())
	for {
		seen := s.seen.Load()
		if elapsed <= seen || s.seen.CompareAndSwap(seen, elapsed) {
			return
		}
	}
}

// elapsed returns the time since the clock's start, as it was last read.
func (s *stamper) elapsed() time.Duration { return time.Duration(s.seen.Load()) }

// clock returns the time as it was last read.
func (s *stamper) clock() time.Time { return s.time.start.Round(0).Add(s.elapsed()) }

// now returns the unit of the time as it was last read.
func (s *stamper) now() int64 { return s.time.unitAt(s.elapsed()) }

// until returns how long it is until a unit begins; 0 when it has begun.
func (s *stamper) until(unit int64) time.Duration {
	return min(max(s.time.away(unit, s.elapsed()), 0), math.MaxInt64-1)
}

// NextRun stamps the next run, at the time that readClock saw last. It does not block, and calls
// nothing of the user's.
func (s *stamper) NextRun(context.Context) (ringbuffer.Run, error) {
	now := s.now()
	unit := max(s.last+1, now)
	if unit > now+s.borrow {
		if err := s.atBound(now, unit); err != nil {
			return ringbuffer.Run{}, err
		}
		unit = max(s.last+1, now)
	} else if s.cfg.rollover && unit > now+s.soon && s.begun() {
		s.ready(now) // a failure of it matters at the bound
	}
	// Invariant 5: the worker ID was checked when it was assigned, the run is all of the
	// sequence, and here is the time.
	layout := s.time.format.layout
	if unit > layout.MaxDelta() {
		return ringbuffer.Run{}, &timeExhaustedError{format: s.time.format, delta: unit}
	}
	if err := s.keeper.extend(s.hold, unit); unit >= s.hold.granted.Load() {
		if err = s.atEnd(now, unit, err); err != nil {
			return ringbuffer.Run{}, err
		}
		unit = max(s.last+1, now)
	}
	s.last = unit
	run := ringbuffer.Run{
		First:  layout.AllocateUnchecked(unit, s.hold.workerID, 0),
		Length: layout.MaxSequence() + 1,
	}
	if run.First == 0 { // which is no UID: they are positive
		run = ringbuffer.Run{First: 1, Length: run.Length - 1}
	}
	return run, nil
}

// begun tells whether something was stamped with the lease in use. One that begins so late
// that nothing was is waited for, not changed for another.
func (s *stamper) begun() bool { return s.last >= s.hold.floor }

// atBound is called when the next unit lies beyond the bound on borrowing. It changes to the
// next lease, which starts at now again, or says what to wait for.
func (s *stamper) atBound(now, unit int64) error {
	wait := &ringbuffer.NotYetError{After: s.until(unit-s.borrow) + 1, Reason: errClockBehind}
	if !s.cfg.rollover || !s.begun() {
		return wait
	}
	if left := s.untilDue(); left > 0 {
		wait.After, wait.Reason = min(wait.After, left), errTooSoon
		return wait
	}
	if next := s.keeper.next.Load(); next != nil && max(s.lastOf(next)+1, now) >= unit {
		wait.Reason = errNoGain
		return wait
	}
	next, err := s.ready(now)
	if next == nil {
		if err != nil {
			return err
		}
		return &ringbuffer.NotYetError{After: askAgain, Reason: errNoLeaseYet}
	}
	first := max(s.lastOf(next)+1, now)
	s.changeTo(next)
	s.report()
	if first > now+s.borrow {
		return &ringbuffer.NotYetError{After: s.until(first-s.borrow) + 1, Reason: errClockBehind}
	}
	return nil
}

// atEnd is called when the next unit was not granted, err being why, if that is known. It
// changes to another lease where this one cannot be extended and another can be had, or says
// what to wait for.
func (s *stamper) atEnd(now, unit int64, err error) error {
	wait := &ringbuffer.NotYetError{After: askAgain, Reason: errNoGrantYet}
	if unit > now {
		wait = &ringbuffer.NotYetError{After: s.until(unit) + 1, Reason: errClockBehind}
		if s.hold.granted.Load() > now+1 { // more of the future may be had before that
			wait.After = min(wait.After, askAgain)
		}
	}
	// The lease is lost if it cannot be extended, or does not grant what has begun; and where
	// another is at hand, if it does not grant what has not.
	refused, atHand := s.hold.refused.Load(), s.keeper.next.Load() != nil
	lost := err != nil || s.hold.denied.Load() || atHand && refused != 0 && refused <= unit+1
	if lost {
		if next, _ := s.ready(now); next != nil && max(s.lastOf(next)+1, now) <= now+s.borrow {
			s.keeper.noteLoss(s.clock().Sub(s.since))
			s.changeTo(next)
			s.reportLost(err)
			return nil
		}
		wait.After = min(wait.After, askAgain)
	}
	if err != nil {
		return err
	}
	return wait
}

// ready sees to it that there is a next lease, and that it is kept extended, and returns it if its
// first unit is granted. One that is lost is given back. The error is why there is none.
func (s *stamper) ready(now int64) (*tenure, error) {
	next := s.keeper.next.Load()
	if next == nil {
		return nil, s.keeper.prepare()
	}
	first := max(s.lastOf(next)+1, now)
	err := s.keeper.extend(next, first)
	if first < next.granted.Load() {
		return next, nil
	}
	if err != nil || next.denied.Load() {
		s.keeper.next.Store(nil)
		s.keeper.noteLoss(0)
		s.keeper.retire(next, next.floor)
		return nil, s.keeper.prepare()
	}
	return nil, nil
}

// untilDue returns how long it is until the lease may be changed for another.
func (s *stamper) untilDue() time.Duration { return s.cfg.everyLease - s.clock().Sub(s.since) }

// used returns the unit after the last one that was stamped with the lease in use.
func (s *stamper) used() int64 { return max(s.last+1, s.hold.floor) }

// lastOf returns the last unit that may not be stamped with a lease: an assigner that forgets
// its grants makes no duplicates here.
func (s *stamper) lastOf(next *tenure) int64 {
	if next.workerID == s.hold.workerID {
		return max(next.floor-1, s.last)
	}
	return next.floor - 1
}

// changeTo changes to the next lease.
func (s *stamper) changeTo(next *tenure) {
	s.keeper.next.Store(nil)
	s.keeper.retire(s.hold, s.used())
	s.last = s.lastOf(next)
	s.hold, s.since = next, s.clock()
	s.current.Store(next)
	s.rollovers.Add(1)
}

// reportEvery is how often rollovers are logged at most.
const reportEvery = time.Minute

// report logs a rollover, with how often they come and how long the worker IDs last at that: a
// load beyond what the layout holds spends them, and should not do so unnoticed.
func (s *stamper) report() {
	now, rollovers := s.since, s.rollovers.Load()
	since := now.Sub(s.reported)
	if since < reportEvery && s.reportedN > 0 {
		return
	}
	each := since / time.Duration(rollovers-s.reportedN) // a lease's life
	args := []any{"worker_id", s.hold.workerID, "bound", s.cfg.borrow, "rollovers", rollovers, "each_lasts", each.Round(time.Millisecond)}
	if left := s.hold.left; s.hold.all > 0 {
		lasts := time.Duration(math.MaxInt64)
		if each < lasts/time.Duration(left+1) {
			lasts = each * time.Duration(left)
		}
		args = append(args, "left", left, "all_last", lasts.Round(time.Second))
	}
	s.cfg.log.Log(slog.LevelWarn, "uid: UID time reached its bound and went on with another worker ID: "+
		"the load is more than the layout holds; a wider sequence spends none", args...)
	s.reported, s.reportedN = now, rollovers
}

// reportLost logs that a lease was changed because it was not extended.
func (s *stamper) reportLost(err error) {
	if s.since.Sub(s.lostAt) < reportEvery && !s.lostAt.IsZero() {
		return
	}
	s.lostAt = s.since
	s.cfg.log.Log(slog.LevelWarn, "uid: a lease was not extended; went on with another", "worker_id", s.hold.workerID,
		"rollovers", s.rollovers.Load(), "err", err)
}

// stale tells whether a run would be older than the bound before the schedule comes round
// again.
func (s *stamper) stale(first int64) bool {
	delta, _, _ := s.time.format.layout.Split(first)
	behind := s.time.now().Sub(s.time.format.time(delta))
	return behind+s.cfg.interval > s.cfg.staleness
}

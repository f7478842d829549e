package uid

import (
	"context"
	"errors"
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
)

// stamper makes the runs of a Cached generator: it is the ring's provider, so that its
// fields belong to who holds the ring's put lock. A run is a whole time unit of one worker
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

	hold      *tenure
	last      int64     // the last unit stamped with hold; below its floor before the first
	since     time.Time // when hold was taken into use
	reported  time.Time // when a rollover was last logged, at first when the generator began
	reportedN uint64    // how many there had been then

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
		since:  t.now(),
	}
	s.reported = s.since
	s.soon = (s.borrow + int64(1)<<cfg.boostPower) / 2
	s.current.Store(h)
	return s
}

// NextRun stamps the next run. It does not block.
func (s *stamper) NextRun(context.Context) (ringbuffer.Run, error) {
	layout := s.time.format.layout
	now := s.time.unit()
	unit := max(s.last+1, now)
	if unit > now+s.borrow {
		if err := s.atBound(now, unit); err != nil {
			return ringbuffer.Run{}, err
		}
		unit = max(s.last+1, now)
	} else if s.cfg.rollover && unit > now+s.soon && s.last >= s.hold.floor {
		s.keeper.prepare() // a failure of it matters at the bound
	}
	// Invariant 5: the worker ID was checked when it was assigned, the run is all of the
	// sequence, and here is the time.
	if unit > layout.MaxDelta() {
		return ringbuffer.Run{}, &timeExhaustedError{format: s.time.format, delta: unit}
	}
	if err := s.keeper.extend(s.hold, unit); unit >= s.hold.granted.Load() {
		switch {
		case err != nil:
			return ringbuffer.Run{}, err
		case unit > now:
			return ringbuffer.Run{}, &ringbuffer.NotYetError{After: s.time.until(unit) + 1, Reason: errClockBehind}
		}
		return ringbuffer.Run{}, &ringbuffer.NotYetError{After: askAgain, Reason: errNoGrantYet}
	}
	s.last = unit
	return ringbuffer.Run{
		First:  layout.AllocateUnchecked(unit, s.hold.workerID, 0),
		Length: layout.MaxSequence() + 1,
	}, nil
}

// atBound is called when the next unit lies beyond the bound on borrowing. It changes to the
// next lease if there is one, which starts at now again, or says what to wait for.
func (s *stamper) atBound(now, unit int64) error {
	// A lease that begins so late is waited for, not changed for another.
	wait := &ringbuffer.NotYetError{After: s.time.until(unit-s.borrow) + 1, Reason: errClockBehind}
	if !s.cfg.rollover || s.last < s.hold.floor {
		return wait
	}
	if left := s.cfg.everyLease - s.time.now().Sub(s.since); left > 0 {
		wait.After, wait.Reason = min(wait.After, left), errTooSoon
		return wait
	}
	next := s.keeper.next.Swap(nil)
	if next == nil {
		if err := s.keeper.prepare(); err != nil {
			return err
		}
		return &ringbuffer.NotYetError{After: askAgain, Reason: errNoLeaseYet}
	}
	last := next.floor - 1
	if next.workerID == s.hold.workerID {
		last = max(last, s.last) // an assigner that forgets its grants makes no duplicates here
	}
	s.keeper.retire(s.hold)
	s.hold, s.last, s.since = next, last, s.time.now()
	s.current.Store(next)
	n := s.rollovers.Add(1)
	s.report(n)
	if max(last+1, now) > now+s.borrow {
		return s.atBound(now, last+1)
	}
	return nil
}

// reportEvery is how often rollovers are logged at most.
const reportEvery = time.Minute

// report logs a rollover, with how often they come and how long the worker IDs last at that: a
// load beyond what the layout holds spends them, and should not do so unnoticed.
func (s *stamper) report(rollovers uint64) {
	now := s.time.now()
	since := now.Sub(s.reported)
	if since < reportEvery && s.reportedN > 0 {
		return
	}
	left, _ := s.hold.left()
	each := since / time.Duration(rollovers-s.reportedN) // a lease's life
	lasts := time.Duration(math.MaxInt64)
	if each < lasts/time.Duration(left+1) {
		lasts = each * time.Duration(left)
	}
	s.cfg.logger.Warn("uid: UID time reached its bound and went on with another worker ID: "+
		"the load is more than the layout holds; a wider sequence spends none",
		"worker_id", s.hold.workerID, "left", left, "rollovers", rollovers,
		"each_lasts", each.Round(time.Millisecond), "all_last", lasts.Round(time.Second), "bound", s.cfg.borrow)
	s.reported, s.reportedN = now, rollovers
}

// stale tells whether a run would be older than the bound before the schedule comes round
// again.
func (s *stamper) stale(first int64) bool {
	delta, _, _ := s.time.format.layout.Split(first)
	behind := s.time.now().Sub(s.time.format.time(delta))
	return behind+s.cfg.interval > s.cfg.staleness
}

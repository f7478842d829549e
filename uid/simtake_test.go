package uid

import (
	"context"
	"errors"

	"github.com/ringuid/ringuid/ringbuffer"
)

// take takes so many UIDs or a few more.
func (s *simulation) take(l *simLife, n int) {
	for n > 0 && s.err == nil {
		if l.plain != nil {
			d, clock := l.plain, l.node.clock
			lease := d.lease.Load()
			now, last := d.clock.Unit(), lease.last.Load()
			if !d.cfg.rollback.ride {
				now = s.f.base.Delta(clock.Now())
			}
			unit := last >> d.seqBits
			used := last&d.seqMask == d.seqMask
			id, err := d.NextContext(s.ended) // where it would wait, this ends it
			switch {
			case errors.Is(err, context.Canceled) && used && now <= unit && (now == unit || d.cfg.rollback.ride || unit < lease.firstUnit):
				return
			case errors.Is(err, ErrTimeExhausted) && (l.spent || now > s.f.layout.MaxDelta() || used && unit == s.f.layout.MaxDelta()):
				l.spent = true
				s.exhausted++
				return
			case l.spent:
				s.fail(6, "Default is over its end: %v, %v", id, err)
				return
			case errors.Is(err, ErrClockBack) && !d.cfg.rollback.ride && now < unit:
				s.refused++
				return
			case err != nil:
				s.fail(6, "Default: %v", err)
				return
			}
			if at := s.f.Parse(id).Time; !d.cfg.rollback.ride && at.After(clock.Now()) {
				s.fail(4, "a UID's time is %v, a Default generator that refuses is at %v", at, clock.Now())
			}
			s.check(l, id, 1)
			n--
			continue
		}
		first, got, err := l.ring.Claim(context.Background(), int64(1+s.rng.IntN(10)))
		if errors.Is(err, ErrEmpty) {
			if !s.pad(l) {
				return
			}
			continue
		}
		if err != nil {
			s.fail(6, "Claim: %v", err)
			return
		}
		s.check(l, ID(first), got)
		if s.broken == 3 && s.rng.IntN(20) == 0 {
			s.check(l, ID(first), got)
		}
		n -= int(got)
	}
}

// pad puts a run into a process's ring.
func (s *simulation) pad(l *simLife) bool {
	l.runs.readClock()
	run, err := l.runs.NextRun(context.Background())
	if errors.Is(err, ErrTimeExhausted) {
		s.exhausted++
		if s.broken != 5 {
			return false
		}
		layout := s.f.layout // as the original's
		unit := max(l.runs.last+1, l.runs.clock.Unit())
		l.runs.last = unit
		run, err = ringbuffer.Run{First: layout.AllocateUnchecked(unit, l.runs.held.WorkerID(), 0), Length: layout.MaxSequence() + 1}, nil
	}
	if err != nil {
		return false
	}
	if s.broken == 2 && s.rng.IntN(20) == 0 {
		l.runs.last--
	}
	now := l.runs.clock.Unit()
	delta, workerID, sequence := s.f.layout.Split(run.First)
	switch {
	case run.First < 0 || run.First > s.f.layout.MaxUID()-run.Length+1:
		s.fail(5, "a run from %d on does not fit", run.First)
		return false
	case sequence != 0 || run.Length != s.f.layout.MaxSequence()+1 || workerID != l.runs.held.WorkerID():
		s.fail(5, "a run of %d from %d on is not one of worker ID %d", run.Length, run.First, l.runs.held.WorkerID())
		return false
	case delta > now+l.runs.borrowLimit && delta > l.runs.held.First():
		s.fail(4, "unit %d is stamped at %d, the bound is %d ahead", delta, now, l.runs.borrowLimit)
		return false
	}
	if other := s.owners[[2]int64{delta, workerID}]; other != nil {
		s.fail(2, "unit %d of worker ID %d was stamped by node %d before", delta, workerID, other.node.number)
		return false
	}
	if err := l.ring.Put(context.Background(), run); err != nil {
		s.fail(6, "Put: %v", err)
		return false
	}
	return true
}

// check checks UIDs that a process hands out.
func (s *simulation) check(l *simLife, first ID, n int64) {
	for id := first; id < first+ID(n); id++ {
		delta, workerID, _ := s.f.layout.Split(int64(id))
		if id < 0 || int64(id) > s.f.layout.MaxUID() {
			s.fail(5, "%d does not fit", id)
		}
		key := [2]int64{delta, workerID}
		if other := s.owners[key]; other != nil && other != l {
			s.fail(1, "unit %d of worker ID %d is node %d's already", delta, workerID, other.node.number)
		}
		s.owners[key] = l
		_, lastWorker, _ := s.f.layout.Split(int64(l.last))
		if id <= l.last && lastWorker == workerID {
			s.fail(3, "%v comes after %v", s.f.Parse(id), s.f.Parse(l.last))
		}
		l.last = id
		s.uids++
	}
}

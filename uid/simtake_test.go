package uid

import (
	"context"
	"errors"

	"github.com/ringuid/ringuid/ringbuffer"
)

// take takes so many UIDs or a few more.
func (s *simulation) take(l *simProcess, n int) {
	for n > 0 && s.err == nil {
		if l.defaultGenerator != nil {
			d, clock := l.defaultGenerator, l.host.clock
			lease := d.lease.Load()
			now, last := d.clock.Unit(), lease.last.Load()
			if !d.cfg.rollback.ride {
				now = s.format.base.Delta(clock.Now())
			}
			unit := last >> d.seqBits
			used := last&d.seqMask == d.seqMask
			id, err := d.NextContext(s.endedContext) // where it would wait, this ends it
			switch {
			case errors.Is(err, context.Canceled) && used && now <= unit && (now == unit || d.cfg.rollback.ride || unit < lease.firstUnit):
				return
			case errors.Is(err, ErrTimeExhausted) && (l.exhausted || now > s.format.layout.MaxDelta() || used && unit == s.format.layout.MaxDelta()):
				l.exhausted = true
				s.exhausted++
				return
			case l.exhausted:
				s.fail(6, "Default is over its end: %v, %v", id, err)
				return
			case errors.Is(err, ErrClockBack) && !d.cfg.rollback.ride && now < unit:
				s.refused++
				return
			case err != nil:
				s.fail(6, "Default: %v", err)
				return
			}
			if at := s.format.Parse(id).Time; !d.cfg.rollback.ride && at.After(clock.Now()) {
				s.fail(4, "a UID's time is %v, a Default generator that refuses is at %v", at, clock.Now())
			}
			s.check(l, id, 1)
			n--
			continue
		}
		first, got, err := l.ring.Claim(context.Background(), int64(1+s.rnd.IntN(10)))
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
		if s.brokenInvariant == 3 && s.rnd.IntN(20) == 0 {
			s.check(l, ID(first), got)
		}
		n -= int(got)
	}
}

// pad puts a run into a process's ring.
func (s *simulation) pad(l *simProcess) bool {
	l.runs.readClock()
	run, err := l.runs.NextRun(context.Background())
	if errors.Is(err, ErrTimeExhausted) {
		s.exhausted++
		if s.brokenInvariant != 5 {
			return false
		}
		layout := s.format.layout // as the original's
		unit := max(l.runs.last+1, l.runs.clock.Unit())
		l.runs.last = unit
		run, err = ringbuffer.Run{First: layout.AllocateUnchecked(unit, l.runs.held.WorkerID(), 0), Length: layout.MaxSequence() + 1}, nil
	}
	if err != nil {
		return false
	}
	if s.brokenInvariant == 2 && s.rnd.IntN(20) == 0 {
		l.runs.last--
	}
	now := l.runs.clock.Unit()
	delta, workerID, sequence := s.format.layout.Split(run.First)
	switch {
	case run.First < 0 || run.First > s.format.layout.MaxUID()-run.Length+1:
		s.fail(5, "a run from %d on does not fit", run.First)
		return false
	case sequence != 0 || run.Length != s.format.layout.MaxSequence()+1 || workerID != l.runs.held.WorkerID():
		s.fail(5, "a run of %d from %d on is not one of worker ID %d", run.Length, run.First, l.runs.held.WorkerID())
		return false
	case delta > now+l.runs.borrowLimit && delta > l.runs.held.First():
		s.fail(4, "unit %d is stamped at %d, the bound is %d ahead", delta, now, l.runs.borrowLimit)
		return false
	}
	if other := s.owners[[2]int64{delta, workerID}]; other != nil {
		s.fail(2, "unit %d of worker ID %d was stamped by node %d before", delta, workerID, other.host.number)
		return false
	}
	if err := l.ring.Put(context.Background(), run); err != nil {
		s.fail(6, "Put: %v", err)
		return false
	}
	return true
}

// check checks UIDs that a process hands out.
func (s *simulation) check(l *simProcess, first ID, n int64) {
	for id := first; id < first+ID(n); id++ {
		delta, workerID, _ := s.format.layout.Split(int64(id))
		if id < 0 || int64(id) > s.format.layout.MaxUID() {
			s.fail(5, "%d does not fit", id)
		}
		key := [2]int64{delta, workerID}
		if other := s.owners[key]; other != nil && other != l {
			s.fail(1, "unit %d of worker ID %d is node %d's already", delta, workerID, other.host.number)
		}
		s.owners[key] = l
		_, lastWorker, _ := s.format.layout.Split(int64(l.last))
		if id <= l.last && lastWorker == workerID {
			s.fail(3, "%v comes after %v", s.format.Parse(id), s.format.Parse(l.last))
		}
		l.last = id
		s.uids++
	}
}

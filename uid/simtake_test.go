package uid

import (
	"context"
	"errors"

	"github.com/ringuid/ringuid/ringbuffer"
)

// take takes n UIDs, or a few more.
func (s *simulation) take(p *simProcess, n int) {
	for n > 0 && s.err == nil {
		if p.defaultGenerator != nil {
			d, clock := p.defaultGenerator, p.host.clock
			lease := d.lease.Load()
			now, last := d.clock.Unit(), lease.last.Load()
			if !d.cfg.rollback.ride {
				now = s.format.base.Delta(clock.Now())
			}
			unit := last >> d.seqBits
			used := last&d.seqMask == d.seqMask
			id, err := d.NextContext(s.endedContext) // returns an error instead of waiting
			switch {
			case errors.Is(err, context.Canceled) && used && now <= unit && (now == unit || d.cfg.rollback.ride || unit < lease.firstUnit):
				return
			case errors.Is(err, ErrTimeExhausted) && (p.exhausted || now > s.format.layout.MaxDelta() || used && unit == s.format.layout.MaxDelta()):
				p.exhausted = true
				s.exhausted++
				return
			case p.exhausted:
				s.fail(6, "Default returned %v, %v after ErrTimeExhausted", id, err)
				return
			case errors.Is(err, ErrClockBack) && !d.cfg.rollback.ride && now < unit:
				s.refused++
				return
			case err != nil:
				s.fail(6, "Default: %v", err)
				return
			}
			if at := s.format.Parse(id).Time; !d.cfg.rollback.ride && at.After(clock.Now()) {
				s.fail(4, "a UID's time is %v, but the clock of a Default generator with Refuse shows %v", at, clock.Now())
			}
			s.check(p, id, 1)
			n--
			continue
		}
		first, got, err := p.ring.Claim(context.Background(), int64(1+s.rnd.IntN(10)))
		if errors.Is(err, ErrEmpty) {
			if !s.pad(p) {
				return
			}
			continue
		}
		if err != nil {
			s.fail(6, "Claim: %v", err)
			return
		}
		s.check(p, ID(first), got)
		if s.brokenInvariant == 3 && s.rnd.IntN(20) == 0 {
			s.check(p, ID(first), got)
		}
		n -= int(got)
	}
}

// pad puts a run into a process's ring.
func (s *simulation) pad(p *simProcess) bool {
	p.runs.readClock()
	run, err := p.runs.NextRun(context.Background())
	if errors.Is(err, ErrTimeExhausted) {
		s.exhausted++
		if s.brokenInvariant != 5 {
			return false
		}
		layout, l := s.format.layout, p.runs.current.Load() // as the original does
		unit := max(l.stamped.Load()+1, p.runs.clock.Unit())
		l.stamped.Store(unit)
		run, err = ringbuffer.Run{First: layout.AllocateUnchecked(unit, l.held.WorkerID(), 0), Length: layout.MaxSequence() + 1}, nil
	}
	if err != nil {
		return false
	}
	l := p.runs.current.Load()
	if s.brokenInvariant == 2 && s.rnd.IntN(20) == 0 {
		l.stamped.Add(-1)
	}
	now := p.runs.clock.Unit()
	delta, workerID, sequence := s.format.layout.Split(run.First)
	switch {
	case run.First < 0 || run.First > s.format.layout.MaxUID()-run.Length+1:
		s.fail(5, "a run whose first UID is %d does not fit the layout", run.First)
		return false
	case sequence != 0 || run.Length != s.format.layout.MaxSequence()+1 || workerID != l.held.WorkerID():
		s.fail(5, "a run of %d UIDs from %d is not a whole unit of worker ID %d", run.Length, run.First, l.held.WorkerID())
		return false
	case delta > now+l.borrowLimit && delta > l.held.First():
		s.fail(4, "unit %d is stamped in unit %d; the borrow limit is %d units", delta, now, l.borrowLimit)
		return false
	}
	if other := s.owners[[2]int64{delta, workerID}]; other != nil {
		s.fail(2, "unit %d of worker ID %d was already stamped by host %d", delta, workerID, other.host.number)
		return false
	}
	if err := p.ring.Put(context.Background(), run); err != nil {
		s.fail(6, "Put: %v", err)
		return false
	}
	return true
}

// check checks n UIDs that a process took.
func (s *simulation) check(p *simProcess, first ID, n int64) {
	for id := first; id < first+ID(n); id++ {
		delta, workerID, _ := s.format.layout.Split(int64(id))
		if id < 0 || int64(id) > s.format.layout.MaxUID() {
			s.fail(5, "%d does not fit the layout", id)
		}
		key := [2]int64{delta, workerID}
		if other := s.owners[key]; other != nil && other != p {
			s.fail(1, "unit %d of worker ID %d belongs to host %d", delta, workerID, other.host.number)
		}
		s.owners[key] = p
		_, lastWorker, _ := s.format.layout.Split(int64(p.last))
		if id <= p.last && lastWorker == workerID {
			s.fail(3, "%v was returned after %v", s.format.Parse(id), s.format.Parse(p.last))
		}
		p.last = id
		s.uids++
	}
}

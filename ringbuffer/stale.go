package ringbuffer

// Drop drops all runs that are in the ring, and one that the provider is generating. While no call of
// the provider runs, it first calls before, which must not block: from then on the provider may return other runs. So a
// take that begins after Drop has returned gets nothing of the runs before that call. If the ring is closed, that take gets ErrClosed, and
// before is not called. Drop waits for a call of the provider that is running.
//
// As any taker does, it claims all integers that are left.
func (r *Ring) Drop(before func()) {
	if !r.initialized() || r.turn.acquire(r.ctx) != nil {
		return
	}
	defer r.turn.release()
	if !r.closed.Load() {
		before()
		for {
			s := r.current.Load()
			r.counters.drop(s)
			if !r.advance(s) {
				break
			}
		}
	}
	if r.closed.Load() {
		r.end() // Close may not have done it yet, and advance moves nothing once Close has begun
	}
}

// dropStale drops runs from the front of the ring up to the last stale one. It needs no lock,
// because it works as any taker does: to drop a run, it claims all integers that are left.
func (r *Ring) dropStale() {
	if r.cfg.Stale == nil {
		return
	}
	for stale := r.current.Load().index; ; { // all runs before this index are dropped
		s := r.current.Load()
		if !s.usedUp() {
			if int64(stale-s.index) <= 0 && !r.cfg.Stale(s.first) {
				if stale = r.lastStale(s); stale == s.index {
					return
				}
			}
			r.counters.drop(s)
		}
		if !r.advance(s) {
			return
		}
	}
}

// lastStale returns the index of the last stale run behind the run s, or the index of s if there is
// none. As long as the first integers of the runs rise, a run that is not stale has no stale run
// behind it. But a provider may continue with smaller integers, so each run that begins below its
// predecessor is checked.
func (r *Ring) lastStale(s *runState) uint64 {
	stale, previousFirst := s.index, s.first
	for n := s.index + 1; ; n++ {
		next := r.slots[n&r.indexMask].Load()
		if next == nil || next.index != n {
			return stale // there are no more runs, or takers have advanced far meanwhile
		}
		if next.first < previousFirst && r.cfg.Stale(next.first) {
			stale = n
		}
		previousFirst = next.first
	}
}

package ringbuffer

// dropStale drops runs from the front of the ring, for as long as they or some behind them are
// stale. It is a taker like any other, one that takes all that is left of a run, so it needs no
// lock. The error is a panic of Stale.
func (r *Ring) dropStale() (err error) {
	if r.cfg.Stale == nil {
		return nil
	}
	defer recoverPanic("Stale", &err)
	for stale := r.current.Load().index; ; { // all before it are dropped
		s := r.current.Load()
		if !s.usedUp() {
			if int64(stale-s.index) <= 0 && !r.cfg.Stale(s.first) {
				if stale = r.lastStale(s); stale == s.index {
					return nil
				}
			}
			r.counters.drop(s)
		}
		if !r.advance(s) {
			return nil
		}
	}
}

// lastStale returns the number of a stale run behind the run s, or that of s. Where runs rise
// there is none unless s is stale itself; but a provider may have set back, and then the first
// after that may be.
func (r *Ring) lastStale(s *runState) uint64 {
	stale, before := s.index, s.first
	for n := s.index + 1; ; n++ {
		next := r.slots[n&r.indexMask].Load()
		if next == nil || next.index != n {
			return stale // the end, or takers have come far meanwhile
		}
		if next.first < before && r.cfg.Stale(next.first) {
			stale = n
		}
		before = next.first
	}
}

package ringbuffer

import (
	"math"
	"sync/atomic"
)

// counts are what takers and putters count; none of it is touched by a take that finds
// something in the current run.
type counts struct {
	rejectedTakes  atomic.Uint64
	rejectedPuts   atomic.Uint64
	dropped        atomic.Uint64
	paddings       [triggers]atomic.Uint64
	failedPaddings atomic.Uint64
	episode        atomic.Int64 // failures since a padding last worked; written under the put lock
}

// Stats is a snapshot of a ring's counters. Each is exact; they are not taken at the same
// instant.
type Stats struct {
	Taken          uint64    // integers handed out
	Dropped        uint64    // integers dropped because their run was stale
	RejectedTakes  uint64    // how often a take found the ring empty and asked the take policy
	RejectedPuts   uint64    // how often Put found the ring full
	Paddings       [4]uint64 // paddings that put something, by Trigger
	FailedPaddings uint64    // failures and panics of the provider
	Fill           uint64    // integers that are ready to be taken
	FillRuns       int       // runs that are, one in use included
	CapacityRuns   int       // how many runs the ring holds
	Oldest, Newest int64     // the first integer of the oldest run that is not spent, and of the newest; -1 where there is none
	LastError      error     // what the last try to pad ended in; nil when it put a run
}

// Stats returns a snapshot. It does not hinder takers.
func (r *Ring) Stats() Stats {
	st := Stats{
		Dropped:        r.counts.dropped.Load(),
		RejectedTakes:  r.counts.rejectedTakes.Load(),
		RejectedPuts:   r.counts.rejectedPuts.Load(),
		FailedPaddings: r.counts.failedPaddings.Load(),
		CapacityRuns:   r.cfg.Capacity,
		Oldest:         -1,
		Newest:         -1,
		LastError:      r.emptyError().Cause,
	}
	for t := range r.counts.paddings {
		st.Paddings[t] = r.counts.paddings[t].Load()
	}
	s := r.current.Load()
	if last := r.last.Load(); last != nil {
		s = last
	}
	// Both only grow, the subtrahend was read first, and it is a part of the other.
	st.Taken = s.claimed() - st.Dropped
	if r.closed.Load() {
		return st
	}
	if !s.spent() {
		st.add(s, s.length-min(s.taken.Load(), s.length))
	}
	for number, tail := s.number, r.tail.Load(); number != tail; {
		number++
		next := r.slots[number&r.mask].Load()
		if next == nil || next.number != number {
			break // takers have moved on meanwhile
		}
		st.add(next, next.length)
	}
	return st
}

// add counts a run of which so many integers are left, which comes after those counted.
func (st *Stats) add(s *slot, left uint64) {
	if st.FillRuns == 0 {
		st.Oldest = s.first
	}
	st.Newest = s.first
	st.FillRuns++
	st.Fill = min(st.Fill+left, math.MaxInt64)
}

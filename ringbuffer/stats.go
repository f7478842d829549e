package ringbuffer

import (
	"math"
	"sync/atomic"
)

// counts are what takers and putters count; none of it is touched by a take that finds
// something in the current run.
type counters struct {
	rejectedTakes       atomic.Uint64
	rejectedPuts        atomic.Uint64
	dropped             atomic.Uint64
	dropBound           atomic.Uint64 // dropped, and what is about to be
	maxReportedTaken    atomic.Uint64 // the most that Stats returned as taken
	paddings            [triggerCount]atomic.Uint64
	failedPaddings      atomic.Uint64
	consecutiveFailures atomic.Int64 // failures since a padding last worked; written under the token
}

// drop claims all that is left of a run that is or was the current one. One goroutine calls it at a
// time, the padder.
func (c *counters) drop(s *runState) {
	dropped := c.dropped.Load()
	for {
		t := s.taken.Load()
		if t >= s.length {
			c.dropBound.Store(dropped)
			return
		}
		// Before the claim, so that what it claims is at no time counted as taken; and for that
		// time what was taken is noted.
		c.monotonicTaken(s.totalClaimed())
		c.dropBound.Store(dropped + s.length - t)
		if s.taken.CompareAndSwap(t, s.length) {
			c.dropped.Store(dropped + s.length - t)
			return
		}
	}
}

// takenOf returns how many integers were taken, where so many were claimed of the ring. What is
// being dropped makes the difference too small at times, never too great, so the greatest that was
// seen is the best that is known, and it never falls.
func (c *counters) monotonicTaken(claimed uint64) uint64 {
	taken := claimed - c.dropBound.Load()
	for {
		most := c.maxReportedTaken.Load()
		if int64(taken-most) <= 0 { // they may wrap
			return most
		}
		if c.maxReportedTaken.CompareAndSwap(most, taken) {
			return taken
		}
	}
}

// Stats is a snapshot of a ring's counters. Each is exact when nobody uses the ring; they are not
// taken at the same instant. A counter never falls.
type Stats struct {
	Taken          uint64    // integers handed out
	Dropped        uint64    // integers dropped because their run was stale
	RejectedTakes  uint64    // how often a take found the ring empty and asked the take policy
	RejectedPuts   uint64    // how often Put found the ring full
	Paddings       [4]uint64 // paddings that put something, by Trigger
	FailedPaddings uint64    // failures and panics of the provider and the hooks
	Fill           uint64    // integers that are ready to be taken
	FillRuns       int       // runs that are, one in use included
	CapacityRuns   int       // how many runs the ring holds
	Oldest, Newest int64     // the first integer of the oldest run that is not spent, and of the newest; -1 where there is none
	LastError      error     // what the last try to pad ended in; nil when it put a run
}

// Stats returns a snapshot. It does not hinder takers.
func (r *Ring) Stats() Stats {
	if !r.initialized() {
		return Stats{Oldest: -1, Newest: -1, LastError: errNotInitialized}
	}
	st := Stats{
		Dropped:        r.counters.dropped.Load(),
		RejectedTakes:  r.counters.rejectedTakes.Load(),
		RejectedPuts:   r.counters.rejectedPuts.Load(),
		FailedPaddings: r.counters.failedPaddings.Load(),
		CapacityRuns:   r.cfg.Capacity,
		Oldest:         -1,
		Newest:         -1,
		LastError:      r.emptyError().Cause,
	}
	for t := range r.counters.paddings {
		st.Paddings[t] = r.counters.paddings[t].Load()
	}
	s := r.current.Load()
	if s.lastBeforeClose != nil {
		st.Taken = r.counters.monotonicTaken(s.lastBeforeClose.totalClaimed())
		return st
	}
	st.Taken = r.counters.monotonicTaken(s.totalClaimed())
	if !s.usedUp() {
		st.addRun(s, s.length-min(s.taken.Load(), s.length))
	}
	for number := s.index + 1; ; number++ {
		next := r.slots[number&r.indexMask].Load()
		if next == nil || next.index != number {
			return st // the end, or takers have moved on meanwhile
		}
		st.addRun(next, next.length)
	}
}

// add counts a run of which so many integers are left, which comes after those counted.
func (st *Stats) addRun(s *runState, left uint64) {
	if st.FillRuns == 0 {
		st.Oldest = s.first
	}
	st.Newest = s.first
	st.FillRuns++
	st.Fill = min(st.Fill+left, math.MaxInt64)
}

package ringbuffer

import (
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
)

// counters are the counters of a ring. A take that finds an integer in the current run touches none
// of them.
type counters struct {
	rejectedTakes    atomic.Uint64
	rejectedPuts     atomic.Uint64
	dropped          atomic.Uint64
	dropBound        atomic.Uint64 // dropped, plus an upper bound of what a drop in progress adds to it
	maxReportedTaken atomic.Uint64 // the greatest value of Stats.Taken so far
	paddings         struct {      // see Stats.Paddings
		initial, immediate, scheduled, caller atomic.Uint64
	}
	failedPaddings      atomic.Uint64
	consecutiveFailures atomic.Int64 // failures since the last run was put; written in a turn
	lastFailure         atomic.Int64 // when the last failure was, in nanoseconds since 1970; 0 if there was none
	dropping            sync.Mutex   // held by drop

	testHookDrop func() // set by tests; drop calls it before its compare-and-swap
}

// drop claims all integers that are left of a run that is or was the current one.
func (c *counters) drop(s *runState) {
	c.dropping.Lock()
	defer c.dropping.Unlock()
	dropped := c.dropped.Load()
	for {
		t := s.taken.Load()
		if t >= s.length {
			c.dropBound.Store(dropped)
			return
		}
		// Increase dropBound before the claim, so that the claimed integers never count as
		// taken. Record the number of taken integers before that, because monotonicTaken
		// underestimates it until the drop is complete.
		c.monotonicTaken(s.totalClaimed())
		c.dropBound.Store(dropped + s.length - t)
		if c.testHookDrop != nil {
			c.testHookDrop()
		}
		if s.taken.CompareAndSwap(t, s.length) {
			c.dropped.Store(dropped + s.length - t)
			return
		}
	}
}

// monotonicTaken returns how many integers were taken, given how many were claimed from the ring.
// The difference of claimed and dropBound may be too small while a drop is in progress, but is never
// too great. So the greatest difference so far is the best estimate, and it never decreases.
func (c *counters) monotonicTaken(claimed uint64) uint64 {
	taken := claimed - c.dropBound.Load()
	for {
		most := c.maxReportedTaken.Load()
		if int64(taken-most) <= 0 { // a signed difference, because both may wrap
			return most
		}
		if c.maxReportedTaken.CompareAndSwap(most, taken) {
			return taken
		}
	}
}

// Stats is a snapshot of a ring's counters. Each field is exact when no goroutine uses the ring. The
// fields are not read at the same instant. No counter ever decreases.
type Stats struct {
	Taken         uint64 // integers handed out
	Dropped       uint64 // integers dropped by Drop, or because their run, or one behind it, was stale
	RejectedTakes uint64 // times that a take found the ring empty
	RejectedPuts  uint64 // times that Put found the ring full

	// Paddings are the paddings that put at least one run, by their reasons.
	Paddings struct {
		Initial   uint64 // New or Init
		Immediate uint64 // the fill level fell below the padding factor
		Scheduled uint64 // the interval was over
		Caller    uint64 // a taker found the ring empty
	}

	FailedPaddings uint64    // failures of the provider
	Fill           uint64    // integers in the ring that can be taken
	FillRuns       int       // runs in the ring that have such integers, including the current one
	CapacityRuns   int       // the capacity of the ring, in runs
	Oldest         int64     // the first integer of the oldest run that is not used up; -1 if no integers are left
	Newest         int64     // the first integer of the newest run; -1 if no integers are left
	LastError      error     // the error of the last try to pad; nil if it put a run
	LastFailure    time.Time // when the last of FailedPaddings was, in UTC; the zero time if there was none
}

// Stats returns a snapshot. It takes no lock and does not block takers.
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
	if at := r.counters.lastFailure.Load(); at != 0 {
		st.LastFailure = time.Unix(0, at).UTC()
	}
	st.Paddings.Initial = r.counters.paddings.initial.Load()
	st.Paddings.Immediate = r.counters.paddings.immediate.Load()
	st.Paddings.Scheduled = r.counters.paddings.scheduled.Load()
	st.Paddings.Caller = r.counters.paddings.caller.Load()
	s := r.current.Load()
	if s.lastBeforeClose != nil {
		st.Taken = r.counters.monotonicTaken(s.lastBeforeClose.totalClaimed())
		return st
	}
	st.Taken = r.counters.monotonicTaken(s.totalClaimed())
	if !s.usedUp() {
		st.addRun(s, s.length-min(s.taken.Load(), s.length))
	}
	for index := s.index + 1; ; index++ {
		next := r.slots[index&r.indexMask].Load()
		if next == nil || next.index != index {
			return st // there are no more runs, or takers have advanced far meanwhile
		}
		st.addRun(next, next.length)
	}
}

// FillLevel returns the fraction of the ring's runs that have integers: 0 to 1. It is 0 for the zero Stats.
func (st Stats) FillLevel() float64 { return float64(st.FillRuns) / float64(max(st.CapacityRuns, 1)) }

// LogValue implements slog.LogValuer. The group has the keys taken, dropped, rejected_takes, rejected_puts, paddings (a group with
// the keys initial, immediate, scheduled and caller), failed_paddings, fill, fill_level, fill_runs, capacity_runs, oldest and newest,
// and, if they are set, last_failure and last_error.
func (st Stats) LogValue() slog.Value {
	paddings := slog.GroupValue(slog.Uint64("initial", st.Paddings.Initial), slog.Uint64("immediate", st.Paddings.Immediate),
		slog.Uint64("scheduled", st.Paddings.Scheduled), slog.Uint64("caller", st.Paddings.Caller))
	attrs := []slog.Attr{
		slog.Uint64("taken", st.Taken), slog.Uint64("dropped", st.Dropped), slog.Uint64("rejected_takes", st.RejectedTakes),
		slog.Uint64("rejected_puts", st.RejectedPuts), {Key: "paddings", Value: paddings},
		slog.Uint64("failed_paddings", st.FailedPaddings), slog.Uint64("fill", st.Fill), slog.Float64("fill_level", st.FillLevel()),
		slog.Int("fill_runs", st.FillRuns), slog.Int("capacity_runs", st.CapacityRuns), slog.Int64("oldest", st.Oldest), slog.Int64("newest", st.Newest),
	}
	attrs = safelog.AppendTime(attrs, "last_failure", st.LastFailure)
	return slog.GroupValue(safelog.AppendError(attrs, "last_error", st.LastError)...)
}

// MarshalJSON implements json.Marshaler: an object with the keys of LogValue. Times are as in RFC 3339. Integers beyond 2^53 lose
// digits in programs that read JSON numbers as floating-point numbers.
func (st Stats) MarshalJSON() ([]byte, error) { return safelog.JSON(st.LogValue()) }

// addRun adds a run of which remaining integers are left. Runs are added in their order.
func (st *Stats) addRun(s *runState, remaining uint64) {
	if st.FillRuns == 0 {
		st.Oldest = s.first
	}
	st.Newest = s.first
	st.FillRuns++
	st.Fill = min(st.Fill+remaining, math.MaxInt64)
}

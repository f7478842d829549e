package ringbuffer

import (
	"fmt"
	"math"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// A Run is a span of consecutive integers: First, First+1, … First+Length-1.
type Run struct {
	First  int64 // at least 0
	Length int64 // at least 1, and First+Length-1 fits in an int64
}

// check returns an error that wraps ErrRun unless the run is a valid one.
func (r Run) check() error {
	switch {
	case r.First < 0:
		return fmt.Errorf("%w: first is %d, at least 0 is needed", ErrRun, r.First)
	case r.Length < 1:
		return fmt.Errorf("%w: length is %d, at least 1 is needed", ErrRun, r.Length)
	case r.First > math.MaxInt64-(r.Length-1):
		return fmt.Errorf("%w: %d integers from %d on end beyond %d", ErrRun, r.Length, r.First, int64(math.MaxInt64))
	}
	return nil
}

const (
	// maxClaim bounds one claim, so that the claims that overshoot a run's end at the same
	// time cannot carry its counter anywhere near 2^64.
	maxClaim = 1 << 32

	// spentFloor is where the counter of a spent run is set back to when takers that find
	// the ring empty have carried it further: beyond any length, and far from its end.
	usedUpCounter = 1 << 63
)

// slot is a run in the ring. The fields of its first line are written once, before it is
// published, and then only read; the counter is written by every take, so it has lines of
// its own. With both on one line every take would wait for the line to come back from
// whoever took last, before it could even read the bounds (BenchmarkPadding shows it).
type runState struct {
	index           uint64 // the run's index; it may wrap, only differences are used
	precedingTotal  uint64 // how many integers all runs before this one held, modulo 2^64
	first           int64
	length          uint64    // at most 2^63-1
	lastBeforeClose *runState // not nil in the one that Close puts in the place of the current run: that run

	_     cpu.CacheLinePad
	taken atomic.Uint64 // how many were claimed; beyond length once the run is spent
	_     cpu.CacheLinePad
}

// claim takes up to n integers, n being at least 1, and returns the first and how many; 0
// when the run is spent.
func (s *runState) claim(n uint64) (first int64, got uint64) {
	// Looking first keeps the takers of an empty ring from moving the counter on and on.
	if s.usedUp() {
		return 0, 0
	}
	n = min(n, maxClaim)
	start := s.taken.Add(n) - n
	if start >= s.length {
		return 0, 0
	}
	return s.first + int64(start), min(n, s.length-start)
}

// spent tells whether no integer is left.
func (s *runState) usedUp() bool {
	t := s.taken.Load()
	if t > usedUpCounter {
		s.taken.Store(usedUpCounter) // still beyond any length: the run stays spent
	}
	return t >= s.length
}

// claimed is how many integers of this run and all before it were claimed.
func (s *runState) totalClaimed() uint64 { return s.precedingTotal + min(s.taken.Load(), s.length) }

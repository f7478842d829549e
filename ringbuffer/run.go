package ringbuffer

import (
	"fmt"
	"math"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// A Run is a sequence of consecutive integers: First, First+1, … First+Length-1.
type Run struct {
	First  int64 // at least 0
	Length int64 // at least 1; First+Length-1 must fit in an int64
}

// check returns an error that wraps ErrRun if the run is invalid.
func (r Run) check() error {
	switch {
	case r.First < 0:
		return fmt.Errorf("%w: first is %d; must be at least 0", ErrRun, r.First)
	case r.Length < 1:
		return fmt.Errorf("%w: length is %d; must be at least 1", ErrRun, r.Length)
	case r.First > math.MaxInt64-(r.Length-1):
		return fmt.Errorf("%w: the last of %d integers from %d must be at most %d", ErrRun, r.Length, r.First, int64(math.MaxInt64))
	}
	return nil
}

const (
	// maxClaim is the greatest number of integers that one claim adds to a counter. It keeps
	// concurrent claims beyond the end of a run from moving the counter anywhere near 2^64.
	maxClaim = 1 << 32

	// usedUpCounter replaces the counter of a used-up run when takers of an empty ring have moved
	// the counter beyond it. It is greater than any length and far below 2^64.
	usedUpCounter = 1 << 63
)

// runState is a run in the ring, with the counter of the integers that were claimed of it. The
// fields in front of the padding are written before the run is published, and are read-only from
// then on. Every take writes the counter, so the counter has cache lines of its own. If it shared a
// line with the bounds, every take would have to wait for that line before it could read the
// bounds, because the CPU of the last taker holds it (see BenchmarkPadding).
type runState struct {
	index           uint64 // the position in the sequence of runs; it may wrap, so only differences are used
	precedingTotal  uint64 // how many integers all earlier runs had, modulo 2^64
	first           int64
	length          uint64    // at most 2^63-1
	lastBeforeClose *runState // set only in the empty run that Close stores in Ring.current: the run that it replaced

	_     cpu.CacheLinePad
	taken atomic.Uint64 // how many integers were claimed; may exceed length once the run is used up
	_     cpu.CacheLinePad
}

// claim claims up to n integers, where n is at least 1. It returns the first one and how many there
// are, which is 0 if the run is used up.
func (s *runState) claim(n uint64) (first int64, got uint64) {
	// This check keeps the takers of an empty ring from increasing the counter without end.
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

// usedUp reports whether no integer is left.
func (s *runState) usedUp() bool {
	t := s.taken.Load()
	if t > usedUpCounter {
		s.taken.Store(usedUpCounter) // still greater than any length: the run stays used up
	}
	return t >= s.length
}

// totalClaimed returns how many integers of this run and of all earlier runs were claimed, modulo
// 2^64.
func (s *runState) totalClaimed() uint64 { return s.precedingTotal + min(s.taken.Load(), s.length) }

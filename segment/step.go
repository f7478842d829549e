package segment

import (
	"fmt"
	"time"
)

// A StepPolicy decides how many numbers the next range has. Only one goroutine calls Size of a Sequence at a time.
// Takers of an empty Sequence wait for it, so Size must be fast, and must not use that Sequence. A policy may be used by many sequences concurrently. A program may implement it, and no method will
// be added; StepState may get more fields.
type StepPolicy interface {
	// Size returns the size to ask for. It is limited to 1 and the value of WithMaxStep. The first ranges of a
	// Sequence, which New requests, have the tag's own step, and Size is not called for them.
	Size(s StepState) int64
}

// StepState is what a StepPolicy knows of a Sequence. If several ranges are requested one right after the other, for
// example after an outage, Elapsed and Taken are the same for all of them: those of the first one. The time that the
// source was down does not count.
type StepState struct {
	Step     int64         // the tag's own step, as the source keeps it
	Last     int64         // the size of the last range
	Elapsed  time.Duration // from the arrival of the last range to the request for the next one
	Taken    uint64        // how many numbers were taken in that time
	Recent   uint64        // how many were taken in the last ten minutes, or in the Outage of an OutageStep: some 5 % fewer, never more
	Capacity int           // how many ranges are kept in memory
}

// rate returns the numbers per second in the time Elapsed.
func (s StepState) rate() float64 {
	if s.Taken == 0 {
		return 0
	}
	return float64(s.Taken) / max(s.Elapsed, time.Millisecond).Seconds()
}

// FixedStep asks for the tag's own step, always.
type FixedStep struct{}

// Size implements StepPolicy.
func (FixedStep) Size(s StepState) int64 { return s.Step }

// LeafStep is the rule of Meituan's Leaf: the size doubles if the last range was used for less than 15 minutes,
// unless it would exceed 1,000,000, and is halved if it was used for 30 minutes or more, unless it would be less
// than the tag's own step.
//
// Source: https://tech.meituan.com/2017/04/21/mt-leaf.html, and the project's SegmentIDGenImpl.
type LeafStep struct{}

const (
	leafMaxStep     = 1_000_000
	leafSegmentTime = 15 * time.Minute
)

// Size implements StepPolicy.
func (LeafStep) Size(s StepState) int64 {
	last := max(s.Last, s.Step)
	switch {
	case s.Elapsed < leafSegmentTime:
		if last > leafMaxStep/2 {
			return last
		}
		return last * 2
	case s.Elapsed < 2*leafSegmentTime:
		return last
	default:
		if last/2 < s.Step {
			return last
		}
		return last / 2
	}
}

// OutageStep reserves for an outage of the source what was really handed out: a range has as many numbers as were taken
// in the time Outage before its request, divided by the number of ranges in memory, but at least the tag's own step.
//
// So while the rate does not fall, all ranges in memory together have at most as many numbers as were taken in the last
// Outage, or the tag's step in each, if that is more: each of them has at most its share of one of the two. They are
// lost if the process is killed. When the rate falls, the ranges that are in memory are used up first, and the next
// ones are shorter: after a burst, its ranges stay for as long as the later rate takes to use them up.
//
// At a steady rate, the numbers in memory last for nearly Outage after the arrival of a range, and for half of that when
// the next one is requested, with two ranges in memory; with 8, for seven eighths. Soon after the start they last for
// less, because less was handed out until then; and so after an outage in which they ran out. In figures, with an Outage of
// ten minutes: until ten minutes after the start they last for at least a third of the time since then, and from twenty
// minutes on for at least 4 minutes and 45 seconds, or 8 minutes with 8 ranges. A greater step of the tag helps after the
// start, and a greater Outage later.
type OutageStep struct {
	Outage time.Duration // more than 0, at most a year; if it is less than 20 s, samples of each second decide
}

// check returns an error if the outage is out of range.
func (o OutageStep) check() error {
	if o.Outage <= 0 || o.Outage > 366*24*time.Hour {
		return fmt.Errorf("the outage of OutageStep is %v; must be more than 0, and at most 8784h", o.Outage)
	}
	return nil
}

// Size implements StepPolicy.
func (OutageStep) Size(s StepState) int64 {
	return max(int64(s.Recent/uint64(max(s.Capacity, 1))), s.Step)
}

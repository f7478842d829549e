package benchmarks

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// The steps of the tags that are measured: the usual one, one that is used up in some 10 µs, and one that is hardly ever used up.
const (
	SegmentStep = 10_000
	ShortStep   = 1_000
	LongStep    = 1 << 30
)

// SlowSource is how long a request of the slow source takes, as one of a database in the same data center does.
const SlowSource = 5 * time.Millisecond

// A Source is a segment.Source in memory, for the tags of one measurement. It is safe for concurrent use.
type Source struct {
	delay time.Duration // of each request
	size  int64         // the step of each tag
	next  atomic.Int64  // one counter for all tags: no measurement depends on which numbers a tag gets
	start time.Time

	running  atomic.Int64 // requests in progress
	requests atomic.Int64 // requests that have begun
	lastEnd  atomic.Int64 // when the last request ended, in nanoseconds after start
}

// NewSource returns a source whose tags have the given step, and whose requests take the given time.
func NewSource(step int64, delay time.Duration) *Source {
	s := &Source{delay: delay, size: step, start: time.Now()}
	s.next.Store(1)
	return s
}

// Take implements segment.Source.
func (s *Source) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	s.requests.Add(1)
	s.running.Add(1)
	defer func() {
		s.lastEnd.Store(int64(time.Since(s.start)))
		s.running.Add(-1)
	}()
	if s.delay > 0 {
		timer := time.NewTimer(s.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return segment.Range{}, ctx.Err()
		}
	}
	size := r.Size
	if size == 0 {
		size = s.size
	}
	return segment.Range{First: s.next.Add(size) - size, Length: size, Stride: 1, Step: s.size}, nil
}

// String implements segment.Source.
func (s *Source) String() string { return "memory" }

// Requests returns how many requests have begun.
func (s *Source) Requests() int64 { return s.requests.Load() }

// Refilling reports whether a request is in progress, or ended less than margin before the time now, which is the present time.
func (s *Source) Refilling(now time.Time, margin time.Duration) bool {
	return s.running.Load() > 0 || now.Sub(s.start)-time.Duration(s.lastEnd.Load()) < margin
}

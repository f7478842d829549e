package benchmarks

import (
	"context"
	"errors"
	"testing"

	"github.com/ringuid/ringuid/segment"
)

// The names of subjects of package segment.
const (
	SequenceNext      = "Sequence.Next" // in Serial and Parallel
	SequenceFixed     = "Sequence.Next/fixed"
	SequenceShort     = "Sequence.Next/short"
	SequenceLong      = "Sequence.Next/long"
	SequenceCapacity  = "Sequence.Next/capacity8"
	SequenceSlow      = "Sequence.Next/slow"
	SequenceSlowAdapt = "Sequence.Next/slow/adapting"
	SequenceLocal     = "Sequence.Local"
	SequenceNextN     = "Sequence.NextN/64"
	LeafNext          = "peer:Leaf"
	LeafShort         = "peer:Leaf/short"
	LeafSlow          = "peer:Leaf/slow"
	LeafSlowAdapt     = "peer:Leaf/slow/adapting"
	CosIDSegmentLong  = "peer:CosId/DefaultSegmentId/long"
	CosIDSegmentShort = "peer:CosId/DefaultSegmentId/short"
	CosIDChainLong    = "peer:CosId/SegmentChainId/long"
	CosIDChainShort   = "peer:CosId/SegmentChainId/short"
)

// outage is the default policy of a Sequence.
var outage = segment.OutageStep{Outage: segment.DefaultOutage}

// The sources of the subjects.
func fast() *Source  { return NewSource(SegmentStep, 0) }
func slow() *Source  { return NewSource(SegmentStep, SlowSource) }
func short() *Source { return NewSource(ShortStep, 0) }
func long() *Source  { return NewSource(LongStep, 0) }

// SegmentSerial returns the subjects of package segment that run in one goroutine, except for Sequence.Next with a source in
// memory, which Serial has.
func SegmentSerial() []Subject {
	return []Subject{
		{Name: SequenceLocal, Bench: func(b *testing.B) {
			l := newSequence(b, fast(), segment.FixedStep{}).Local()
			for b.Loop() {
				if _, err := l.Next(); err != nil {
					b.Fatal(err)
				}
			}
		}},
		{Name: SequenceNextN, Bench: func(b *testing.B) {
			s, numbers := newSequence(b, fast(), segment.FixedStep{}), make([]int64, 64)
			for b.Loop() {
				if _, err := s.NextN(numbers); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(numbers)), "ns/uid")
		}},
		{Name: SequenceCapacity, Bench: sequenceSerial(fast, segment.FixedStep{}, segment.WithCapacity(8))},
		{Name: SequenceFixed, Bench: sequenceSerial(fast, segment.FixedStep{})},
		{Name: LeafNext, Bench: leafSerial(fast, false)},
		{Name: SequenceLong, Bench: sequenceSerial(long, segment.FixedStep{})},
		{Name: CosIDChainLong, Bench: cosIDChainSerial(LongStep)},
		{Name: CosIDSegmentLong, Bench: cosIDSegmentSerial(LongStep)},
		{Name: SequenceShort, Bench: sequenceSerial(short, segment.FixedStep{})},
		{Name: CosIDChainShort, Bench: cosIDChainSerial(ShortStep)},
		{Name: CosIDSegmentShort, Bench: cosIDSegmentSerial(ShortStep)},
		{Name: LeafShort, Bench: leafSerial(short, false)},
		{Name: SequenceSlow, Bench: sequenceSerial(slow, segment.FixedStep{})},
		{Name: LeafSlow, Bench: leafSerial(slow, false)},
		{Name: SequenceSlowAdapt, Bench: sequenceSerial(slow, outage)},
		{Name: LeafSlowAdapt, Bench: leafSerial(slow, true)},
	}
}

// SegmentParallel returns the subjects of package segment that run in GOMAXPROCS goroutines concurrently, except for
// Sequence.Next with a source in memory, which Parallel has.
func SegmentParallel() []Subject {
	return []Subject{
		{Name: SequenceLocal, Bench: func(b *testing.B) {
			s := newSequence(b, fast(), segment.FixedStep{})
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				l := s.Local()
				for pb.Next() {
					if _, err := l.Next(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}},
		{Name: SequenceNextN, Bench: func(b *testing.B) {
			s := newSequence(b, fast(), segment.FixedStep{})
			const size = 64
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				numbers := make([]int64, size)
				for pb.Next() {
					if _, err := s.NextN(numbers); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/uid")
		}},
		{Name: SequenceCapacity, Bench: sequenceParallel(fast, segment.FixedStep{}, segment.WithCapacity(8))},
		{Name: SequenceFixed, Bench: sequenceParallel(fast, segment.FixedStep{})},
		{Name: LeafNext, Bench: leafParallel(fast, false)},
		{Name: SequenceLong, Bench: sequenceParallel(long, segment.FixedStep{})},
		{Name: CosIDChainLong, Bench: cosIDChainParallel(LongStep)},
		{Name: CosIDSegmentLong, Bench: cosIDSegmentParallel(LongStep)},
		{Name: SequenceShort, Bench: sequenceParallel(short, segment.FixedStep{})},
		{Name: CosIDChainShort, Bench: cosIDChainParallel(ShortStep)},
		{Name: CosIDSegmentShort, Bench: cosIDSegmentParallel(ShortStep)},
		{Name: LeafShort, Bench: leafParallel(short, false)},
		{Name: SequenceSlow, Bench: sequenceParallel(slow, segment.FixedStep{})},
		{Name: LeafSlow, Bench: leafParallel(slow, false)},
		{Name: SequenceSlowAdapt, Bench: sequenceParallel(slow, outage)},
		{Name: LeafSlowAdapt, Bench: leafParallel(slow, true)},
	}
}

// newSequence returns a Sequence that is closed when the benchmark ends.
func newSequence(b *testing.B, src *Source, policy segment.StepPolicy, more ...segment.Option) *segment.Sequence {
	b.Helper()
	s, err := segment.New(context.Background(), src, "orders", append(more, segment.WithStepPolicy(policy))...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// newCosIDChain returns a CosIDChain that is closed when the benchmark ends.
func newCosIDChain(b *testing.B, step int64) *CosIDChain {
	b.Helper()
	c := NewCosIDChain(NewSource(step, 0), "orders", step)
	b.Cleanup(c.Close)
	return c
}

// newLeaf returns a Leaf that is closed when the benchmark ends.
func newLeaf(b *testing.B, src *Source, adapt bool) *Leaf {
	b.Helper()
	l, err := NewLeaf(src, "orders", adapt)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(l.Close)
	return l
}

// sequenceSerial returns a benchmark of Sequence.Next in one goroutine. Like those of Serial, it has a loop of its own, so that the loop
// contains only the measured call. If it were inlined into its callers, the compiler would not inline b.Loop.
//
//go:noinline
func sequenceSerial(src func() *Source, policy segment.StepPolicy, more ...segment.Option) func(*testing.B) {
	return func(b *testing.B) {
		s := newSequence(b, src(), policy, more...)
		for b.Loop() {
			if _, err := s.Next(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// sequenceParallel is sequenceSerial in GOMAXPROCS goroutines.
func sequenceParallel(src func() *Source, policy segment.StepPolicy, more ...segment.Option) func(*testing.B) {
	return func(b *testing.B) {
		s := newSequence(b, src(), policy, more...)
		b.ResetTimer() // New has requested two ranges
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := s.Next(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
}

// leafSerial returns a benchmark of Leaf in one goroutine. A call that Leaf refuses is made again, as its clients do.
func leafSerial(src func() *Source, adapt bool) func(*testing.B) {
	return func(b *testing.B) {
		l := newLeaf(b, src(), adapt)
		for b.Loop() {
			for {
				if _, err := l.Next(); err == nil {
					break
				} else if !errors.Is(err, ErrLeafEmpty) {
					b.Fatal(err)
				}
			}
		}
	}
}

// leafParallel is leafSerial in GOMAXPROCS goroutines.
func leafParallel(src func() *Source, adapt bool) func(*testing.B) {
	return func(b *testing.B) {
		l := newLeaf(b, src(), adapt)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				for {
					if _, err := l.Next(); err == nil {
						break
					} else if !errors.Is(err, ErrLeafEmpty) {
						b.Error(err)
						return
					}
				}
			}
		})
	}
}

// cosIDChainSerial returns a benchmark of CosIDChain in one goroutine, as sequenceSerial does.
//
//go:noinline
func cosIDChainSerial(step int64) func(*testing.B) {
	return func(b *testing.B) {
		c := newCosIDChain(b, step)
		for b.Loop() {
			if _, err := c.Next(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// cosIDChainParallel is cosIDChainSerial in GOMAXPROCS goroutines.
func cosIDChainParallel(step int64) func(*testing.B) {
	return func(b *testing.B) {
		c := newCosIDChain(b, step)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := c.Next(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
}

// cosIDSegmentSerial returns a benchmark of CosIDSegment in one goroutine, as sequenceSerial does.
//
//go:noinline
func cosIDSegmentSerial(step int64) func(*testing.B) {
	return func(b *testing.B) {
		c := NewCosIDSegment(NewSource(step, 0), "orders", step)
		for b.Loop() {
			if _, err := c.Next(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// cosIDSegmentParallel is cosIDSegmentSerial in GOMAXPROCS goroutines.
func cosIDSegmentParallel(step int64) func(*testing.B) {
	return func(b *testing.B) {
		c := NewCosIDSegment(NewSource(step, 0), "orders", step)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := c.Next(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
}

package ringbuffer

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/cpu"
)

// newEndlessRing returns a ring with a run that no benchmark can use up.
func newEndlessRing(b *testing.B) *Ring {
	return newTestRing(b, Config{Provider: providerFunc(func(context.Context) (Run, error) {
		return Run{Length: math.MaxInt64}, nil
	})})
}

func BenchmarkTake(b *testing.B) {
	for _, bb := range []struct {
		name   string
		length int64
	}{{"run=1", 1}, {"run=64", 64}, {"run=8192", 8192}, {"run=2^20", 1 << 20}} {
		b.Run(bb.name, func(b *testing.B) {
			r := newTestRing(b, Config{Provider: &countingProvider{length: bb.length}})
			for b.Loop() {
				if _, err := r.Take(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTakeParallel(b *testing.B) {
	r := newTestRing(b, Config{Provider: &countingProvider{length: 8192}})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := r.Take(context.Background()); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// paddedCounter is an atomic counter that is alone on its cache lines. No take can be faster than one
// add on it.
type paddedCounter struct {
	_ cpu.CacheLinePad
	n atomic.Int64
	_ cpu.CacheLinePad
}

func BenchmarkLimit(b *testing.B) {
	var c paddedCounter
	for b.Loop() {
		c.n.Add(1)
	}
}

func BenchmarkLimitParallel(b *testing.B) {
	var c paddedCounter
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.n.Add(1)
		}
	})
}

// BenchmarkPadding shows the effect of cache line padding. It compares concurrent takes whose counter
// has cache lines of its own with takes whose counter shares a line with the bounds, which every take
// reads.
func BenchmarkPadding(b *testing.B) {
	b.Run("padded", func(b *testing.B) {
		r := newEndlessRing(b)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, ok := r.TryTake(); !ok {
					b.Error("the run is used up")
					return
				}
			}
		})
	})
	b.Run("unpadded", func(b *testing.B) {
		type unpaddedRun struct {
			_      [2]uint64 // index and precedingTotal
			first  int64
			length uint64
			taken  atomic.Uint64
		}
		var current atomic.Pointer[unpaddedRun]
		current.Store(&unpaddedRun{length: math.MaxInt64})
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				s := current.Load()
				if n := s.taken.Add(1) - 1; s.first+int64(n) < 0 || n >= s.length {
					b.Error("the run is used up")
					return
				}
			}
		})
	})
}

// BenchmarkMutex measures a counter under a mutex, the simplest correct implementation.
func BenchmarkMutex(b *testing.B) {
	var (
		mu sync.Mutex
		n  int64
	)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			mu.Lock()
			n++
			mu.Unlock()
		}
	})
}

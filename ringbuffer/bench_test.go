package ringbuffer

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/cpu"
)

// endless is a provider whose one run outlasts every benchmark.
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

// lined is an atomic counter alone on its lines: the limit of any take.
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

// BenchmarkPadding shows what the padding buys: the same take, in parallel, with the
// counter on lines of its own, and on the line of the bounds that every take reads.
func BenchmarkPadding(b *testing.B) {
	b.Run("padded", func(b *testing.B) {
		r := newEndlessRing(b)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, ok := r.TryTake(); !ok {
					b.Error("the endless run ended")
					return
				}
			}
		})
	})
	b.Run("unpadded", func(b *testing.B) {
		type slot struct {
			_      [2]uint64 // number and before
			first  int64
			length uint64
			taken  atomic.Uint64
		}
		var current atomic.Pointer[slot]
		current.Store(&slot{length: math.MaxInt64})
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				s := current.Load()
				if n := s.taken.Add(1) - 1; s.first+int64(n) < 0 || n >= s.length {
					b.Error("the endless run ended")
					return
				}
			}
		})
	})
}

// BenchmarkMutex is the plainest ring that is correct: a counter under a mutex.
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

package segment

import (
	"context"
	"sync/atomic"
	"testing"
)

// BenchmarkNext compares the ways to take a number with one atomic add.
func BenchmarkNext(b *testing.B) {
	s := newTestSequence(b, newMemorySource(1<<34))
	strided := newTestSequence(b, stripesInMemory{newMemorySource(1 << 34), 3})
	var counter atomic.Int64
	ctx := context.Background()
	for _, bench := range []struct {
		name string
		next func() func() (int64, error)
	}{
		{"AtomicAdd", func() func() (int64, error) { return func() (int64, error) { return counter.Add(1), nil } }},
		{"Next", func() func() (int64, error) { return s.Next }},
		{"NextContext", func() func() (int64, error) { return func() (int64, error) { return s.NextContext(ctx) } }},
		{"NextWithStride", func() func() (int64, error) { return strided.Next }},
		{"LocalNext", func() func() (int64, error) { return s.Local().Next }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			next := bench.next()
			for b.Loop() {
				if _, err := next(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(bench.name+"Parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				next := bench.next()
				for pb.Next() {
					if _, err := next(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

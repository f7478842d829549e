package benchmarks

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// runSubjects runs the benchmarks of a group.
func runSubjects(b *testing.B, group []Subject) {
	for _, s := range group {
		b.Run(s.Name, s.Bench)
	}
}

func BenchmarkSerial(b *testing.B)   { runSubjects(b, Serial()) }
func BenchmarkParallel(b *testing.B) { runSubjects(b, Parallel()) }
func BenchmarkBatch(b *testing.B)    { runSubjects(b, Batch()) }

func BenchmarkSegmentSerial(b *testing.B)   { runSubjects(b, SegmentSerial()) }
func BenchmarkSegmentParallel(b *testing.B) { runSubjects(b, SegmentParallel()) }

// BenchmarkGrowthGoroutines measures how the cost of Cached.Next grows with the number of goroutines.
// It does not use RunParallel, which starts at least GOMAXPROCS goroutines. The goroutines take
// shares of the iterations instead.
func BenchmarkGrowthGoroutines(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := newCached(b, StandardLayout)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					const share = 100
					for {
						k := min(left.Add(-share)+share, share)
						for range k {
							if _, err := g.Next(); err != nil {
								b.Error(err)
								return
							}
						}
						if k < share {
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// BenchmarkGrowthBoost measures how the cost of Cached.Next grows with the boost power, and so with the
// size of the ring.
func BenchmarkGrowthBoost(b *testing.B) {
	for power := 0; power <= 6; power++ {
		b.Run(fmt.Sprint(power), func(b *testing.B) { benchmarkNext(b, StandardLayout, uid.WithBoostPower(power)) })
	}
}

// BenchmarkGrowthSequence measures how the cost of Cached.Next grows with the number of sequence bits,
// and so with the length of a run.
func BenchmarkGrowthSequence(b *testing.B) {
	for _, bits := range []int{1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20} {
		b.Run(fmt.Sprint(bits), func(b *testing.B) { benchmarkNext(b, fmt.Sprintf("1-40-%d-%d", 23-bits, bits)) })
	}
}

// benchmarkNext measures Cached.Next in GOMAXPROCS goroutines.
func benchmarkNext(b *testing.B, layout string, opts ...uid.Option) {
	g := newCached(b, layout, opts...)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.Next(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkConstruct measures creating and closing a Cached generator with a static lease.
func BenchmarkConstruct(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c, err := uid.NewCached(context.Background(), workerassign.Static(1))
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

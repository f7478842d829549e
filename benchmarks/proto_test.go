package benchmarks

import (
	"context"
	"testing"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/uid/percpu"
)

func cc(b *testing.B) *uid.Cached { return generator(b, 0).(*uid.Cached) }

func BenchmarkP(b *testing.B) {
	b.Run("A1", func(b *testing.B) {
		var c counter
		for b.Loop() {
			c.n.Add(1)
		}
	})
	b.Run("Next", func(b *testing.B) {
		g := cc(b)
		for b.Loop() {
			if _, err := g.Next(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Next1", func(b *testing.B) {
		g := generator(b, 1).(*uid.Cached)
		for b.Loop() {
			if _, err := g.Next(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("percpu", func(b *testing.B) {
		g := percpu.New(generator(b,0).(*uid.Cached))
		for b.Loop() {
			if _, err := g.Next(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Local", func(b *testing.B) {
		g := cc(b).Local()
		for b.Loop() {
			if _, err := g.Next(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("All", func(b *testing.B) {
		g := cc(b)
		n := 0
		b.ResetTimer()
		for _, err := range g.All(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n >= b.N {
				break
			}
		}
	})
	for _, k := range []int{64, 1024} {
		b.Run("N", func(b *testing.B) {
			g, ids := cc(b), make([]uid.ID, k)
			for b.Loop() {
				if _, err := g.NextN(ids); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ids)), "ns/uid")
		})
	}
	b.Run("A2", func(b *testing.B) {
		var c counter
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c.n.Add(1)
			}
		})
	})
	b.Run("Next2", func(b *testing.B) {
		g := cc(b)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := g.Next(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
	b.Run("percpu2", func(b *testing.B) {
		g := percpu.New(generator(b,0).(*uid.Cached))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := g.Next(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

package benchmarks

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// modes are the generators that are compared. The default layout holds 8,192 UIDs a second,
// and the default mode makes no more; so it is also shown with a sequence so wide that it
// never waits, which measures its code.
var modes = []struct {
	name   string
	layout string
	make   func(workerassign.Assigner, ...uid.Option) (uid.Generator, error)
}{
	{"Cached", "1-28-22-13", cached},
	{"Cached", "1-31-2-30", cached},
	{"Default", "1-31-2-30", standard},
	{"Default", "1-28-22-13", standard},
}

func cached(a workerassign.Assigner, opts ...uid.Option) (uid.Generator, error) {
	return uid.NewCached(context.Background(), a, opts...)
}

func standard(a workerassign.Assigner, opts ...uid.Option) (uid.Generator, error) {
	return uid.NewDefault(context.Background(), a, opts...)
}

// generator makes a generator that is closed when the benchmark ends.
func generator(b *testing.B, mode int) uid.Generator {
	b.Helper()
	layout, err := bitsalloc.ParseLayout(modes[mode].layout)
	if err != nil {
		b.Fatal(err)
	}
	workers := workerassign.NewFile(filepath.Join(b.TempDir(), "worker"))
	g, err := modes[mode].make(workers, uid.WithLayout(layout), uid.WithMaxBorrow(24*time.Hour))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { g.Close() })
	return g
}

// counter is the limit: an atomic counter alone on its cache lines.
type counter struct {
	_ cpu.CacheLinePad
	n atomic.Int64
	_ cpu.CacheLinePad
}

func BenchmarkSerial(b *testing.B) {
	b.Run("Limit/atomic.Add", func(b *testing.B) {
		var c counter
		for b.Loop() {
			c.n.Add(1)
		}
	})
	b.Run("Limit/time.Now", func(b *testing.B) {
		for b.Loop() {
			time.Now()
		}
	})
	for i, mode := range modes {
		b.Run(mode.name+"/"+mode.layout, func(b *testing.B) {
			g := generator(b, i)
			for b.Loop() {
				if _, err := g.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParallel(b *testing.B) {
	b.Run("Limit/atomic.Add", func(b *testing.B) {
		var c counter
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c.n.Add(1)
			}
		})
	})
	for i, mode := range modes {
		b.Run(mode.name+"/"+mode.layout, func(b *testing.B) {
			g := generator(b, i)
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
}

func BenchmarkBatch(b *testing.B) {
	for i, mode := range modes[:3] { // the fourth would wait for most of its time
		b.Run(mode.name+"/"+mode.layout, func(b *testing.B) {
			g, ids := generator(b, i), make([]uid.ID, 64)
			for b.Loop() {
				if _, err := g.NextN(ids); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ids)), "ns/uid")
		})
	}
}

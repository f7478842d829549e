package benchmarks

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/uid/percpu"
)

// Serial returns the subjects that run in one goroutine, with one UID per iteration. Each has its own
// loop, so that the loop contains only the measured call.
func Serial() []Subject {
	return []Subject{
		{Name: LimitAtomicAdd, Bench: func(b *testing.B) {
			var c atomicCounter
			for b.Loop() {
				c.n.Add(1)
			}
		}},
		{Name: LimitCall, Bench: func(b *testing.B) {
			var p localCounter
			for b.Loop() {
				if _, err := p.increment(); err != nil {
					b.Fatal(err)
				}
			}
		}},
		{Name: LimitTimeNow, Bench: func(b *testing.B) {
			var now time.Time
			for b.Loop() {
				now = time.Now()
			}
			runtime.KeepAlive(now)
		}},
		{Name: "Cached.Next", Limit: LimitAtomicAdd, MaxRatio: 1.25, Bench: func(b *testing.B) {
			g := newCached(b, StandardLayout)
			for b.Loop() {
				if _, err := g.Next(); err != nil {
					b.Fatal(err)
				}
			}
		}},
		{Name: "percpu.Next", Limit: LimitCall, MaxRatio: 4.0, Bench: func(b *testing.B) {
			g := percpu.New(newCached(b, StandardLayout))
			for b.Loop() {
				if _, err := g.Next(); err != nil {
					b.Fatal(err)
				}
			}
		}},
		{Name: "Local.Next", Limit: LimitCall, Bench: func(b *testing.B) {
			g := newCached(b, StandardLayout).Local()
			for b.Loop() {
				if _, err := g.Next(); err != nil {
					b.Fatal(err)
				}
			}
		}},
		{Name: "Cached.All", Limit: LimitCall, MaxRatio: 1.2, Bench: func(b *testing.B) {
			g, n := newCached(b, StandardLayout), 0
			b.ResetTimer()
			for _, err := range g.All(context.Background()) {
				if err != nil {
					b.Fatal(err)
				}
				if n++; n >= b.N {
					break
				}
			}
		}},
		{Name: "Default.Next/" + WideLayout, Limit: LimitTimeNow, MaxRatio: 0.85, Bench: func(b *testing.B) {
			g := newDefault(b, WideLayout)
			for b.Loop() {
				if _, err := g.Next(); err != nil {
					b.Fatal(err)
				}
			}
		}},
		{Name: SequenceNext, Limit: LimitAtomicAdd, MaxRatio: 1.3, Bench: func(b *testing.B) {
			s := newSequence(b, fast(), outage)
			for b.Loop() {
				if _, err := s.Next(); err != nil {
					b.Fatal(err)
				}
			}
		}},
		{Name: "peer:bwmarrin/snowflake", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			node := newSnowflake(b)
			for b.Loop() {
				node.Generate()
			}
		}},
		{Name: "peer:sony/sonyflake", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			sf := newSonyflake(b)
			for b.Loop() {
				if _, err := sf.NextID(); err != nil {
					b.Fatal(err)
				}
			}
		}},
		{Name: "peer:edwingeng/wuid", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			w := newWUID(b)
			for b.Loop() {
				w.Next()
			}
		}},
		{Name: "peer:rs/xid", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			for b.Loop() {
				xid.New()
			}
		}},
		{Name: "peer:google/uuid-v4", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			for b.Loop() {
				uuid.New()
			}
		}},
		{Name: "peer:google/uuid-v7", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			for b.Loop() {
				if _, err := uuid.NewV7(); err != nil {
					b.Fatal(err)
				}
			}
		}},
		{Name: "peer:oklog/ulid", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			for b.Loop() {
				ulid.Make()
			}
		}},
		{Name: "peer:segmentio/ksuid", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			for b.Loop() {
				ksuid.New()
			}
		}},
	}
}

// Batch returns the subjects that take many UIDs per call, in one goroutine. Their figures are per UID.
func Batch() []Subject {
	batch := func(size int, fill func(*testing.B) func([]uid.ID) (int, error)) func(*testing.B) {
		return func(b *testing.B) {
			take, ids := fill(b), make([]uid.ID, size)
			for b.Loop() {
				if _, err := take(ids); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/uid")
		}
	}
	cached := func(b *testing.B) func([]uid.ID) (int, error) { return newCached(b, StandardLayout).NextN }
	standard := func(b *testing.B) func([]uid.ID) (int, error) { return newDefault(b, WideLayout).NextN }
	return []Subject{
		{Name: "Cached.NextN/64", Limit: LimitCall, MaxRatio: 0.50, Bench: batch(64, cached)},
		{Name: "Cached.NextN/1024", Limit: LimitCall, MaxRatio: 0.30, Bench: batch(1024, cached)},
		{Name: "Default.NextN/64/" + WideLayout, Limit: LimitTimeNow, Bench: batch(64, standard)},
	}
}

package benchmarks

import (
	"sync/atomic"
	"testing"

	"github.com/bwmarrin/snowflake"
	"github.com/edwingeng/slog"
	"github.com/edwingeng/wuid/callback/wuid"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
	"github.com/sony/sonyflake"
	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/uid/percpu"
)

// atomicCounter is a limit: an atomic counter that is alone on its cache lines.
type atomicCounter struct {
	_ cpu.CacheLinePad
	n atomic.Int64
	_ cpu.CacheLinePad
}

// Parallel returns the subjects that run in GOMAXPROCS goroutines concurrently. Each has its own loop,
// as in Serial.
func Parallel() []Subject {
	return []Subject{
		{Name: LimitAtomicAdd, Bench: func(b *testing.B) {
			var c atomicCounter
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					c.n.Add(1)
				}
			})
		}},
		{Name: LimitCall, Bench: func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				p := new(localCounter)
				for pb.Next() {
					if _, err := p.increment(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}},
		{Name: "Cached.Next", Limit: LimitAtomicAdd, MaxRatio: 1.35, Bench: func(b *testing.B) {
			g := newCached(b, StandardLayout)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := g.Next(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}},
		{Name: "percpu.Next", Limit: LimitCall, MaxRatio: 5.0, Bench: func(b *testing.B) {
			g := percpu.New(newCached(b, StandardLayout))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := g.Next(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}},
		{Name: "Local.Next", Limit: LimitCall, Bench: func(b *testing.B) {
			c := newCached(b, StandardLayout)
			b.RunParallel(func(pb *testing.PB) {
				g := c.Local()
				for pb.Next() {
					if _, err := g.Next(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}},
		{Name: "Default.Next/" + WideLayout, Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			g := newDefault(b, WideLayout)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := g.Next(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}},
		{Name: SequenceNext, Limit: LimitAtomicAdd, MaxRatio: 1.4, Bench: sequenceParallel(fast, outage)},
		{Name: "peer:bwmarrin/snowflake", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			node := newSnowflake(b)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					node.Generate()
				}
			})
		}},
		{Name: "peer:sony/sonyflake", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			sf := newSonyflake(b)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := sf.NextID(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}},
		{Name: "peer:edwingeng/wuid", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			w := newWUID(b)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					w.Next()
				}
			})
		}},
		{Name: "peer:rs/xid", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					xid.New()
				}
			})
		}},
		{Name: "peer:google/uuid-v4", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					uuid.New()
				}
			})
		}},
		{Name: "peer:google/uuid-v7", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := uuid.NewV7(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}},
		{Name: "peer:oklog/ulid", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					ulid.Make()
				}
			})
		}},
		{Name: "peer:segmentio/ksuid", Limit: LimitAtomicAdd, Bench: func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					ksuid.New()
				}
			})
		}},
	}
}

// newWUID returns a generator created as in the README of edwingeng/wuid. A function provides its high
// bits.
func newWUID(b *testing.B) *wuid.WUID {
	w := wuid.NewWUID("benchmark", slog.NewDumbLogger())
	if err := w.LoadH28WithCallback(func() (int64, func(), error) { return 1, nil, nil }); err != nil {
		b.Fatal(err)
	}
	return w
}

// newSnowflake returns a generator created as in the README of bwmarrin/snowflake.
func newSnowflake(b *testing.B) *snowflake.Node {
	node, err := snowflake.NewNode(1)
	if err != nil {
		b.Fatal(err)
	}
	return node
}

// newSonyflake returns a generator created as in the README of sony/sonyflake, except for the machine
// ID. By default that comes from a private IP address, which a host may not have.
func newSonyflake(b *testing.B) *sonyflake.Sonyflake {
	sf, err := sonyflake.New(sonyflake.Settings{MachineID: func() (uint16, error) { return 1, nil }})
	if err != nil {
		b.Fatal(err)
	}
	return sf
}

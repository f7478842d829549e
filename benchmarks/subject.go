package benchmarks

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// A Subject is one thing that is measured.
type Subject struct {
	Name  string
	Bench func(*testing.B)

	// Limit names the subject of the same group that this one is compared with, and AtMost
	// is the ratio to it that it has to keep; 0 where there is none.
	Limit    string
	MaxRatio float64
}

// The names of the limits.
const (
	LimitAtomicAdd = "limit:atomic.Int64.Add"
	LimitTimeNow   = "limit:time.Now"
	LimitCall      = "limit:call"
)

// plain is the limit for what makes no atomic operation: a counter of one goroutine behind a call
// that is not inlined. An atomic add costs 5 ns on some CPUs and 2 ns on others of the same clock
// rate, so a ratio to it would say more about the CPU than about such code.
type localCounter struct {
	_ cpu.CacheLinePad
	n int64
	_ cpu.CacheLinePad
}

//go:noinline
func (p *localCounter) increment() (int64, error) {
	p.n++
	return p.n, nil
}

// Layouts: that of a new service, and one whose sequence is so wide that a generator makes
// all the UIDs of a benchmark within a second.
const (
	StandardLayout = "1-28-22-13"
	WideLayout     = "1-31-2-30"
)

// Options are the layout, and a bound on borrowing so far off that a benchmark measures
// taking UIDs and not the disk that keeps the worker IDs.
func Options(layout string) ([]uid.Option, error) {
	l, err := bitsalloc.ParseLayout(layout)
	if err != nil {
		return nil, err
	}
	return []uid.Option{uid.WithLayout(l), uid.WithMaxBorrow(365 * 24 * time.Hour)}, nil
}

// newCached makes a Cached generator that is closed when the benchmark ends.
func newCached(b *testing.B, layout string, more ...uid.Option) *uid.Cached {
	b.Helper()
	opts, err := Options(layout)
	if err != nil {
		b.Fatal(err)
	}
	c, err := uid.NewCached(context.Background(), newAssigner(b), append(opts, more...)...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
}

func newDefault(b *testing.B, layout string) *uid.Default {
	b.Helper()
	opts, err := Options(layout)
	if err != nil {
		b.Fatal(err)
	}
	d, err := uid.NewDefault(context.Background(), newAssigner(b), opts...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	return d
}

// workers assigns worker IDs from a file.
func newAssigner(b *testing.B) workerassign.Assigner {
	return workerassign.NewFile(filepath.Join(b.TempDir(), "worker"))
}

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

// A Subject is an operation that is measured.
type Subject struct {
	Name  string
	Bench func(*testing.B)

	// Limit is the name of the subject of the same group that this one is compared with, or "".
	// MaxRatio is the greatest allowed ratio of this subject's cost to that of the limit; 0 if
	// there is no bound.
	Limit    string
	MaxRatio float64
}

// The names of the limits.
const (
	LimitAtomicAdd = "limit:atomic.Int64.Add"
	LimitTimeNow   = "limit:time.Now"
	LimitCall      = "limit:call"
)

// localCounter is the limit for calls without an atomic operation: a counter of one goroutine, increased
// by a call that is not inlined. An atomic add takes 5 ns on some CPUs and 2 ns on others with the same
// clock rate, so for such calls a ratio to it would depend more on the CPU than on the code.
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

// The layouts: the one of a new service, and one whose sequence is so wide that all UIDs of a benchmark
// fit in one second.
const (
	StandardLayout = "1-28-22-13"
	WideLayout     = "1-31-2-30"
)

// Options returns options for the layout and for a borrow bound that no benchmark reaches, so that a
// benchmark measures taking UIDs, not the disk that stores the worker IDs.
func Options(layout string) ([]uid.Option, error) {
	l, err := bitsalloc.ParseLayout(layout)
	if err != nil {
		return nil, err
	}
	return []uid.Option{uid.WithLayout(l), uid.WithMaxBorrow(365 * 24 * time.Hour)}, nil
}

// newCached returns a Cached generator that is closed when the benchmark ends.
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

// newDefault returns a Default generator that is closed when the benchmark ends.
func newDefault(b *testing.B, layout string) *uid.Default {
	b.Helper()
	l, err := bitsalloc.ParseLayout(layout)
	if err != nil {
		b.Fatal(err)
	}
	d, err := uid.NewDefault(context.Background(), newAssigner(b), uid.WithLayout(l))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	return d
}

// newAssigner returns an assigner that takes worker IDs from a file.
func newAssigner(b *testing.B) workerassign.Assigner {
	return workerassign.NewFile(filepath.Join(b.TempDir(), "worker"))
}

package ringbuffer

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"
)

// newRing returns a ring without a padder. The index of its first run is start+1.
func newRing(cfg Config, start uint64) (*Ring, error) {
	r := new(Ring)
	return r, r.init(cfg, start)
}

// countingProvider is a provider of runs of equal length that follow one another without gaps, from 0
// on. It panics if two goroutines call it concurrently.
type countingProvider struct {
	length int64
	next   atomic.Int64
	calls  atomic.Int64
	busy   atomic.Bool
}

func (p *countingProvider) NextRun(context.Context) (Run, error) {
	if !p.busy.CompareAndSwap(false, true) {
		panic("bug: the provider is called concurrently")
	}
	defer p.busy.Store(false)
	p.calls.Add(1)
	first := p.next.Load()
	p.next.Store(first + p.length)
	return Run{First: first, Length: p.length}, nil
}

// failingProvider is a countingProvider that fails while fails is true.
type failingProvider struct {
	countingProvider
	fails atomic.Bool
}

func (p *failingProvider) NextRun(ctx context.Context) (Run, error) {
	if p.fails.Load() {
		return Run{}, errors.New("boom")
	}
	return p.countingProvider.NextRun(ctx)
}

// blockingProvider is a countingProvider whose calls, after the first ones, block until release is
// closed. It ignores its context.
type blockingProvider struct {
	countingProvider
	nonBlockingCalls int64 // the number of calls that do not block
	blocked          atomic.Bool
	release          chan struct{}
}

func (p *blockingProvider) NextRun(ctx context.Context) (Run, error) {
	if p.calls.Load() >= p.nonBlockingCalls {
		p.blocked.Store(true)
		<-p.release
		p.blocked.Store(false)
	}
	return p.countingProvider.NextRun(ctx)
}

// providerFunc is a function that implements Provider.
type providerFunc func(ctx context.Context) (Run, error)

func (f providerFunc) NextRun(ctx context.Context) (Run, error) { return f(ctx) }

// discardLogger returns a logger that discards all records.
func discardLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// handlerFunc is a function that implements slog.Handler.
type handlerFunc func(r slog.Record)

func (f handlerFunc) Enabled(context.Context, slog.Level) bool      { return true }
func (f handlerFunc) Handle(_ context.Context, r slog.Record) error { f(r); return nil }
func (f handlerFunc) WithAttrs([]slog.Attr) slog.Handler            { return f }
func (f handlerFunc) WithGroup(string) slog.Handler                 { return f }

// newTestRing returns a ring that is closed at the end of the test. If cfg has no logger, the ring logs
// nothing.
func newTestRing(tb testing.TB, cfg Config) *Ring {
	tb.Helper()
	if cfg.Logger == nil {
		cfg.Logger = discardLogger()
	}
	r, err := New(context.Background(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.Close() })
	return r
}

// newRingWithoutProvider returns a ring without a provider. The index of its first run is start+1.
func newRingWithoutProvider(tb testing.TB, capacity int, start uint64) *Ring {
	tb.Helper()
	r, err := newRing(Config{Capacity: capacity, TakePolicy: Fail, Logger: discardLogger()}, start)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.Close() })
	return r
}

// mustPut puts a run and fails the test if Put fails.
func mustPut(tb testing.TB, r *Ring, first, length int64) {
	tb.Helper()
	if err := r.Put(context.Background(), Run{First: first, Length: length}); err != nil {
		tb.Fatal(err)
	}
}

// mustTake takes one integer and fails the test unless it is want.
func mustTake(tb testing.TB, r *Ring, want int64) {
	tb.Helper()
	got, err := r.Take(context.Background())
	if err != nil || got != want {
		tb.Fatalf("Take() = %d, %v; want %d", got, err, want)
	}
}

// flushLog waits until all log records of the ring are written.
func flushLog(tb testing.TB, r *Ring) {
	tb.Helper()
	if !r.log.Flush(time.Minute) {
		tb.Fatal("the log was not written within a minute")
	}
}

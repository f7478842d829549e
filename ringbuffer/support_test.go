package ringbuffer

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"
)

// counting is a provider of runs of one length that lie end to end from 0 on.
type countingProvider struct {
	length int64
	next   atomic.Int64
	calls  atomic.Int64
	busy   atomic.Bool
}

func (p *countingProvider) NextRun(context.Context) (Run, error) {
	if !p.busy.CompareAndSwap(false, true) {
		panic("bug: the provider is called twice at a time")
	}
	defer p.busy.Store(false)
	p.calls.Add(1)
	first := p.next.Load()
	p.next.Store(first + p.length)
	return Run{First: first, Length: p.length}, nil
}

// failing is a provider that works until it is told to fail.
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

// blocking is a provider whose calls after the first few block until they are released, whatever
// their context says.
type blockingProvider struct {
	countingProvider
	nonBlockingCalls int64 // how many calls do not block
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

// providerFunc makes a provider of a function.
type providerFunc func(ctx context.Context) (Run, error)

func (f providerFunc) NextRun(ctx context.Context) (Run, error) { return f(ctx) }

// silent is a logger that writes nothing.
func discardLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// handlerFunc is a log handler that is a function.
type handlerFunc func(r slog.Record)

func (f handlerFunc) Enabled(context.Context, slog.Level) bool      { return true }
func (f handlerFunc) Handle(_ context.Context, r slog.Record) error { f(r); return nil }
func (f handlerFunc) WithAttrs([]slog.Attr) slog.Handler            { return f }
func (f handlerFunc) WithGroup(string) slog.Handler                 { return f }

// start makes a ring that is closed at the end of the test. Without a logger it is silent.
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

// bare makes a ring without a provider whose run numbers begin after first.
func newRingWithoutProvider(tb testing.TB, capacity int, first uint64) *Ring {
	tb.Helper()
	r, err := newRing(Config{Capacity: capacity, TakePolicy: Fail, Logger: discardLogger()}, first)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.Close() })
	return r
}

// put puts a run and fails the test if it cannot.
func mustPut(tb testing.TB, r *Ring, first, length int64) {
	tb.Helper()
	if err := r.Put(context.Background(), Run{First: first, Length: length}); err != nil {
		tb.Fatal(err)
	}
}

// take takes one integer and fails the test unless it is want.
func mustTake(tb testing.TB, r *Ring, want int64) {
	tb.Helper()
	got, err := r.Take(context.Background())
	if err != nil || got != want {
		tb.Fatalf("Take() = %d, %v; want %d", got, err, want)
	}
}

// eventually waits for a condition that other goroutines bring about.
func eventually(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("waited 20 s in vain until %s", what)
		}
	}
}

// flush waits until what the ring logs is written.
func flushLog(tb testing.TB, r *Ring) {
	tb.Helper()
	if !r.log.Flush(time.Minute) {
		tb.Fatal("the log was not written within a minute")
	}
}

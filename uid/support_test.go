package uid

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/workerassign"
)

// layout makes a layout that is known to be one.
func layout(tb testing.TB, time, worker, sequence int) bitsalloc.Layout {
	tb.Helper()
	l, err := bitsalloc.New(time, worker, sequence)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// mustFormat returns the format of options that must be valid.
func mustFormat(tb testing.TB, opts ...Option) Format {
	tb.Helper()
	f, err := NewFormat(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// bubbleEpoch lies before the time at which a synctest bubble starts.
var bubbleEpoch = time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 500_000_000, time.UTC)

// silent keeps a test's generators from logging what the test brings about.
func discardLog() Option { return WithLogger(slog.New(slog.DiscardHandler)) }

// small are options of a generator that is at its bound soon: 16 UIDs a second, 10 s ahead.
func smallOptions(t *testing.T, more ...Option) []Option {
	return append([]Option{WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 20, 4)), WithBoostPower(1),
		WithMaxBorrow(10 * time.Second), WithReserveAhead(2 * time.Second)}, more...)
}

func newCached(tb testing.TB, a workerassign.Assigner, opts ...Option) *Cached {
	tb.Helper()
	c, err := NewCached(context.Background(), a, append([]Option{discardLog()}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

func newDefault(tb testing.TB, a workerassign.Assigner, opts ...Option) *Default {
	tb.Helper()
	d, err := NewDefault(context.Background(), a, append([]Option{discardLog()}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { d.Close() })
	return d
}

// flush waits until what a Cached generator logged has been written.
func flushLog(tb testing.TB, c *Cached) {
	tb.Helper()
	if !c.cfg.log.Flush(time.Minute) {
		tb.Fatal("the log is not written within a minute")
	}
}

// next takes a UID and fails the test if there is none.
func next(tb testing.TB, g Generator) ID {
	tb.Helper()
	id, err := g.Next()
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// modes are the constructors, for tests that both generators must pass.
var modes = []struct {
	name string
	make func(ctx context.Context, a workerassign.Assigner, opts ...Option) (Generator, error)
}{
	{"Cached", func(ctx context.Context, a workerassign.Assigner, opts ...Option) (Generator, error) {
		c, err := NewCached(ctx, a, append([]Option{discardLog()}, opts...)...)
		if err != nil {
			return nil, err
		}
		return c, nil
	}},
	{"Default", func(ctx context.Context, a workerassign.Assigner, opts ...Option) (Generator, error) {
		d, err := NewDefault(ctx, a, append([]Option{discardLog()}, opts...)...)
		if err != nil {
			return nil, err
		}
		return d, nil
	}},
}

// policies are the take policies that come with the library.
var takePolicies = []TakePolicy{CallerPads, Wait, Fail}

// stats returns the snapshot of either generator.
func stats(g Generator) Stats { return g.(interface{ Stats() Stats }).Stats() }

// refuses checks that neither constructor makes a generator, that the error is what it
// should be, and whether a worker ID was spent on it.
func expectBothRefuse(t *testing.T, a *disposableAssigner, want error, text string, spent int64, opts ...Option) {
	t.Helper()
	for _, mode := range modes {
		before := a.lastID.Load()
		expectConstructorError(t, mode.name, mode.make, a, want, text, opts...)
		if got := a.lastID.Load() - before; got != spent {
			t.Errorf("%s: %d worker IDs were spent, want %d", mode.name, got, spent)
		}
	}
	if released := a.released.Load(); released != a.lastID.Load() {
		t.Errorf("%d leases were given back of %d", released, a.lastID.Load())
	}
}

// refused checks that a constructor refuses.
func expectConstructorError(t *testing.T, name string, construct func(context.Context, workerassign.Assigner, ...Option) (Generator, error),
	a workerassign.Assigner, want error, text string, opts ...Option) {
	t.Helper()
	g, err := construct(context.Background(), a, opts...)
	if g != nil || !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: the constructor returned %v, %v; want %v with %q", name, g, err, want, text)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "uid: ") {
		t.Errorf("%s: the error does not say whose it is: %v", name, err)
	}
}

// live takes UIDs for a while, up to 500 a second, and checks that they differ; it returns how
// many there were, how many calls failed, and the last error.
func takeFor(t *testing.T, c *Cached, d time.Duration) (got, failed int, last error) {
	t.Helper()
	seen := make(map[ID]bool)
	for begin := time.Now(); time.Since(begin) < d; {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		id, err := c.NextContext(ctx)
		cancel()
		if err != nil {
			failed, last = failed+1, err
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if seen[id] {
			t.Fatalf("%v came twice", c.Parse(id))
		}
		seen[id] = true
		got++
		time.Sleep(2 * time.Millisecond)
	}
	return got, failed, last
}

// handlerFunc is a log handler that calls a function for each record, under no lock of its own.
type handlerFunc func(slog.Record)

func (f handlerFunc) Enabled(context.Context, slog.Level) bool { return true }

func (f handlerFunc) Handle(_ context.Context, r slog.Record) error {
	f(r)
	return nil
}

func (f handlerFunc) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f handlerFunc) WithGroup(string) slog.Handler { return f }

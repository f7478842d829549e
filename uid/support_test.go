package uid

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/workerassign"
)

// layout returns a layout. The widths must be valid.
func layout(tb testing.TB, time, worker, sequence int) bitsalloc.Layout {
	tb.Helper()
	l, err := bitsalloc.New(time, worker, sequence)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// mustFormat returns the format of options, which must be valid.
func mustFormat(tb testing.TB, opts ...any) Format {
	tb.Helper()
	f, err := NewFormat(accepted[FormatOption](opts)...)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// bubbleEpoch is before the time at which a synctest bubble starts.
var bubbleEpoch = time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)

// noon is noon and half a second: in the middle of a time unit of a second.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 500_000_000, time.UTC)

// discardLog makes a generator log nothing, for tests that cause log records on purpose.
func discardLog() CommonOption { return WithLogger(slog.New(slog.DiscardHandler)) }

// accepted returns those of options of any kind that a constructor accepts.
func accepted[O any](opts []any) (list []O) {
	for _, o := range opts {
		if option, ok := o.(O); ok || o == nil {
			list = append(list, option)
		}
	}
	return list
}

// newTestCore is newCore with options of any kind, which are not compared with each other.
func newTestCore(ctx context.Context, a workerassign.Assigner, opts ...any) (*core, error) {
	cfg, err := newConfig(opts, func(o any, c *config) {
		switch o := o.(type) {
		case Option:
			o.applyCached(c)
		case DefaultOption:
			o.applyDefault(c)
		}
	}, false)
	if err != nil {
		return nil, err
	}
	return newCore(ctx, a, cfg)
}

// smallOptions are the options of a generator that reaches its borrow limit soon: 16 UIDs per second,
// at most 10 s ahead.
func smallOptions(t *testing.T, more ...any) []any {
	return append([]any{WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 20, 4)), WithBoostPower(1),
		WithMaxBorrow(10 * time.Second), WithReserveAhead(2 * time.Second)}, more...)
}

func newCached(tb testing.TB, a workerassign.Assigner, opts ...any) *Cached {
	tb.Helper()
	c, err := NewCached(context.Background(), a, accepted[Option](append([]any{discardLog()}, opts...))...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

func newDefault(tb testing.TB, a workerassign.Assigner, opts ...any) *Default {
	tb.Helper()
	d, err := NewDefault(context.Background(), a, accepted[DefaultOption](append([]any{discardLog()}, opts...))...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { d.Close() })
	return d
}

// newImpatientDefault is NewDefault with other pauses.
func newImpatientDefault(a workerassign.Assigner, hooks leasing.Hooks, opts ...any) (*Default, error) {
	c, err := newTestCore(context.Background(), a, append([]any{discardLog()}, opts...)...)
	if err != nil {
		return nil, err
	}
	c.leases.SetHooks(hooks)
	d := newDefaultOn(c)
	c.leases.Go(d.keepLease)
	return d, nil
}

// newIdleDefault returns a Default generator that does not extend its lease while no UIDs are taken, as one that could not for a while.
func newIdleDefault(tb testing.TB, a workerassign.Assigner, opts ...any) *Default {
	tb.Helper()
	c, err := newTestCore(context.Background(), a, append([]any{discardLog()}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	d := newDefaultOn(c)
	tb.Cleanup(func() { d.Close() })
	return d
}

// flushLog waits until everything that a generator logged has been written, but for what its ring logged.
func flushLog(tb testing.TB, g Generator) {
	tb.Helper()
	var c *core
	switch g := g.(type) {
	case *Cached:
		c = g.core
	case *Default:
		c = g.core
	}
	if !c.cfg.log.Flush(time.Minute) {
		tb.Fatal("the log was not written within a minute")
	}
}

// next takes a UID, and fails the test if there is none.
func next(tb testing.TB, g Generator) ID {
	tb.Helper()
	id, err := g.Next()
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// modes are the constructors, for tests of both generators.
var modes = []struct {
	name string
	make func(ctx context.Context, a workerassign.Assigner, opts ...any) (Generator, error)
}{
	{"Cached", func(ctx context.Context, a workerassign.Assigner, opts ...any) (Generator, error) {
		c, err := NewCached(ctx, a, accepted[Option](append([]any{discardLog()}, opts...))...)
		if err != nil {
			return nil, err
		}
		return c, nil
	}},
	{"Default", func(ctx context.Context, a workerassign.Assigner, opts ...any) (Generator, error) {
		d, err := NewDefault(ctx, a, accepted[DefaultOption](append([]any{discardLog()}, opts...))...)
		if err != nil {
			return nil, err
		}
		return d, nil
	}},
}

// takePolicies are the take policies of the library.
var takePolicies = []TakePolicy{CallerPads, Wait, Fail}

// expectBothRefuse checks that both constructors return the wanted error and no generator, and how many
// worker IDs were used up. All of these must have been released.
func expectBothRefuse(t *testing.T, a *disposableAssigner, want error, text string, usedUp int64, opts ...any) {
	t.Helper()
	for _, mode := range modes {
		before := a.lastID.Load()
		expectConstructorError(t, mode.name, mode.make, a, want, text, opts...)
		if got := a.lastID.Load() - before; got != usedUp {
			t.Errorf("%s: %d worker IDs were used up, want %d", mode.name, got, usedUp)
		}
	}
	if released := a.released.Load(); released != a.lastID.Load() {
		t.Errorf("%d leases were released, want %d", released, a.lastID.Load())
	}
}

// expectConstructorError checks that a constructor returns no generator, and an error that wraps want,
// contains text and has the package's prefix.
func expectConstructorError(t *testing.T, name string, newGenerator func(context.Context, workerassign.Assigner, ...any) (Generator, error),
	a workerassign.Assigner, want error, text string, opts ...any) {
	t.Helper()
	g, err := newGenerator(context.Background(), a, opts...)
	if g != nil || !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: the constructor returned %v, %v; want %v with %q", name, g, err, want, text)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "uid: ") {
		t.Errorf("%s: the error %q does not start with \"uid: \"", name, err)
	}
}

// takeFor takes UIDs for a time, at most 500 per second, and checks that they differ. It returns how
// many it took, how many calls failed, and the last error.
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
			t.Fatalf("%v was returned twice", c.Parse(id))
		}
		seen[id] = true
		got++
		time.Sleep(2 * time.Millisecond)
	}
	return got, failed, last
}

// logInto makes a generator write its log records to w.
func logInto(w io.Writer) CommonOption { return WithLogger(slog.New(slog.NewTextHandler(w, nil))) }

// logTo makes a generator call f for each log record.
func logTo(f func(slog.Record)) CommonOption { return WithLogger(slog.New(handlerFunc(f))) }

// handlerFunc is a log handler that calls a function for each record. It holds no lock.
type handlerFunc func(slog.Record)

func (f handlerFunc) Enabled(context.Context, slog.Level) bool { return true }

func (f handlerFunc) Handle(_ context.Context, r slog.Record) error {
	f(r)
	return nil
}

func (f handlerFunc) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f handlerFunc) WithGroup(string) slog.Handler { return f }

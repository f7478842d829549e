package uid

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/workerassign"
)

// numbers is an assigner that never gives a worker ID twice, as the disposable ones do.
type numbers struct {
	next     atomic.Int64 // the last one given
	released atomic.Int64
	fail     atomic.Pointer[error] // Assign returns it, where it is set
}

func (a *numbers) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	if err := a.fail.Load(); err != nil {
		return nil, *err
	}
	return &numbered{numbers: a, id: a.next.Add(1)}, nil
}

func (a *numbers) break_(err error) { a.fail.Store(&err) }
func (a *numbers) mend()            { a.fail.Store(nil) }

type numbered struct {
	*numbers
	id int64
}

func (l *numbered) WorkerID() int64      { return l.id }
func (l *numbered) NotBefore() time.Time { return time.Time{} }
func (l *numbered) Reserve(context.Context, time.Time) (time.Time, error) {
	return workerassign.Unbounded(), nil
}
func (l *numbered) Remaining(most int64) (remaining, all int64) { return max(most-l.id, 0), most }
func (l *numbered) Release(context.Context, time.Time) error {
	l.released.Add(1)
	return nil
}

// spans is an assigner of one worker ID over and over, in disjoint spans of time that it
// grants in steps, as a store that recycles worker IDs does. It keeps what it granted.
type spans struct {
	mu      sync.Mutex
	granted time.Time // no unit at or after it was granted to anybody
	grants  int
	fail    error // Reserve returns it, where it is set
}

func (a *spans) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &span{spans: a, from: a.granted}, nil
}

func (a *spans) breakStore(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail = err
}

type span struct {
	*spans
	from time.Time
}

func (l *span) WorkerID() int64      { return 7 }
func (l *span) NotBefore() time.Time { return l.from }
func (l *span) Reserve(_ context.Context, until time.Time) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return time.Time{}, l.fail
	}
	l.grants++
	if until.After(l.granted) {
		l.granted = until
	}
	return l.granted, nil
}
func (l *span) Release(context.Context, time.Time) error { return nil }

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

// silent keeps a test's generators from logging what the test brings about.
func silent() Option { return WithLogger(slog.New(slog.DiscardHandler)) }

func newCached(tb testing.TB, a workerassign.Assigner, opts ...Option) *Cached {
	tb.Helper()
	c, err := NewCached(context.Background(), a, append([]Option{silent()}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

func newDefault(tb testing.TB, a workerassign.Assigner, opts ...Option) *Default {
	tb.Helper()
	d, err := NewDefault(context.Background(), a, append([]Option{silent()}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { d.Close() })
	return d
}

// flush waits until what a Cached generator logged has been written.
func flush(tb testing.TB, c *Cached) {
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
		c, err := NewCached(ctx, a, append([]Option{silent()}, opts...)...)
		if err != nil {
			return nil, err
		}
		return c, nil
	}},
	{"Default", func(ctx context.Context, a workerassign.Assigner, opts ...Option) (Generator, error) {
		d, err := NewDefault(ctx, a, append([]Option{silent()}, opts...)...)
		if err != nil {
			return nil, err
		}
		return d, nil
	}},
}

// stats returns the snapshot of either generator.
func stats(g Generator) Stats { return g.(interface{ Stats() Stats }).Stats() }

// takers are the ways to take UIDs of a generator: each returns a function for one
// goroutine that fills a slice from the front.
func takers(g Generator) []func() func([]ID) (int, error) {
	ways := []func() func([]ID) (int, error){
		func() func([]ID) (int, error) { return one(g.Next) },
		func() func([]ID) (int, error) { return g.NextN },
	}
	if c, ok := g.(*Cached); ok {
		ways = append(ways,
			func() func([]ID) (int, error) { return one(c.Local().Next) },
			func() func([]ID) (int, error) { return c.loop },
		)
	}
	return ways
}

// one makes of a taker of one UID one of slices.
func one(next func() (ID, error)) func([]ID) (int, error) {
	return func(dst []ID) (int, error) {
		for n := range dst {
			id, err := next()
			if err != nil {
				return n, err
			}
			dst[n] = id
		}
		return len(dst), nil
	}
}

// loop takes UIDs by the iterator.
func (c *Cached) loop(dst []ID) (n int, err error) {
	for id, err := range c.All(context.Background()) {
		if err != nil {
			return n, err
		}
		dst[n] = id
		if n++; n == len(dst) {
			break
		}
	}
	return n, nil
}

// hammer takes total UIDs or a few more with so many goroutines, in all ways mixed, and
// checks exactly that they all differ, and of each goroutine's that they rise where the
// generator promises it, and lie within the layout.
func hammer(t *testing.T, g Generator, goroutines int, total int64, rising bool) {
	t.Helper()
	var (
		seen uniq.Set
		got  atomic.Int64
		all  sync.WaitGroup
		l    = g.(interface{ Format() Format }).Format().Layout()
		top  = l.AllocateUnchecked(l.MaxDelta(), l.MaxWorkerID(), l.MaxSequence())
		ways = takers(g)
	)
	for n := range goroutines {
		all.Go(func() {
			w, batch, last := seen.Writer(), make([]ID, 1+n*7), ID(-1)
			take := ways[n%len(ways)]()
			for got.Load() < total {
				taken := 0
				for range 64 { // so that the shared counter is seldom touched
					n, err := take(batch)
					if err != nil && !errors.Is(err, ErrEmpty) {
						t.Errorf("took %d, then %v", n, err)
						return
					}
					if n == 0 {
						runtime.Gosched()
					}
					for _, id := range batch[:n] {
						if int64(id) < 0 || int64(id) > top {
							t.Errorf("%d does not fit the layout %v", id, l)
							return
						}
						if !w.Add(int64(id)) {
							t.Errorf("%d (%v) was handed out twice", id, g.Parse(id))
							return
						}
						if rising && id <= last {
							t.Errorf("%d came after %d", id, last)
							return
						}
						last = id
					}
					taken += n
				}
				got.Add(int64(taken))
			}
		})
	}
	all.Wait()
	if n := seen.Len(); n != got.Load() {
		t.Errorf("%d UIDs are distinct of %d", n, got.Load())
	}
	// What is claimed in spans is issued, taken or not.
	if st := stats(g); st.Issued < uint64(got.Load()) || len(ways) == 2 && st.Issued != uint64(got.Load()) {
		t.Errorf("Stats().Issued = %d, want %d", st.Issued, got.Load())
	}
}

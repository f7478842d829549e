package segment_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// load counts the calls of a source that takes some time for each: per second, and at the same time.
type load struct {
	latency time.Duration

	mu        sync.Mutex
	begin     time.Time
	perSecond map[int]int // since begin
	running   int
	most      int // running at the same time
}

func newLoad(latency time.Duration) *load {
	return &load{latency: latency, begin: time.Now(), perSecond: map[int]int{}}
}

// call counts a call that takes the latency, unless it fails at once.
func (l *load) call(ctx context.Context) {
	l.mu.Lock()
	l.perSecond[int(time.Since(l.begin)/time.Second)]++
	l.running++
	l.most = max(l.most, l.running)
	l.mu.Unlock()
	select {
	case <-time.After(l.latency):
	case <-ctx.Done():
	}
	l.mu.Lock()
	l.running--
	l.mu.Unlock()
}

// peak returns the most calls in one second between two times, and forgets all counts.
func (l *load) peak(from, to time.Time) (most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for second, n := range l.perSecond {
		if at := l.begin.Add(time.Duration(second) * time.Second); !at.Before(from) && at.Before(to) {
			most = max(most, n)
		}
	}
	return most
}

// records collects log records.
type records struct {
	mu   sync.Mutex
	text strings.Builder
	n    int
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	return r.text.Write(p)
}

func (r *records) reset() (n int, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, text = r.n, r.text.String()
	r.n = 0
	r.text.Reset()
	return n, text
}

func (r *records) option() segment.Option {
	return segment.WithLogger(slog.New(slog.NewTextHandler(r, nil)))
}

// manyTags returns 2000, or fewer with the race detector, which is slow, and in short tests.
func manyTags() int {
	if testkit.Race || testing.Short() {
		return 150
	}
	return 2000
}

// While a store is down, thousands of tags together send at most a few requests per second, and write a few log
// records. When it is back, all have numbers within three seconds, and it gets at most 16 requests at a
// time.
func TestTagsOutageOfThousands(t *testing.T) {
	oneThread(t)
	const latency = 5 * time.Millisecond
	count, outage := manyTags(), 10*time.Minute
	if testkit.Race || testing.Short() {
		outage = 2 * time.Minute
	}
	for _, how := range []string{"down", "hangs"} {
		for _, stripeCount := range []int{1, 3} {
			if stripeCount > 1 == (how == "hangs") && !testkit.IsFull() {
				continue
			}
			t.Run(fmt.Sprintf("%d sources/%s", stripeCount, how), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					calls := newLoad(latency)
					g, stores := stripesWith(stripeCount, func(ctx context.Context, _ segment.Request) error { calls.call(ctx); return nil })
					create(t, g, "any", segment.TagConfig{})
					var log records
					tags := newTags(t, g, log.option(), segment.WithCreate(segment.TagConfig{Step: 4}), segment.WithStepPolicy(segment.FixedStep{}),
						segment.WithMaxWait(10*time.Second))
					use := func() (failed int64) {
						var failures atomic.Int64
						var wg sync.WaitGroup
						for n := range count {
							wg.Go(func() {
								if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil {
									failures.Add(1)
								}
							})
						}
						wg.Wait()
						return failures.Load()
					}
					if n := use(); n != 0 {
						t.Fatalf("%d of %d tags have no number", n, count)
					}
					time.Sleep(time.Minute)
					if n, text := log.reset(); n != 0 {
						t.Errorf("%d records without a failure:\n%s", n, text)
					}
					for _, s := range stores {
						if how == "down" {
							s.Kill()
						} else {
							s.Pause()
						}
					}
					begin := time.Now()
					for range 8 {
						use() // what is in memory; so all need a range
					}
					for time.Since(begin) < outage {
						use()
						time.Sleep(time.Minute)
					}
					// At first the pauses are short.
					if n, most := calls.peak(begin.Add(3*time.Second), time.Now()), stripeCount*16; n == 0 || n > most {
						t.Errorf("up to %d requests per second during the outage, want 1 to %d", n, most)
					}
					if n := calls.peak(begin, time.Now()); n > stripeCount*8*16 {
						t.Errorf("up to %d requests per second when the outage began", n)
					}
					if n, text := log.reset(); n < stripeCount || n > 2*stripeCount {
						t.Errorf("%d log records in the outage, want one for each source:\n%.2000s", n, text)
					}
					for _, s := range stores {
						s.Start()
						s.Resume()
					}
					back := time.Now()
					if n := use(); n != 0 {
						t.Errorf("%d of %d tags have no number after the outage", n, count)
					}
					if took := time.Since(back); took > 3*time.Second {
						t.Errorf("the tags had numbers %v after the end of the outage, want 3s", took)
					}
					synctest.Wait()
					if calls.most > stripeCount*16 {
						t.Errorf("%d requests at a time, want at most 16 for each of %d sources", calls.most, stripeCount)
					}
					if n, text := log.reset(); n < stripeCount || n > 2*stripeCount || !strings.Contains(text, "works again") || !strings.Contains(text, "failures=") {
						t.Errorf("%d log records after the outage, want one for each source:\n%.2000s", n, text)
					}
				})
			})
		}
	}
}

// Thousands of tags that are used for the first time while the store is down send as few requests as later.
func TestTagsStartInOutage(t *testing.T) {
	count := manyTags()
	synctest.Test(t, func(t *testing.T) {
		calls := newLoad(time.Millisecond)
		m := segmenttest.NewMemory()
		var log records
		tags := newTags(t, hookedSource{m, func(ctx context.Context, _ segment.Request) error { calls.call(ctx); return nil }}, log.option(),
			segment.WithCreate(segment.TagConfig{}))
		m.Kill()
		begin := time.Now()
		for time.Since(begin) < 15*time.Second {
			var wg sync.WaitGroup
			for n := range count {
				wg.Go(func() {
					_, err := tags.Next(fmt.Sprint("tag", n))
					var empty *segment.EmptyError
					if !errors.As(err, &empty) || !errors.Is(err, segmenttest.ErrDown) || empty.Since.IsZero() || empty.Tries == 0 {
						t.Errorf("Next = %v; want ErrEmpty and what has failed since when", err)
					}
				})
			}
			wg.Wait()
			if t.Failed() {
				return
			}
		}
		if n := calls.peak(begin.Add(3*time.Second), time.Now()); n == 0 || n > 16 {
			t.Errorf("up to %d requests per second, want 1 to 16", n)
		}
		if n, text := log.reset(); n != 1 {
			t.Errorf("%d log records, want one:\n%.2000s", n, text)
		}
		m.Start()
		var wg sync.WaitGroup
		begin = time.Now()
		for n := range count {
			wg.Go(func() {
				if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil {
					t.Errorf("Next = %v", err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("the tags had numbers %v after the end of the outage", took)
		}
	})
}

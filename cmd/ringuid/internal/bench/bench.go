// Package bench measures on this machine what a UID costs, next to an atomic add, which no shared counter can be faster than.
package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/uid/percpu"
	"github.com/ringuid/ringuid/workerassign"
)

// Limit is the name of the subject that the others are compared with.
const Limit = "atomic.Int64.Add"

// A Subject is a call that is measured.
type Subject struct {
	Name string
	// goroutine returns what one goroutine executes: a function that makes n calls.
	goroutine func() func(n int) error
}

// A Result is the cost of a call in nanoseconds: the median of all rounds.
type Result struct {
	Name       string  `json:"name"`
	Goroutines int     `json:"goroutines"`
	Nanos      float64 `json:"ns"`
	Ratio      float64 `json:"ratio"` // to Limit with as many goroutines
}

// Config says how to measure.
type Config struct {
	Rounds     int           // at least 1
	Time       time.Duration // of one measurement, more than 0
	Goroutines []int         // each at least 1
}

// chunk is how many calls are made between two looks at the clock.
const chunk = 2048

// generators are generators of each kind, whose UIDs nobody uses.
type generators struct {
	cached  *uid.Cached
	byDef   *uid.Default
	perCPU  *percpu.Generator
	counter atomic.Int64
	closers []func() error
}

// newGenerators returns generators whose sequence is so wide that they never wait, with worker IDs of a file in a directory.
func newGenerators(ctx context.Context, directory string) (*generators, error) {
	layout, err := bitsalloc.ParseLayout("1-31-2-30")
	if err != nil {
		return nil, err
	}
	workers := workerassign.NewFile(filepath.Join(directory, "worker"))
	g := &generators{}
	if g.cached, err = uid.NewCached(ctx, workers, uid.WithLayout(layout)); err != nil {
		return nil, err
	}
	g.closers = append(g.closers, g.cached.Close)
	if g.byDef, err = uid.NewDefault(ctx, workers, uid.WithLayout(layout)); err != nil {
		g.close()
		return nil, err
	}
	g.closers = append(g.closers, g.byDef.Close)
	g.perCPU = percpu.New(g.cached)
	return g, nil
}

func (g *generators) close() {
	for _, c := range g.closers {
		c()
	}
}

// subjects returns what is measured, the limit first.
func (g *generators) subjects() []Subject {
	next := func(take func() (uid.ID, error)) func() func(int) error {
		return func() func(int) error {
			return func(n int) error {
				for range n {
					if _, err := take(); err != nil {
						return err
					}
				}
				return nil
			}
		}
	}
	return []Subject{
		{Limit, func() func(int) error {
			return func(n int) error {
				for range n {
					g.counter.Add(1)
				}
				return nil
			}
		}},
		{"Cached.Next", func() func(int) error { // not by a function value, so that it is inlined
			return func(n int) error {
				for range n {
					if _, err := g.cached.Next(); err != nil {
						return err
					}
				}
				return nil
			}
		}},
		{"Cached.NextN(1024), per UID", func() func(int) error {
			ids := make([]uid.ID, 1024)
			return func(n int) error {
				for ; n > 0; n -= len(ids) {
					if _, err := g.cached.NextN(ids); err != nil {
						return err
					}
				}
				return nil
			}
		}},
		{"Local.Next", func() func(int) error {
			l := g.cached.Local()
			return func(n int) error {
				for range n {
					if _, err := l.Next(); err != nil {
						return err
					}
				}
				return nil
			}
		}},
		{"percpu.Next", next(g.perCPU.Next)},
		{"Default.Next", next(g.byDef.Next)},
		{"time.Now", func() func(int) error {
			return func(n int) error {
				var latest time.Time
				for range n {
					latest = time.Now()
				}
				if latest.IsZero() {
					return fmt.Errorf("bench: the clock shows the zero time")
				}
				return nil
			}
		}},
	}
}

// Run measures all subjects, in rounds, so that a change of the machine's load affects all of them. It calls progress
// after each measurement with the number of measurements that are done, and that there are. It blocks until all are done, or until
// ctx ends; then it returns an error that wraps the cause.
func Run(ctx context.Context, c Config, progress func(done, total int)) ([]Result, error) {
	directory, err := os.MkdirTemp("", "ringuid-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	g, err := newGenerators(ctx, directory)
	if err != nil {
		return nil, err
	}
	defer g.close()
	subjects := g.subjects()
	samples := map[Result][]float64{} // by name and goroutines
	done, total := 0, len(subjects)*len(c.Goroutines)*c.Rounds
	for range c.Rounds {
		for _, n := range c.Goroutines {
			for _, s := range subjects {
				if ctx.Err() != nil {
					return nil, fmt.Errorf("bench: %w", context.Cause(ctx))
				}
				nanos, err := s.measure(ctx, n, c.Time)
				if err != nil {
					return nil, fmt.Errorf("bench: %s: %w", s.Name, err)
				}
				key := Result{Name: s.Name, Goroutines: n}
				samples[key] = append(samples[key], nanos)
				done++
				progress(done, total)
			}
		}
	}
	return summarize(subjects, c.Goroutines, samples), nil
}

// summarize returns the medians.
func summarize(subjects []Subject, goroutines []int, samples map[Result][]float64) (results []Result) {
	for _, n := range goroutines {
		limit := median(samples[Result{Name: Limit, Goroutines: n}])
		for _, s := range subjects {
			nanos := median(samples[Result{Name: s.Name, Goroutines: n}])
			results = append(results, Result{Name: s.Name, Goroutines: n, Nanos: nanos, Ratio: nanos / limit})
		}
	}
	return results
}

// median returns the median of at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// measure returns the nanoseconds for one call: the time divided by the calls of all goroutines. It ends early, with an error, if ctx
// does.
func (s Subject) measure(ctx context.Context, goroutines int, d time.Duration) (float64, error) {
	var calls atomic.Int64
	var failure atomic.Pointer[error]
	var ready, end sync.WaitGroup
	var ended atomic.Bool // whether ctx has; a load of it costs nothing next to time.Since
	defer context.AfterFunc(ctx, func() { ended.Store(true) })()
	start := make(chan time.Time)
	ready.Add(goroutines)
	for range goroutines {
		end.Go(func() {
			call := s.goroutine()
			err := call(chunk) // to have everything in caches
			ready.Done()
			began := <-start
			n := int64(0)
			for err == nil {
				if err = call(chunk); err == nil {
					n += chunk
				}
				if time.Since(began) >= d || ended.Load() {
					break
				}
			}
			calls.Add(n)
			if err != nil {
				failure.Store(&err)
			}
		})
	}
	ready.Wait()
	began := time.Now()
	for range goroutines {
		start <- began
	}
	end.Wait()
	elapsed := time.Since(began)
	if err := failure.Load(); err != nil {
		return 0, *err
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return float64(elapsed.Nanoseconds()) / float64(calls.Load()), nil
}

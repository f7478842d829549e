package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/ringuid/ringuid/benchmarks"
	"github.com/ringuid/ringuid/segment"
)

const (
	refillRate   = 500_000                // calls per second: a range of 10,000 numbers lasts 20 ms
	refillMargin = 100 * time.Microsecond // from a call that causes a request to the request, and from its end until the range is stored
	refillRounds = 5
)

// refillCalls are the latencies of the calls of one subject.
type refillCalls struct {
	start  time.Time
	caused atomic.Int64 // when a call has caused a request, in nanoseconds after start

	mu              sync.Mutex
	during, between *hdrhistogram.Histogram
	failed          int64
	empty           uint64 // calls that found no number in memory
}

func newRefillCalls() *refillCalls {
	return &refillCalls{start: time.Now(), during: hdrhistogram.New(1, int64(time.Minute), 3), between: hdrhistogram.New(1, int64(time.Minute), 3)}
}

// A refillSubject is something that takes numbers from a source.
type refillSubject struct {
	name string
	open func(*benchmarks.Source) (next func() (int64, error), closeAll func() (empty uint64), err error)
}

// refillSubjects returns the subjects. The first one is the limit.
func refillSubjects() []refillSubject {
	return []refillSubject{
		{"limit: a counter; one of 10,000 calls starts a goroutine with a request", func(src *benchmarks.Source) (func() (int64, error), func() uint64, error) {
			var (
				n        atomic.Int64
				requests sync.WaitGroup
			)
			next := func() (int64, error) {
				v := n.Add(1)
				if v%benchmarks.SegmentStep == 1 {
					requests.Go(func() { src.Take(context.Background(), segment.Request{Tag: "orders"}) })
				}
				return v, nil
			}
			return next, func() uint64 { requests.Wait(); return 0 }, nil
		}},
		{"`Sequence.Next`", func(src *benchmarks.Source) (func() (int64, error), func() uint64, error) {
			s, err := segment.New(context.Background(), src, "orders", segment.WithStepPolicy(segment.FixedStep{}))
			if err != nil {
				return nil, nil, err
			}
			return s.Next, func() uint64 { defer s.Close(); return s.Stats().RejectedTakes }, nil
		}},
		{"Leaf's algorithm", func(src *benchmarks.Source) (func() (int64, error), func() uint64, error) {
			l, err := benchmarks.NewLeaf(src, "orders", false)
			if err != nil {
				return nil, nil, err
			}
			return l.Next, func() uint64 { defer l.Close(); return uint64(l.Empty()) }, nil
		}},
	}
}

// writeRefills measures how long calls take while a request of the source is in progress, and how long otherwise. It writes the
// result. The subjects alternate, so that a disturbance of the machine affects all alike.
func writeRefills(w io.Writer, each time.Duration) error {
	goroutines := runtime.GOMAXPROCS(0)
	fmt.Fprintf(w, `
### Latency while the next range is requested

A source that takes 5 ms, a step of 10,000, and %d calls per second in %d goroutines, so a range lasts 20 ms and the buffer suffices.
Each call is timed individually, for %v per row, in %d rounds that alternate. A call is *during a refill* if a request was in
progress when it began, or had ended less than %v before (in that time the range is stored); or if it is the call that changed
to another range or caused a request, or began less than %v after that one. When a call ended does not matter: otherwise calls
that the machine paused for long would be counted there more often. Between calls, a goroutine reads the clock and yields to
others. The limit shows how much of the difference is due to the clock, to goroutines that run meanwhile, and to the machine.

| | | calls | p50 | p99 | p99.9 | max | found no number | failed |
|---|---|---|---|---|---|---|---|---|
`, refillRate, goroutines, each, refillRounds, refillMargin, refillMargin)
	subjects := refillSubjects()
	calls := make([]*refillCalls, len(subjects))
	for i := range calls {
		calls[i] = newRefillCalls()
	}
	pace := time.Duration(goroutines) * time.Second / refillRate
	for range refillRounds {
		for i, s := range subjects {
			src := benchmarks.NewSource(benchmarks.SegmentStep, benchmarks.SlowSource)
			next, closeAll, err := s.open(src)
			if err != nil {
				return err
			}
			calls[i].measure(next, src, goroutines, pace, each/refillRounds)
			calls[i].empty += closeAll()
		}
	}
	for i, s := range subjects {
		for _, row := range []struct {
			when         string
			h            *hdrhistogram.Histogram
			empty, fails string
		}{
			{"between refills", calls[i].between, "", ""},
			{"during a refill", calls[i].during, fmt.Sprint(calls[i].empty), fmt.Sprint(calls[i].failed)},
		} {
			at := func(p float64) string { return nanoseconds(float64(row.h.ValueAtPercentile(p)) / 1e9) }
			fmt.Fprintf(w, "| %s | %s | %.2f M | %s | %s | %s | %s | %s | %s |\n", s.name, row.when, float64(row.h.TotalCount())/1e6,
				at(50), at(99), at(99.9), nanoseconds(float64(row.h.Max())/1e9), row.empty, row.fails)
		}
	}
	return nil
}

// measure calls next in the given number of goroutines, each of which starts one call per pace, for the duration d.
func (c *refillCalls) measure(next func() (int64, error), src *benchmarks.Source, goroutines int, pace, d time.Duration) {
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			one := newRefillCalls()
			start := time.Now()
			for due := start; ; due = due.Add(pace) {
				before := time.Now()
				for before.Before(due) {
					runtime.Gosched() // otherwise the goroutine that requests ranges finds no free core
					before = time.Now()
				}
				if before.Sub(start) > d {
					break
				}
				if before.Sub(due) > time.Millisecond { // the machine has paused the goroutine: these calls are left out, not made at once
					due = before
				}
				refill := src.Refilling(before, refillMargin) || before.Sub(c.start)-time.Duration(c.caused.Load()) < refillMargin
				before = time.Now()
				n, err := next()
				took := time.Since(before)
				if err != nil {
					one.failed++
				}
				if place := (n - 1) % benchmarks.SegmentStep; place == 0 || place == benchmarks.LeafThreshold || place == benchmarks.LeafThreshold+1 {
					refill = true
					c.caused.Store(int64(time.Since(c.start)))
				}
				if refill {
					one.during.RecordValue(int64(took))
				} else {
					one.between.RecordValue(int64(took))
				}
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.during.Merge(one.during)
			c.between.Merge(one.between)
			c.failed += one.failed
		})
	}
	all.Wait()
}

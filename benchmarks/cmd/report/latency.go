package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/ringuid/ringuid/benchmarks"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// newCached returns a Cached generator and a function that closes it and removes its worker ID file.
func newCached(layout string, more ...uid.Option) (*uid.Cached, func(), error) {
	opts, err := benchmarks.Options(layout)
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp("", "report")
	if err != nil {
		return nil, nil, err
	}
	c, err := uid.NewCached(context.Background(), workerassign.NewFile(filepath.Join(folder, "worker")), append(opts, more...)...)
	if err != nil {
		os.RemoveAll(folder)
		return nil, nil, err
	}
	return c, func() { c.Close(); os.RemoveAll(folder) }, nil
}

// writeLatency measures how long Cached.Next takes at full load and at a million calls per second, with
// each policy. It writes the result, together with that of an empty call, which shows how much the
// clock and the scheduler add.
func writeLatency(w io.Writer, each time.Duration) error {
	goroutines := runtime.GOMAXPROCS(0)
	fmt.Fprintf(w, `
## Latency of Cached.Next

Each call is timed individually, in %d goroutines, for %v per row. The first row of each load times an empty call. It shows
how much the clock costs, and how long the scheduler and the machine pause goroutines; compare the rows of the policies with
it. At a million calls per second the goroutines read the clock until the next call is due, so all cores are busy there too.

| load | policy | calls | p50 | p99 | p99.9 | p99.99 | max | failed |
|---|---|---|---|---|---|---|---|---|
`, goroutines, each)
	for _, load := range []struct {
		name string
		pace time.Duration // between two calls of a goroutine
	}{
		{"full", 0},
		{"1,000,000/s", time.Duration(goroutines) * time.Microsecond},
	} {
		nothing := func() (uid.ID, error) { return 0, nil }
		h, failed := measureLatency(nothing, goroutines, load.pace, each)
		writeLatencyRow(w, load.name, "(empty call)", h, failed)
		for _, policy := range []uid.TakePolicy{uid.CallerPads, uid.Wait, uid.Fail} {
			c, closeAll, err := newCached(benchmarks.StandardLayout, uid.WithTakePolicy(policy))
			if err != nil {
				return err
			}
			h, failed := measureLatency(c.Next, goroutines, load.pace, each)
			closeAll()
			writeLatencyRow(w, load.name, fmt.Sprint(policy), h, failed)
		}
	}
	return nil
}

// writeLatencyRow writes one row of the table.
func writeLatencyRow(w io.Writer, load, policy string, h *hdrhistogram.Histogram, failed int64) {
	at := func(p float64) string { return nanoseconds(float64(h.ValueAtPercentile(p)) / 1e9) }
	fmt.Fprintf(w, "| %s | %s | %.1f M | %s | %s | %s | %s | %s | %d |\n", load, policy, float64(h.TotalCount())/1e6,
		at(50), at(99), at(99.9), at(99.99), nanoseconds(float64(h.Max())/1e9), failed)
}

// measureLatency calls next in the given number of goroutines for the duration d and times each call.
// If pace is not 0, each goroutine starts one call per pace. It returns a histogram of the latencies
// and the number of calls that failed.
func measureLatency(next func() (uid.ID, error), goroutines int, pace, d time.Duration) (*hdrhistogram.Histogram, int64) {
	var (
		all    sync.WaitGroup
		mu     sync.Mutex
		total  = hdrhistogram.New(1, int64(time.Minute), 3)
		failed int64
	)
	for range goroutines {
		all.Go(func() {
			h := hdrhistogram.New(1, int64(time.Minute), 3)
			var bad int64
			start := time.Now()
			due := start
			for {
				before := time.Now()
				if pace > 0 {
					due = due.Add(pace)
					for before.Before(due) {
						before = time.Now()
					}
				}
				_, err := next()
				h.RecordValue(int64(time.Since(before)))
				if err != nil {
					bad++
				}
				if before.Sub(start) > d {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total.Merge(h)
			failed += bad
		})
	}
	all.Wait()
	return total, failed
}

package main

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringuid/ringuid/benchmarks"
	"github.com/ringuid/ringuid/uid"
)

// writePadding measures which part of a core padding uses at 100 million UIDs per second, and writes the
// result. It alternately measures the processor time with runs of 8,192 UIDs and with runs that are so
// long that there is no padding. The difference is the cost of padding.
func writePadding(w io.Writer, each time.Duration) error {
	var costs []float64
	for range 5 {
		with, err := coresUsed(benchmarks.StandardLayout, each)
		if err != nil {
			return err
		}
		without, err := coresUsed("1-31-3-29", each)
		if err != nil {
			return err
		}
		costs = append(costs, with-without)
	}
	fmt.Fprintf(w, `
## The cost of padding

At 100 million UIDs per second, taken by NextN in batches of 1,024, padding uses %.2f %% of a core. This is the processor time
of the process with runs of 8,192 UIDs minus that with runs of 2^29 UIDs: the median of %d rounds of %v each.
`, 100*median(costs), len(costs), each)
	return nil
}

// coresUsed takes 100 million UIDs per second for the duration d. It returns the processor time of the
// process, divided by the elapsed time.
func coresUsed(layout string, d time.Duration) (float64, error) {
	c, closeAll, err := newCached(layout)
	if err != nil {
		return 0, err
	}
	defer closeAll()
	ids := make([]uid.ID, 1024)
	before, err := processorTime()
	if err != nil {
		return 0, err
	}
	start, taken := time.Now(), 0
	for {
		passed := time.Since(start)
		if passed > d {
			break
		}
		if int64(taken) > int64(passed)/10 { // one UID per 10 ns
			continue
		}
		n, err := c.NextN(ids)
		if err != nil {
			return 0, err
		}
		taken += n
	}
	after, err := processorTime()
	if err != nil {
		return 0, err
	}
	return (after - before).Seconds() / time.Since(start).Seconds(), nil
}

// processorTime returns the processor time that the process has used so far.
func processorTime() (time.Duration, error) {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		return 0, err
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()), nil
}

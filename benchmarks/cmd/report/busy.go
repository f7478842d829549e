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
	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/uid"
)

// timedCallerPads is the policy CallerPads. It also records, in a histogram, how long each taker that
// found the ring empty was in the policy.
type timedCallerPads struct {
	mu    sync.Mutex
	waits *hdrhistogram.Histogram
}

func (p *timedCallerPads) OnEmpty(ctx context.Context, w ringbuffer.Waiter) error {
	start := time.Now()
	err := uid.CallerPads.OnEmpty(ctx, w)
	took := int64(time.Since(start))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits.RecordValue(took)
	return err
}

// writeBusy measures how long takers wait on a machine whose cores are all busy with other goroutines, so
// that goroutines that are woken run late. It writes the result.
func writeBusy(w io.Writer, d time.Duration) error {
	policy := &timedCallerPads{waits: hdrhistogram.New(1, int64(time.Minute), 3)}
	c, closeAll, err := newCached(benchmarks.StandardLayout, uid.WithTakePolicy(policy))
	if err != nil {
		return err
	}
	defer closeAll()
	var (
		stop          atomic.Bool
		taken, failed atomic.Int64
		longest       atomic.Int64
		all           sync.WaitGroup
	)
	procs := runtime.GOMAXPROCS(0)
	for range 2 * procs { // these goroutines keep the cores busy and measure how long they are paused
		all.Go(func() {
			last, most := time.Now(), time.Duration(0)
			for !stop.Load() {
				now := time.Now()
				most = max(most, now.Sub(last))
				last = now
			}
			for {
				old := longest.Load()
				if int64(most) <= old || longest.CompareAndSwap(old, int64(most)) {
					return
				}
			}
		})
	}
	for range procs {
		all.Go(func() {
			for !stop.Load() {
				for range 1_000 {
					if _, err := c.Next(); err != nil {
						failed.Add(1)
					}
				}
				taken.Add(1_000)
			}
		})
	}
	time.Sleep(d)
	stop.Store(true)
	all.Wait()
	st := c.Stats()
	fmt.Fprintf(w, `
## A busy machine

%d goroutines that compute without a pause, and %d that take UIDs as fast as they can, on %d cores for %v: %.0f million UIDs,
%d failed takes. The ring was padded %d times at its threshold, by takers or by the padder, and %d times by takers that
found it empty. %d takes found the ring empty. They got a UID after %.1f ms (median) or %.1f ms (maximum), because they waited
for a goroutine that the scheduler had paused while it was putting a run. A goroutine that only reads the clock was paused for
%.1f ms at most.
`, 2*procs, procs, procs, d, float64(taken.Load())/1e6, failed.Load(), st.Ring.Paddings.Immediate, st.Ring.Paddings.Caller,
		policy.waits.TotalCount(), float64(policy.waits.ValueAtPercentile(50))/1e6, float64(policy.waits.Max())/1e6, float64(longest.Load())/1e6)
	return nil
}

package ringbuffer

import (
	"context"
	"fmt"
	"time"
)

const (
	// CloseTimeout is how long Close waits for code of the user's that is still running.
	CloseTimeout = 5 * time.Second

	// logTimeout is how much of that it waits for log records to be written.
	logTimeout = time.Second
)

// Close ends the ring: takes and puts return ErrClosed, waiting ones wake, the context of a
// provider's call is cancelled, the padder ends. What was not taken is lost.
//
// It returns nil when neither the provider nor a scheduled hook is running any more. It waits for
// them for CloseTimeout; then it returns an error that wraps ErrBusy and names what still runs: code
// that ignores its context, or that has called Close itself and so waits for its own end. That code
// is not called again once it returns. Policies run in takers' goroutines, and are not waited for. Log
// records that a handler does not write within a second may be written later.
//
// Closing twice is harmless: a later Close waits again, and so may an error of the first be over.
func (r *Ring) Close() error {
	if !r.initialized() {
		return nil
	}
	if r.closed.CompareAndSwap(false, true) {
		// A taker that runs into the spent run looks at closed before it does anything else.
		for {
			s := r.current.Load()
			if r.current.CompareAndSwap(s, &runState{index: s.index, lastBeforeClose: s}) {
				break
			}
		}
		r.cancel()
		r.runAvailable.broadcast()
	}
	deadline := time.Now().Add(CloseTimeout)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	var busy string
	if r.providerLock.acquire(ctx) != nil {
		busy = "the provider"
	} else {
		r.providerLock.release() // whoever was padding was the last one
		if r.padderDone != nil {
			select {
			case <-r.padderDone:
			case <-ctx.Done():
				busy = "OnSchedule or Stale"
			}
		}
	}
	r.log.Flush(min(logTimeout, time.Until(deadline)))
	if busy == "" {
		return nil
	}
	return fmt.Errorf("%w: %s, after %v; was Close called from within it?", ErrBusy, busy, CloseTimeout)
}

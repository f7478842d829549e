package ringbuffer

import (
	"context"
	"fmt"
	"time"
)

const (
	// closeTimeout is how long Close waits for user code that is still running. The comment of Close has the number too.
	closeTimeout = 5 * time.Second

	// logTimeout is the part of closeTimeout that Close waits for log records to be written.
	logTimeout = time.Second
)

// Close closes the ring. From then on takes and puts return ErrClosed, and those that wait return
// it at once. Close cancels the context of a running call of the provider and ends the padder. All
// integers that were not taken are lost.
//
// Close returns nil when neither the provider nor a hook of a scheduled padding is running. It
// waits for them for 5 seconds. Then it returns an error that wraps ErrBusy and names the code
// that still runs: either that code ignores its context, or it has called Close itself and so waits
// for its own end. After that code has returned, it is not called again. Policies run in the
// goroutines of takers and putters, and Close does not wait for them. Log records that the handler
// does not write within a second may be written later.
//
// Close may be called more than once. Each call waits again, so a later one can return nil after an
// earlier one has returned an error.
func (r *Ring) Close() error {
	if !r.initialized() {
		return nil
	}
	r.closed.Store(true) // all this may be done more than once
	r.end()
	r.cancel()
	r.runAvailable.broadcast()
	deadline := time.Now().Add(closeTimeout)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	var stillRunning string
	if r.turn.acquire(ctx) != nil {
		stillRunning = "the provider"
	} else {
		r.turn.release() // from now on no goroutine calls the provider
		if r.padderDone != nil {
			select {
			case <-r.padderDone:
			case <-ctx.Done():
				stillRunning = "BeforeRun, OnSchedule or Stale"
			}
		}
	}
	r.log.Flush(min(logTimeout, time.Until(deadline)))
	if stillRunning == "" {
		return nil
	}
	return fmt.Errorf("%w: %s, after %v; was Close called from within it?", ErrBusy, stillRunning, closeTimeout)
}

// end replaces the current run by an empty one, unless that was done, so that TryTake needs no check for Close. A taker that
// finds the empty run used up checks closed before anything else.
func (r *Ring) end() {
	for {
		s := r.current.Load()
		if s.lastBeforeClose != nil || r.current.CompareAndSwap(s, &runState{index: s.index, lastBeforeClose: s}) {
			return
		}
	}
}

// Reached returns the first integer of the run that takers have reached: the current one or, after Close, the one that Close has
// replaced. ok is false if they have reached none. After Close no take returns an integer of a later run: one that began before
// may still return an integer of this run.
func (r *Ring) Reached() (first int64, ok bool) {
	if !r.initialized() {
		return 0, false
	}
	s := r.current.Load()
	if s.lastBeforeClose != nil {
		s = s.lastBeforeClose
	}
	return s.first, s.length > 0
}

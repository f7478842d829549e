package ringbuffer

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	minRetryDelay  = time.Millisecond      // the shortest delay between two tries
	maxNotYetDelay = time.Second           // the longest delay after a *NotYetError; a run may come earlier than it says
	padderPause    = 10 * time.Millisecond // how long takers put runs in place of a padder that was woken
)

// Kick wakes the padder, even if it is waiting to call its provider again. A provider that has
// returned an error calls Kick when the reason no longer exists. Kick never blocks.
func (r *Ring) Kick() {
	if r == nil {
		return
	}
	select {
	case r.kickRequests <- struct{}{}:
	default: // one request is already pending
	}
}

// wakePadder wakes the padder, unless it is waiting to call its provider again: so takers of an
// empty ring do not make it call a failing provider more often. wakePadder never blocks.
func (r *Ring) wakePadder() {
	select {
	case r.wakeRequests <- struct{}{}:
	default: // one request is already pending
	}
}

// runPadder is the padder. It fills the ring when it is woken, when the interval is over and when a
// retry is due, until the ring is closed. No failure ends it. Its first padding comes after delay; 0
// means when it is woken.
func (r *Ring) runPadder(delay time.Duration) {
	defer close(r.padderDone)
	var tick <-chan time.Time
	if r.cfg.Interval > 0 {
		ticker := time.NewTicker(r.cfg.Interval)
		defer ticker.Stop()
		tick = ticker.C
	}
	timer := time.NewTimer(delay) // for the next retry, or for the end of a pause
	defer timer.Stop()
	paddings := &r.counters.paddings.initial // the counter of the next padding
	for {
		wake := r.wakeRequests
		switch {
		case delay > 0:
			wake = nil
		case !r.padderPaused.Load():
			timer.Stop()
		}
		onDemand := true // takers have taken runs, so they may soon need the padder again
		select {
		case <-r.ctx.Done():
			return
		case <-wake:
			paddings = &r.counters.paddings.immediate
		case <-r.kickRequests:
			paddings = &r.counters.paddings.immediate
		case <-tick:
			paddings = &r.counters.paddings.scheduled
			onDemand = false
			r.dropStale()
			if r.cfg.OnSchedule != nil {
				r.cfg.OnSchedule()
			}
		case <-timer.C: // it counts as the padding before
			onDemand = r.tail.Load() != r.tailAtPause
		}
		r.padderPaused.Store(false)
		delay, _ = r.fill(r.ctx, paddings)
		if delay > 0 {
			timer.Reset(delay)
		} else if onDemand && r.cfg.Assist {
			r.tailAtPause = r.tail.Load()
			r.padderPaused.Store(true)
			timer.Reset(padderPause)
		}
	}
}

// onLowWatermark is called by the taker that moved the current run to the given index and so lowered
// the fill level below the threshold. It wakes the padder. With Assist, it puts a run itself if the
// padder pauses, or if the padder was woken before but the ring is at its last run.
//
// Waking a thread takes about a thousand times as long as a take, and if the ring is emptied fast,
// the fill level falls below the threshold thousands of times per second. So after the padder was
// woken, it is not woken again for padderPause.
func (r *Ring) onLowWatermark(index uint64) {
	if !r.padderPaused.Load() {
		r.wakePadder()
		if !r.cfg.Assist || int64(r.tail.Load()-index) > 0 {
			return
		}
	}
	if r.turn.held.Load() || r.checkPadding().outcome != outcomePut {
		return // another goroutine is padding, or no run can be put
	}
	r.cfg.BeforeRun()
	if r.turn.tryAcquire() {
		defer r.turn.release()
		if r.padOne(r.ctx).outcome == outcomePut {
			r.counters.paddings.immediate.Add(1)
		} // else the padder tries again: it was woken, or its pause ends
	}
}

// fill puts runs until the ring is full or the provider has none. It returns the delay before the
// next try, or 0 if the next try must wait for a request. It also returns the error, unless that is
// a *NotYetError. paddings is the counter of such paddings, to which fill adds 1 if it puts a run.
func (r *Ring) fill(ctx context.Context, paddings *atomic.Uint64) (time.Duration, error) {
	for first := true; ; first = false {
		switch p := r.fillOne(ctx); p.outcome {
		case outcomePut:
			if first {
				paddings.Add(1)
			}
		case outcomeNoRoom:
			return 0, nil
		case outcomeNotYet:
			return p.retryAfter, nil
		case outcomeFailed:
			return r.failureDelay(), p.err
		default:
			return 0, p.err
		}
	}
}

// fillOne puts one run. Each run is a turn of its own, so that takers that pad have theirs in between.
func (r *Ring) fillOne(ctx context.Context) padResult {
	if p := r.checkPadding(); p.outcome != outcomePut {
		return p
	}
	r.cfg.BeforeRun()
	if err := r.turn.acquire(ctx); err != nil {
		return padResult{outcome: outcomeStopped, err: err}
	}
	defer r.turn.release()
	return r.padOne(ctx)
}

package ringbuffer

import (
	"context"
	"log/slog"
	"time"
)

// A Trigger is what made the ring be padded.
type Trigger int

// The triggers.
const (
	Initial   Trigger = iota // New
	Immediate                // the fill level fell below the padding factor
	Scheduled                // the interval
	Caller                   // a taker that found the ring empty
	triggerCount
)

// String returns the trigger's name.
func (t Trigger) String() string {
	switch t {
	case Initial:
		return "initial"
	case Immediate:
		return "immediate"
	case Scheduled:
		return "scheduled"
	case Caller:
		return "caller"
	}
	return "unknown"
}

const (
	minRetryDelay     = time.Millisecond      // the shortest time between two tries
	firstFailureDelay = 10 * time.Millisecond // the time after a first failure; doubled by each more
	maxFailureDelay   = time.Second           // the longest time after a failure
	maxNotYetDelay    = time.Second           // the longest after a *NotYetError: what was waited for may come earlier
	padderPause       = 10 * time.Millisecond // how long takers stand in for a padder that was needed
	logInterval       = time.Minute           // how long after one episode's log lines others are not logged
)

// Kick asks the padder to fill the ring now, even if it is waiting to ask its provider
// again: a provider calls it when what hindered it has passed. It never blocks.
func (r *Ring) Kick() {
	if r == nil {
		return
	}
	select {
	case r.kickRequests <- struct{}{}:
	default: // one is under way
	}
}

// wakePadder asks the padder to fill the ring, unless it is waiting to ask its provider
// again: takers of an empty ring do not drive a failing provider. It never blocks.
func (r *Ring) wakePadder() {
	select {
	case r.wakeRequests <- struct{}{}:
	default:
	}
}

// pad is the padder: it fills the ring when it is woken, when the interval is over, and
// when the time of a retry has come, until the ring closes. No failure ends it.
func (r *Ring) runPadder(wait time.Duration) {
	ended := false
	defer func() {
		if ended {
			close(r.padderDone)
		} else { // the provider or a hook has called runtime.Goexit
			go r.runPadder(r.failureDelay())
		}
	}()
	var tick <-chan time.Time
	if r.cfg.Interval > 0 {
		ticker := time.NewTicker(r.cfg.Interval)
		defer ticker.Stop()
		tick = ticker.C
	}
	retry := time.NewTimer(wait) // or the end of a rest
	defer retry.Stop()
	trigger := Initial
	for {
		wake := r.wakeRequests
		switch {
		case wait > 0:
			wake = nil
		case !r.padderPaused.Load():
			retry.Stop()
		}
		needed := true
		select {
		case <-r.ctx.Done():
			ended = true
			return
		case <-wake:
			trigger = Immediate
		case <-r.kickRequests:
			trigger = Immediate
		case <-tick:
			trigger = Scheduled
			needed = false
			r.recordHookPanic(r.callOnSchedule())
			r.recordHookPanic(r.dropStale())
		case <-retry.C: // of what the trigger was
			needed = r.tail.Load() != r.tailAtPause
		}
		r.padderPaused.Store(false)
		wait, _ = r.fill(r.ctx, trigger)
		if wait > 0 {
			retry.Reset(wait)
		} else if needed && r.cfg.Assist {
			r.tailAtPause = r.tail.Load()
			r.padderPaused.Store(true)
			retry.Reset(padderPause)
		}
	}
}

// lowered is called by the taker that took the fill level below the threshold, to the run
// of that number. It wakes the padder, or puts a run in its place while it rests, and
// also where it was woken and did not come before the ring is at its last run.
//
// Waking a thread costs some thousand times what a take does, and a ring that is drained fast
// is at its threshold thousands of times a second; so the padder, once it was woken, is not
// woken again for a while.
func (r *Ring) onLowWatermark(run uint64) {
	if !r.padderPaused.Load() {
		r.wakePadder()
		if !r.cfg.Assist || int64(r.tail.Load()-run) > 0 {
			return
		}
	}
	if r.providerLock.held.Load() || r.checkPadding().outcome != outcomePut {
		return // another is at it, or there is nothing to do
	}
	before := r.callBeforeRun()
	if r.providerLock.tryAcquire() {
		defer r.providerLock.release()
		if r.padOne(r.ctx, before).outcome == outcomePut {
			r.counters.paddings[Immediate].Add(1)
		}
	}
}

// fill puts runs until the ring is full or the provider has none. It returns how long to
// wait before another try, 0 for until somebody asks, and the error unless it was a
// *NotYetError.
func (r *Ring) fill(ctx context.Context, trigger Trigger) (time.Duration, error) {
	for first := true; ; first = false {
		switch p := r.fillOne(ctx); p.outcome {
		case outcomePut:
			if first {
				r.counters.paddings[trigger].Add(1)
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

// fillOne puts one run. It holds the token for no more than that, so that a taker who pads has
// its turn.
func (r *Ring) fillOne(ctx context.Context) padResult {
	if p := r.checkPadding(); p.outcome != outcomePut {
		return p
	}
	before := r.callBeforeRun()
	if err := r.providerLock.acquire(ctx); err != nil {
		return padResult{outcome: outcomeStopped, err: err}
	}
	defer r.providerLock.release()
	return r.padOne(ctx, before)
}

// retryAfter is how long to wait after as many failures as there were in this episode.
func (r *Ring) failureDelay() time.Duration {
	n := r.counters.consecutiveFailures.Load()
	return min(firstFailureDelay<<min(max(n-1, 0), 16), maxFailureDelay)
}

// failed keeps why the provider made no run. The caller holds the token.
func (r *Ring) recordFailure(p padResult) {
	r.lastEmptyError.Store(&EmptyError{Cause: p.err})
	switch p.outcome {
	case outcomeExhausted:
		r.exhaustedError.Store(&p.err)
		r.runAvailable.broadcast() // who waits has nothing more to wait for
		if !r.initFails() {
			r.log.Log(slog.LevelError, "ringbuffer: the provider is exhausted", "err", p.err)
		}
	case outcomeFailed:
		if r.ctx.Err() != nil {
			return // closing, which is no failure
		}
		r.counters.failedPaddings.Add(1)
		r.runAvailable.broadcast() // who waits within Pad returns the error
		if r.counters.consecutiveFailures.Add(1) == 1 {
			r.failuresLogged = false
		}
		r.logFailure(p.err)
	}
}

// refused reports whether New is about to return an error, which needs no log record.
func (r *Ring) initFails() bool { return r.initializing && !r.hasRun() }

// logFailure logs a failure, unless that was done in this episode. A provider that fails and works
// by turns is not logged each time.
func (r *Ring) logFailure(err error) {
	now := time.Now()
	if r.failuresLogged || r.initFails() || now.Sub(r.lastLogged) < logInterval {
		return
	}
	r.failuresLogged, r.lastLogged = true, now
	args := []any{"err", err}
	if p, ok := err.(*PanicError); ok && p != nil { // not by errors.As: what a provider returned may have methods
		args = append(args, "stack", string(p.Stack))
	}
	r.log.Log(slog.LevelWarn, "ringbuffer: padding failed, trying again", args...)
}

// worked ends an episode of failures. The caller holds the token.
func (r *Ring) recordSuccess() {
	if r.emptyError().Cause == nil {
		return
	}
	r.lastEmptyError.Store(new(EmptyError))
	if n := r.counters.consecutiveFailures.Swap(0); n > 0 && r.failuresLogged {
		r.log.Log(slog.LevelInfo, "ringbuffer: padding works again", "failures", n)
	}
}

// hookFailed counts the panic of a hook, if there was one, as a failure of the provider.
func (r *Ring) recordHookPanic(err error) {
	if err == nil || r.providerLock.acquire(r.ctx) != nil {
		return
	}
	r.recordFailure(padResult{outcome: outcomeFailed, err: err})
	r.providerLock.release()
}

// onSchedule calls the hook of that name.
func (r *Ring) callOnSchedule() (err error) {
	if r.cfg.OnSchedule == nil {
		return nil
	}
	defer recoverPanic("OnSchedule", &err)
	r.cfg.OnSchedule()
	return nil
}

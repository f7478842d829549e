package ringbuffer

import (
	"log/slog"
	"time"
)

const (
	firstFailureDelay = 10 * time.Millisecond // the delay after a first failure; each further one doubles it
	maxFailureDelay   = time.Second           // the longest delay after a failure
	logInterval       = time.Minute           // the shortest time between two series of failures that are logged
)

// failureDelay returns the delay before the next try, given the number of failures in this series.
func (r *Ring) failureDelay() time.Duration {
	n := r.counters.consecutiveFailures.Load()
	return min(firstFailureDelay<<min(max(n-1, 0), 16), maxFailureDelay)
}

// recordFailure records why the provider returned no run. The caller has the turn.
func (r *Ring) recordFailure(p padResult) {
	r.lastEmptyError.Store(&EmptyError{Cause: p.err})
	switch p.outcome {
	case outcomeExhausted:
		r.exhaustedError.Store(&p.err)
		r.runAvailable.broadcast() // no run will come, so waiting goroutines must stop waiting
		if !r.initFails() {
			r.log.Log(slog.LevelError, "ringbuffer: the provider is exhausted", "err", p.err)
		}
	case outcomeFailed:
		if r.ctx.Err() != nil {
			return // Close has cancelled the call; this is not a failure
		}
		r.counters.lastFailure.Store(time.Now().UnixNano())
		r.counters.failedPaddings.Add(1)
		r.runAvailable.broadcast() // goroutines that wait within Pad try again and return the error
		if r.counters.consecutiveFailures.Add(1) == 1 {
			r.failuresLogged = false
		}
		r.logFailure(p.err)
	}
}

// initFails reports whether a failure now makes Init return an error. Such a failure is not logged.
func (r *Ring) initFails() bool { return r.initializing && !r.hasRun() }

// logFailure logs a failure, unless one of this series was logged already. If a provider fails and
// succeeds alternately, at most one series per logInterval is logged.
func (r *Ring) logFailure(err error) {
	now := time.Now()
	if r.failuresLogged || r.initFails() || now.Sub(r.lastLogged) < logInterval {
		return
	}
	r.failuresLogged, r.lastLogged = true, now
	r.log.Log(slog.LevelWarn, "ringbuffer: padding failed, trying again", "err", err)
}

// recordSuccess ends a series of failures. The caller has the turn.
func (r *Ring) recordSuccess() {
	if r.emptyError().Cause == nil {
		return
	}
	r.lastEmptyError.Store(new(EmptyError))
	if n := r.counters.consecutiveFailures.Swap(0); n > 0 && r.failuresLogged {
		r.log.Log(slog.LevelInfo, "ringbuffer: padding works again", "failures", n)
	}
}

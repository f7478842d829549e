package ringbuffer

import (
	"context"
	"time"
)

// padOutcome is the outcome of a try to put a run of the provider.
type padOutcome int

const (
	outcomePut       padOutcome = iota // a run was put
	outcomeNoRoom                      // the ring is full, or has no provider
	outcomeNotYet                      // the provider has no run now
	outcomeExhausted                   // the provider will never have another run
	outcomeFailed                      // the provider failed
	outcomeStopped                     // the ring was closed, or the caller's context ended
)

// padResult is the result of a try to put a run of the provider. The zero value means that a run
// was put, or that nothing prevents it.
type padResult struct {
	outcome    padOutcome
	err        error         // why no run was put; nil for outcomeNoRoom
	retryAfter time.Duration // for outcomeNotYet: when to ask again
}

// Pad puts one run of the provider, in the caller's goroutine, if the ring is empty. If another
// goroutine is already padding, Pad waits for it. If no run may be put yet, Pad waits as Wait does.
// If the provider fails, Pad returns its error.
func (r *Ring) Pad(ctx context.Context) error {
	if !r.initialized() {
		return errNotInitialized
	}
	if r.closed.Load() {
		return ErrClosed
	}
	hookErr := r.callBeforeRun()
	if r.providerLock.tryAcquire() { // the common case: no other goroutine is padding
		if done, err := r.padWithLock(ctx, hookErr); done {
			return err
		}
	}
	for {
		available, released := r.runAvailable.subscribe(), r.providerLock.released.subscribe()
		if r.closed.Load() {
			return ErrClosed
		}
		if r.hasRun() {
			return nil
		}
		hookErr := r.callBeforeRun()
		if r.providerLock.tryAcquire() {
			if done, err := r.padWithLock(ctx, hookErr); done {
				return err
			}
			released = nil // no run may be put yet, so acquiring the lock again would not help
			r.wakePadder()
		}
		select {
		case <-released:
		case <-available: // a run, or a failure, which the next try returns
		case <-ctx.Done():
			return waitError(context.Cause(ctx), r.emptyError())
		case <-r.ctx.Done():
			return ErrClosed
		}
	}
}

// padWithLock puts one run for Pad. The caller holds the provider lock; padWithLock releases it.
// hookErr is the result of callBeforeRun. done is false if no run may be put yet.
func (r *Ring) padWithLock(ctx context.Context, hookErr error) (done bool, err error) {
	defer r.providerLock.release()
	if r.closed.Load() {
		return true, ErrClosed
	}
	if r.hasRun() {
		return true, nil // another goroutine has put a run before the lock was acquired
	}
	switch p := r.padOne(ctx, hookErr); p.outcome {
	case outcomePut:
		r.counters.paddings[Caller].Add(1)
		return true, nil
	case outcomeNoRoom, outcomeNotYet:
		return false, nil
	case outcomeStopped:
		if !r.closed.Load() {
			return true, waitError(p.err, r.emptyError())
		}
		return true, ErrClosed
	default:
		if r.closed.Load() {
			return true, ErrClosed // Close may be the reason why the provider failed
		}
		return true, p.err
	}
}

// checkPadding returns why no run can be put now, or the zero padResult if nothing prevents it.
func (r *Ring) checkPadding() padResult {
	p := r.checkProvider()
	if p.outcome == outcomePut && !r.hasPendingRun.Load() {
		if _, room := r.hasRoom(); !room {
			p.outcome = outcomeNoRoom
		}
	}
	return p
}

// checkProvider is checkPadding without the check for room.
func (r *Ring) checkProvider() padResult {
	switch end := r.exhaustedError.Load(); {
	case r.closed.Load():
		return padResult{outcome: outcomeStopped, err: ErrClosed}
	case r.hasPendingRun.Load():
		return padResult{} // a run that the provider has already returned is put in any case
	case end != nil:
		return padResult{outcome: outcomeExhausted, err: *end}
	case r.cfg.Provider == nil:
		return padResult{outcome: outcomeNoRoom}
	}
	return padResult{}
}

// padOne requests a run from the provider and puts it, if there is room. The caller holds the
// provider lock. hookErr is the result of callBeforeRun, which the caller has called before it
// acquired the lock.
func (r *Ring) padOne(ctx context.Context, hookErr error) padResult {
	if p := r.checkProvider(); p.outcome != outcomePut {
		return p
	}
	if !r.hasPendingRun.Load() {
		if !r.reservePlace() {
			return padResult{outcome: outcomeNoRoom}
		}
		run, p := r.callProvider(ctx, hookErr)
		if p.outcome != outcomePut {
			r.recordFailure(p)
			return p
		}
		r.pendingRun = run
		r.hasPendingRun.Store(true)
	}
	if err := r.putLock.acquire(ctx); err != nil {
		r.Kick() // the run stays pending; the next holder of the provider lock puts it, at the latest the padder
		return padResult{outcome: outcomeStopped, err: err}
	}
	closed := r.closed.Load()
	if !closed {
		r.publish(r.pendingRun)
		r.hasPendingRun.Store(false)
	}
	r.putLock.release()
	if closed {
		return padResult{outcome: outcomeStopped, err: ErrClosed}
	}
	r.recordSuccess()
	return padResult{}
}

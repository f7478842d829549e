package ringbuffer

import (
	"context"
	"errors"
	"runtime/debug"
	"time"
)

// outcome is how a try to pad ended.
type padOutcome int

const (
	outcomePut       padOutcome = iota // a run was put
	outcomeNoRoom                      // the ring is full, or has no provider
	outcomeNotYet                      // the provider has no run yet
	outcomeExhausted                   // and never will
	outcomeFailed                      // the provider failed
	outcomeStopped                     // the ring was closed, or the caller's context ended
)

// padding is a try to put a run of the provider's.
type padResult struct {
	outcome    padOutcome
	err        error         // why no run was put, unless there was no room
	retryAfter time.Duration // notYet: when to ask again
}

// Pad puts one run of the provider's, in the caller's goroutine, if the ring is empty.
// Where another goroutine is at it, Pad waits for that one; where no run may be put yet, it
// waits as Wait does. What the provider fails with is returned.
func (r *Ring) Pad(ctx context.Context) error {
	if !r.initialized() {
		return errNotInitialized
	}
	if r.closed.Load() {
		return ErrClosed
	}
	before := r.callBeforeRun()
	if r.providerLock.tryAcquire() { // the common case: there is nobody to wait for
		if done, err := r.padWithLock(ctx, before); done {
			return err
		}
	}
	for {
		fresh, freed := r.runAvailable.subscribe(), r.providerLock.released.subscribe()
		if r.closed.Load() {
			return ErrClosed
		}
		if r.hasRun() {
			return nil
		}
		before := r.callBeforeRun()
		if r.providerLock.tryAcquire() {
			if done, err := r.padWithLock(ctx, before); done {
				return err
			}
			freed = nil // no run may be put yet, and it makes no difference who asks
			r.wakePadder()
		}
		select {
		case <-freed:
		case <-fresh: // a run; or a failure, and then the next try returns that
		case <-ctx.Done():
			return waitError(context.Cause(ctx), r.emptyError())
		case <-r.ctx.Done():
			return ErrClosed
		}
	}
}

// padHeld is called with the token held, and gives it back. It returns false if no run may be
// put yet.
func (r *Ring) padWithLock(ctx context.Context, before error) (done bool, err error) {
	defer r.providerLock.release()
	if r.closed.Load() {
		return true, ErrClosed
	}
	if r.hasRun() {
		return true, nil // another put one while this waited
	}
	switch p := r.padOne(ctx, before); p.outcome {
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
			return true, ErrClosed // which may be why the provider failed
		}
		return true, p.err
	}
}

// idle returns why there is nothing to put, if there is nothing.
func (r *Ring) checkPadding() padResult {
	p := r.checkProvider()
	if p.outcome == outcomePut && !r.hasPendingRun.Load() {
		if _, room := r.hasRoom(); !room {
			p.outcome = outcomeNoRoom
		}
	}
	return p
}

// over is idle but for the room.
func (r *Ring) checkProvider() padResult {
	switch end := r.exhaustedError.Load(); {
	case r.closed.Load():
		return padResult{outcome: outcomeStopped, err: ErrClosed}
	case r.hasPendingRun.Load():
		return padResult{} // a run that the provider has made is put in any case
	case end != nil:
		return padResult{outcome: outcomeExhausted, err: *end}
	case r.cfg.Provider == nil:
		return padResult{outcome: outcomeNoRoom}
	}
	return padResult{}
}

// padOne gets a run from the provider and puts it, if there is room. The caller holds the token,
// and has called beforeRun, whose error it passes on.
func (r *Ring) padOne(ctx context.Context, before error) padResult {
	if p := r.checkProvider(); p.outcome != outcomePut {
		return p
	}
	if !r.hasPendingRun.Load() {
		if !r.reservePlace() {
			return padResult{outcome: outcomeNoRoom}
		}
		run, p := r.callProvider(ctx, before)
		if p.outcome != outcomePut {
			r.recordFailure(p)
			return p
		}
		r.pendingRun = run
		r.hasPendingRun.Store(true)
	}
	if err := r.putLock.acquire(ctx); err != nil {
		r.Kick() // the run stays for the next who holds the token, the padder if nobody else
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

// nextRun calls the provider, for which a place was reserved, with a context that Close cancels
// too. Unless there is a run, it gives the place back.
func (r *Ring) callProvider(ctx context.Context, before error) (run Run, p padResult) {
	p = padResult{outcome: outcomeFailed, err: before}
	returned := false
	defer func() {
		if v := recover(); v != nil {
			p = padResult{outcome: outcomeFailed, err: &PanicError{Value: v, Stack: debug.Stack(), In: "the provider"}}
		} else if !returned { // and so the callers do not
			r.recordFailure(padResult{outcome: outcomeFailed, err: errProviderGoexit})
		}
		if p.outcome != outcomePut {
			r.releasePlace()
		}
	}()
	if before != nil {
		returned = true
		return run, p
	}
	if ctx.Done() == nil {
		ctx = r.ctx
	} else if ctx != r.ctx {
		both, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.ctx, cancel)()
		ctx = both
	}
	run, err := r.cfg.Provider.NextRun(ctx)
	if err == nil {
		err = run.check()
	}
	p = classify(err)
	returned = true
	return run, p
}

// judge says what a provider's error means. What it is not meant to say is masked. It runs code
// of the user's, the error's methods, so a panic of it has to be recovered.
func classify(err error) padResult {
	if err == nil {
		return padResult{}
	}
	e, _ := err.(*NotYetError)
	switch {
	case e != nil:
	case errors.Is(err, ErrExhausted):
		return padResult{outcome: outcomeExhausted, err: maskClosed(err)}
	case !errors.As(err, &e) || e == nil:
		return padResult{outcome: outcomeFailed, err: maskRingErrors(err)}
	}
	return padResult{outcome: outcomeNotYet, err: maskRingErrors(err), retryAfter: min(max(e.After, minRetryDelay), maxNotYetDelay)}
}

// beforeRun calls the hook of that name. The caller holds no lock and no token.
func (r *Ring) callBeforeRun() (err error) {
	if r.cfg.BeforeRun == nil {
		return nil
	}
	defer recoverPanic("BeforeRun", &err)
	r.cfg.BeforeRun()
	return nil
}

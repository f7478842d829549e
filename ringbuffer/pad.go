package ringbuffer

import (
	"context"
	"time"

	"github.com/ringuid/ringuid/internal/errmask"
)

// padOutcome is the outcome of a try to put a run of the provider.
type padOutcome int

const (
	outcomePut       padOutcome = iota // a run was put
	outcomeNoRoom                      // the ring is full, or has no provider
	outcomeNotYet                      // the provider has no run now
	outcomeExhausted                   // the provider will never have another run
	outcomeFailed                      // the provider failed
	outcomeStopped                     // the ring was closed, or the context of New ended
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
	r.cfg.BeforeRun()
	if r.turn.tryAcquire() { // the common case: no other goroutine is padding
		if done, err := r.padInTurn(ctx); done {
			return err
		}
	}
	for {
		available, released := r.runAvailable.subscribe(), r.turn.released.subscribe()
		if r.closed.Load() {
			return ErrClosed
		}
		if r.hasRun() {
			return nil
		}
		r.cfg.BeforeRun()
		if r.turn.tryAcquire() {
			if done, err := r.padInTurn(ctx); done {
				return err
			}
			released = nil // no run may be put yet, so another turn would not help
			r.wakePadder()
		}
		select {
		case <-released:
		case <-available: // a run, or a failure, which the next try returns
		case <-ctx.Done():
			return waitError(errmask.Ended(ctx, ErrClosed, ErrExhausted), r.emptyError())
		case <-r.ctx.Done():
			return ErrClosed
		}
	}
}

// padInTurn puts one run for Pad, in a turn that Pad has acquired, and releases the turn. done is false if
// no run may be put yet.
func (r *Ring) padInTurn(ctx context.Context) (done bool, err error) {
	defer r.turn.release()
	if r.hasRun() {
		return true, nil // another goroutine has put a run before this turn
	}
	p := r.padOne(ctx)
	switch {
	case p.outcome == outcomePut:
		r.counters.paddings.caller.Add(1)
		return true, nil
	case r.closed.Load():
		return true, ErrClosed // Close may also be the reason why the provider failed
	case p.outcome == outcomeNoRoom || p.outcome == outcomeNotYet:
		return false, nil
	}
	return true, p.err
}

// checkPadding returns why no run can be put now, or the zero padResult if nothing prevents it. In a turn
// only Close can prevent it after that.
func (r *Ring) checkPadding() padResult {
	switch end := r.exhaustedError.Load(); {
	case r.closed.Load():
		return padResult{outcome: outcomeStopped, err: ErrClosed}
	case end != nil:
		return padResult{outcome: outcomeExhausted, err: *end}
	case r.cfg.Provider == nil || !r.hasRoom():
		return padResult{outcome: outcomeNoRoom}
	}
	return padResult{}
}

// padOne requests a run from the provider and puts it, if there is room. The caller has the turn, and has
// called BeforeRun before.
func (r *Ring) padOne(ctx context.Context) padResult {
	if p := r.checkPadding(); p.outcome != outcomePut {
		return p
	}
	run, p := r.callProvider(ctx)
	if p.outcome == outcomePut {
		r.publish(run)
		r.recordSuccess()
	} else {
		r.recordFailure(p)
	}
	return p
}

package ringbuffer

import (
	"context"
	"errors"
	"runtime/debug"
	"time"
)

// outcome is how a try to pad ended.
type outcome int

const (
	wasPut    outcome = iota // a run was put
	noRoom                   // the ring is full, or has no provider
	notYet                   // the provider has no run yet
	exhausted                // and never will
	hasFailed                // the provider failed
	stopped                  // the ring was closed, or the caller's context ended
)

// padding is a try to put a run of the provider's.
type padding struct {
	outcome outcome
	err     error         // why no run was put, unless there was no room
	after   time.Duration // notYet: when to ask again
}

// Pad puts one run of the provider's, in the caller's goroutine, if the ring is empty.
// Where another goroutine is at it, Pad waits for that one; where no run may be put yet, it
// waits as Wait does. What the provider fails with is returned.
func (r *Ring) Pad(ctx context.Context) error {
	if !r.made() {
		return errNotMade
	}
	if r.closed.Load() {
		return ErrClosed
	}
	before := r.beforeRun()
	if r.token.try() { // the common case: there is nobody to wait for
		if done, err := r.padHeld(ctx, before); done {
			return err
		}
	}
	for {
		fresh, freed := r.fresh.next(), r.token.freed.next()
		if r.closed.Load() {
			return ErrClosed
		}
		if r.hasRun() {
			return nil
		}
		before := r.beforeRun()
		if r.token.try() {
			if done, err := r.padHeld(ctx, before); done {
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
func (r *Ring) padHeld(ctx context.Context, before error) (done bool, err error) {
	defer r.token.free()
	if r.closed.Load() {
		return true, ErrClosed
	}
	if r.hasRun() {
		return true, nil // another put one while this waited
	}
	switch p := r.padOne(ctx, before); p.outcome {
	case wasPut:
		r.counts.paddings[Caller].Add(1)
		return true, nil
	case noRoom, notYet:
		return false, nil
	case stopped:
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
func (r *Ring) idle() padding {
	p := r.over()
	if p.outcome == wasPut && !r.pending.Load() {
		if _, room := r.room(); !room {
			p.outcome = noRoom
		}
	}
	return p
}

// over is idle but for the room.
func (r *Ring) over() padding {
	switch end := r.ended.Load(); {
	case r.closed.Load():
		return padding{outcome: stopped, err: ErrClosed}
	case r.pending.Load():
		return padding{} // a run that the provider has made is put in any case
	case end != nil:
		return padding{outcome: exhausted, err: *end}
	case r.cfg.Provider == nil:
		return padding{outcome: noRoom}
	}
	return padding{}
}

// padOne gets a run from the provider and puts it, if there is room. The caller holds the token,
// and has called beforeRun, whose error it passes on.
func (r *Ring) padOne(ctx context.Context, before error) padding {
	if p := r.over(); p.outcome != wasPut {
		return p
	}
	if !r.pending.Load() {
		if !r.reserve() {
			return padding{outcome: noRoom}
		}
		run, p := r.nextRun(ctx, before)
		if p.outcome != wasPut {
			r.failed(p)
			return p
		}
		r.waiting = run
		r.pending.Store(true)
	}
	if err := r.putLock.take(ctx); err != nil {
		r.Kick() // the run stays for the next who holds the token, the padder if nobody else
		return padding{outcome: stopped, err: err}
	}
	closed := r.closed.Load()
	if !closed {
		r.publish(r.waiting)
		r.pending.Store(false)
	}
	r.putLock.free()
	if closed {
		return padding{outcome: stopped, err: ErrClosed}
	}
	r.worked()
	return padding{}
}

// nextRun calls the provider, for which a place was reserved, with a context that Close cancels
// too. Unless there is a run, it gives the place back.
func (r *Ring) nextRun(ctx context.Context, before error) (run Run, p padding) {
	p = padding{outcome: hasFailed, err: before}
	returned := false
	defer func() {
		if v := recover(); v != nil {
			p = padding{outcome: hasFailed, err: &PanicError{Value: v, Stack: debug.Stack(), In: "the provider"}}
		} else if !returned { // and so the callers do not
			r.failed(padding{outcome: hasFailed, err: errEndedGoroutine})
		}
		if p.outcome != wasPut {
			r.unreserve()
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
	p = judge(err)
	returned = true
	return run, p
}

// judge says what a provider's error means. What it is not meant to say is masked. It runs code
// of the user's, the error's methods, so a panic of it has to be recovered.
func judge(err error) padding {
	if err == nil {
		return padding{}
	}
	e, _ := err.(*NotYetError)
	switch {
	case e != nil:
	case errors.Is(err, ErrExhausted):
		return padding{outcome: exhausted, err: maskClosed(err)}
	case !errors.As(err, &e) || e == nil:
		return padding{outcome: hasFailed, err: mask(err)}
	}
	return padding{outcome: notYet, err: mask(err), after: min(max(e.After, minRetry), maxRetry)}
}

// beforeRun calls the hook of that name. The caller holds no lock and no token.
func (r *Ring) beforeRun() (err error) {
	if r.cfg.BeforeRun == nil {
		return nil
	}
	defer catch("BeforeRun", &err)
	r.cfg.BeforeRun()
	return nil
}

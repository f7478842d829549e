package ringbuffer

import (
	"context"
	"fmt"
	"log/slog"
)

// A TakePolicy decides what a take does when the ring is empty. It corresponds to the original's
// rejected-take handler. Many takers may call OnEmpty concurrently, and no lock is held during the
// call. If it returns nil, the take tries again, and calls it again if the ring is still empty. If
// it returns an error, the take returns that error. A policy cannot make a take return anything but
// an integer of a run that was put. A panic is returned as a *PanicError.
//
// While the ring is open and its provider is not exhausted, errors.Is finds neither ErrClosed nor
// ErrExhausted in the error that the take returns, whatever error the policy returned.
//
// To write a policy, build it on the ring's Wait and Pad.
type TakePolicy interface {
	OnEmpty(ctx context.Context, r *Ring) error
}

// A PutPolicy decides what Put does when the ring is full. It corresponds to the original's
// rejected-put handler. No lock is held while OnFull runs. The run has not been put. Put returns
// what OnFull returns, or a *PanicError if OnFull panics. Padding never calls the policy, because it
// asks for a run only if there is room for it.
type PutPolicy interface {
	OnFull(ctx context.Context, r *Ring, run Run) error
}

// callTakePolicy calls the take policy and returns a panic as an error.
func (r *Ring) callTakePolicy(ctx context.Context) (err error) {
	defer recoverPanic("the take policy", &err)
	return r.cfg.TakePolicy.OnEmpty(ctx, r)
}

// callPutPolicy calls the put policy and returns a panic as an error.
func (r *Ring) callPutPolicy(ctx context.Context, run Run) (err error) {
	defer recoverPanic("the put policy", &err)
	return r.cfg.PutPolicy.OnFull(ctx, r, run)
}

// builtinTakePolicy is the type of the take policies of this package.
type builtinTakePolicy int

const (
	// CallerPads lets the taker put one run itself, so that takes do not fail on a machine that is
	// too busy to run the padder. If no run may be put yet, the taker waits as Wait does. If the
	// provider fails, the take returns the provider's error. CallerPads is the default.
	CallerPads builtinTakePolicy = iota

	// Wait lets the taker sleep until a run was put, its context ends or the ring is closed.
	Wait

	// Fail lets the take return an *EmptyError at once.
	Fail
)

// OnEmpty implements TakePolicy.
func (p builtinTakePolicy) OnEmpty(ctx context.Context, r *Ring) error {
	switch p {
	case CallerPads:
		return r.Pad(ctx)
	case Wait:
		return r.Wait(ctx)
	case Fail:
		if !r.initialized() {
			return errNotInitialized
		}
		return r.emptyError()
	}
	return fmt.Errorf("%w: take policy is %d; must be CallerPads, Wait or Fail", ErrConfig, int(p))
}

// String returns the name of the policy.
func (p builtinTakePolicy) String() string {
	switch p {
	case CallerPads:
		return "CallerPads"
	case Wait:
		return "Wait"
	case Fail:
		return "Fail"
	}
	return fmt.Sprintf("TakePolicy(%d)", int(p))
}

// builtinPutPolicy is the type of the put policies of this package.
type builtinPutPolicy int

// Discard logs the run that did not fit and returns ErrFull. It is the default.
const Discard builtinPutPolicy = 0

// OnFull implements PutPolicy.
func (p builtinPutPolicy) OnFull(_ context.Context, r *Ring, run Run) error {
	if !r.initialized() {
		return errNotInitialized
	}
	r.log.Log(slog.LevelWarn, "ringbuffer: the ring is full, a run was discarded",
		"first", run.First, "length", run.Length, "capacity_runs", r.cfg.Capacity)
	return ErrFull
}

// String returns the name of the policy.
func (p builtinPutPolicy) String() string { return "Discard" }

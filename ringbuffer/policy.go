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
// an integer of a run that was put.
//
// While the ring is open and its provider is not exhausted, errors.Is finds neither ErrClosed nor
// ErrExhausted in the error that the take returns, whatever error the policy returned.
//
// If the policy returns ErrEmpty itself, the take returns an *EmptyError, which has the cause.
//
// A program may implement it; no method will be added. To write a policy, build it on the methods of w. It cannot put runs, and it
// cannot close the ring.
type TakePolicy interface {
	OnEmpty(ctx context.Context, w Waiter) error
}

// A Waiter is what a TakePolicy can do about an empty ring: Wait and Pad are those of the Ring. The ring implements it. Programs only
// call it: a later version may have more methods.
type Waiter interface {
	Wait(ctx context.Context) error
	Pad(ctx context.Context) error
}

// waiter is the Waiter that policies get. It hides the ring: no assertion converts it to a *Ring.
type waiter struct{ ring *Ring }

// Wait implements Waiter.
func (w waiter) Wait(ctx context.Context) error { return w.ring.Wait(ctx) }

// Pad implements Waiter.
func (w waiter) Pad(ctx context.Context) error { return w.ring.Pad(ctx) }

// A PutPolicy decides what Put does when the ring is full. It corresponds to the original's
// rejected-put handler. No lock is held while OnFull runs. The run has not been put. Put returns
// what OnFull returns. A program may implement it; no method will be added.
type PutPolicy interface {
	OnFull(ctx context.Context, r *Ring, run Run) error
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
func (p builtinTakePolicy) OnEmpty(ctx context.Context, w Waiter) error {
	switch p {
	case CallerPads:
		return w.Pad(ctx)
	case Wait:
		return w.Wait(ctx)
	case Fail:
		return ErrEmpty
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

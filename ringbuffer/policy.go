package ringbuffer

import (
	"context"
	"fmt"
	"log/slog"
)

// A TakePolicy says what a take does when the ring is empty (the original's rejected-take
// handler). OnEmpty is called outside every lock, by many takers at a time. When it returns
// nil the take looks again, and calls it again if there is still nothing; when it returns an
// error the take returns that error. It cannot make a take return anything but an integer
// of a run that was put. A panic is returned as a *PanicError. While the ring is open, errors.Is
// finds neither ErrClosed nor ErrExhausted in what the take returns, whatever the policy's error
// wraps. A policy of one's own builds on the ring's Wait and Pad.
type TakePolicy interface {
	OnEmpty(ctx context.Context, r *Ring) error
}

// A PutPolicy says what Put does when the ring is full (the original's rejected-put
// handler). OnFull is called outside every lock; the run has not been put, and Put returns
// what OnFull returns, or its panic as a *PanicError. Padding asks for a run only when there is
// room, so it rejects none.
type PutPolicy interface {
	OnFull(ctx context.Context, r *Ring, run Run) error
}

// askTakePolicy calls the take policy.
func (r *Ring) callTakePolicy(ctx context.Context) (err error) {
	defer recoverPanic("the take policy", &err)
	return r.cfg.TakePolicy.OnEmpty(ctx, r)
}

// askPutPolicy calls the put policy.
func (r *Ring) callPutPolicy(ctx context.Context, run Run) (err error) {
	defer recoverPanic("the put policy", &err)
	return r.cfg.PutPolicy.OnFull(ctx, r, run)
}

// builtinTake is the type of the take policies that come with the package.
type builtinTakePolicy int

const (
	// CallerPads lets the taker fill one run itself, so that a machine too busy to run the
	// padder fails nobody. Where no run may be put yet it waits as Wait does; where the
	// provider fails it returns that error. It is the default.
	CallerPads builtinTakePolicy = iota

	// Wait lets the taker sleep until a run was put, its context ends or the ring closes.
	Wait

	// Fail returns an *EmptyError at once.
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
	return fmt.Errorf("%w: there is no take policy %d", ErrConfig, int(p))
}

// String returns the policy's name.
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

// builtinPut is the type of the put policies that come with the package.
type builtinPutPolicy int

// Discard logs the run that found no place and returns ErrFull. It is the default.
const Discard builtinPutPolicy = 0

// OnFull implements PutPolicy.
func (p builtinPutPolicy) OnFull(_ context.Context, r *Ring, run Run) error {
	if !r.initialized() {
		return errNotInitialized
	}
	r.log.Log(slog.LevelWarn, "ringbuffer: discarded a run, the ring is full",
		"first", run.First, "length", run.Length, "capacity_runs", r.cfg.Capacity)
	return ErrFull
}

// String returns the policy's name.
func (p builtinPutPolicy) String() string { return "Discard" }

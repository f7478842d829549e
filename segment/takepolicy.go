package segment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

// takePolicy is the take policy of the ring: that of WithTakePolicy, or the default.
type takePolicy struct {
	provider *provider
	policy   ringbuffer.TakePolicy // nil: the default
	maxWait  time.Duration
}

// errNotInTime is the reason why a call no longer waits.
var errNotInTime = errors.New("segment: no range arrived in time")

// OnEmpty implements ringbuffer.TakePolicy.
func (t takePolicy) OnEmpty(ctx context.Context, w ringbuffer.Waiter) error {
	waits := t.policy == nil || t.policy == ringbuffer.Wait || t.policy == ringbuffer.CallerPads
	state := t.provider.snapshot()
	if waits && t.maxWait == 0 || t.policy == nil && state.Hopeless {
		return currentError{t.provider.emptyErrorOf(state, nil)}
	}
	t.provider.demand.add(1)
	defer t.provider.demand.add(-1)
	if t.policy == nil {
		return w.Wait(ctx)
	}
	err := t.policy.OnEmpty(ctx, w)
	var source *sourceError
	if cause := context.Cause(ctx); errors.As(err, &source) && errors.Is(cause, errNotInTime) {
		return cause // CallerPads: the source was cut off
	}
	return err
}

// currentError is an EmptyError of this Sequence, on its way through the ring. One of another Sequence, which a
// policy of the program may return, has no such type.
type currentError struct{ *EmptyError }

// emptyError returns the error of a call that found no number. wait is why it no longer waited, or nil.
func (p *provider) emptyError(wait error) *EmptyError {
	return p.emptyErrorOf(p.snapshot(), wait)
}

// emptyErrorOf is emptyError with a state of the source.
func (p *provider) emptyErrorOf(s sourceState, wait error) *EmptyError {
	return &EmptyError{Tag: p.tag, Source: p.description(), Since: s.FailingSince, Tries: s.Tries, Cause: s.LastError, Wait: wait, hopeless: s.Hopeless}
}

// translate returns the error of a call for an error of the ring.
func (s *Sequence) translate(ctx context.Context, err error) error {
	var current currentError
	var source *sourceError
	switch {
	case errors.Is(err, ringbuffer.ErrClosed), s.closed.Load():
		return ErrClosed
	case errors.As(err, &current):
		return current.EmptyError
	case ctx.Err() != nil:
		return s.provider.emptyError(ended(ctx))
	case errors.Is(err, errNotInTime):
		return s.provider.emptyError(fmt.Errorf("%w: within %v", errNotInTime, s.cfg.maxWait))
	case errors.Is(err, ringbuffer.ErrEmpty), errors.As(err, &source):
		return s.provider.emptyError(nil)
	}
	return s.provider.emptyError(mask(err)) // of a policy of the program
}

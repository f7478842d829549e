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
	if ctx.Value(withoutPolicy{}) != nil || waits && t.maxWait == 0 || t.policy == nil && state.Hopeless {
		return currentError{t.provider.emptyErrorOf(state, nil)}
	}
	t.provider.demand.add(1)
	defer t.provider.demand.add(-1)
	limited, cancel := context.WithTimeoutCause(ctx, t.maxWait, fmt.Errorf("%w: within %v", errNotInTime, t.maxWait))
	defer cancel()
	if t.policy != nil {
		err := t.policy.OnEmpty(limited, w)
		var source *sourceError
		if errors.As(err, &source) && ctx.Err() == nil && limited.Err() != nil {
			return context.Cause(limited) // CallerPads: the source was cut off
		}
		return err
	}
	return w.Wait(limited)
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

// withoutPolicy is the key of a context with which a take does not call the policy, so that it does not wait.
type withoutPolicy struct{}

// overtaken reports whether err says that waiting is useless, although a number is in memory: while the take policy
// ran, a range was put, and then the source refused to return another one. The call must take again, or it would
// report the end of the numbers before the last ones are taken.
func (s *Sequence) overtaken(err error) bool {
	empty, ok := err.(*EmptyError)
	if !ok || !empty.hopeless {
		return false
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return s.ring.Wait(ended) == nil
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
		return s.provider.emptyError(context.Cause(ctx))
	case errors.Is(err, errNotInTime):
		return s.provider.emptyError(fmt.Errorf("%w: within %v", errNotInTime, s.cfg.maxWait))
	case errors.Is(err, ringbuffer.ErrEmpty), errors.As(err, &source):
		return s.provider.emptyError(nil)
	}
	return s.provider.emptyError(mask(err)) // of a policy of the program
}

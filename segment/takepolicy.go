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
func (t takePolicy) OnEmpty(ctx context.Context, r *ringbuffer.Ring) error {
	if t.policy == nil && (t.maxWait == 0 || t.provider.hopeless()) {
		return t.provider.emptyError(nil)
	}
	limited, cancel := context.WithTimeoutCause(ctx, t.maxWait, fmt.Errorf("%w: within %v", errNotInTime, t.maxWait))
	defer cancel()
	if t.policy != nil {
		return t.policy.OnEmpty(limited, r)
	}
	return r.Wait(limited)
}

// hopeless reports whether the last try has failed in a way that waiting does not cure.
func (p *provider) hopeless() bool {
	err := p.snapshot().LastError
	for _, target := range []error{ErrNoTag, ErrSetBack, ErrExhausted, ErrSource, ErrTag, ErrOption} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// emptyError returns the error of a call that found no number. wait is why it no longer waited, or nil.
func (p *provider) emptyError(wait error) error {
	s := p.snapshot()
	return &EmptyError{Tag: p.tag, Source: p.description(), Since: s.FailingSince, Tries: s.Tries, Cause: s.LastError, Wait: wait}
}

// translate returns the error of a call for an error of the ring.
func (s *Sequence) translate(ctx context.Context, err error) error {
	var empty *EmptyError
	var source *sourceError
	switch {
	case errors.Is(err, ringbuffer.ErrClosed):
		return ErrClosed
	case errors.As(err, &empty):
		return err
	case ctx.Err() != nil:
		return s.provider.emptyError(context.Cause(ctx))
	case errors.Is(err, errNotInTime):
		return s.provider.emptyError(fmt.Errorf("%w: within %v", errNotInTime, s.cfg.maxWait))
	case errors.Is(err, ringbuffer.ErrEmpty), errors.As(err, &source):
		return s.provider.emptyError(nil)
	}
	return s.provider.emptyError(mask(err)) // of a policy of the program
}

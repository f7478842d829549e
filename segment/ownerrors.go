package segment

import (
	"context"
	"errors"

	"github.com/ringuid/ringuid/internal/errmask"
	"github.com/ringuid/ringuid/ringbuffer"
)

// mask hides the errors that only a Sequence or a ring may report in an error of user code: a source that returns ErrClosed must not
// make callers believe that their Sequence is closed.
func mask(err error) error { return errmask.Mask(err, ownErrors()...) }

// ended returns why a context has ended, of a call or of WithMaxWait.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errNotInTime) {
		return cause
	}
	return errmask.Ended(ctx, ownErrors()...)
}

// ownErrors returns the errors that sources and policies do not report.
func ownErrors() []error {
	return []error{
		ErrClosed, ErrEmpty, ErrBusy, errNotInTime, (*EmptyError)(nil),
		ringbuffer.ErrConfig, ringbuffer.ErrRun, ringbuffer.ErrEmpty, ringbuffer.ErrFull, ringbuffer.ErrClosed, ringbuffer.ErrExhausted,
		(*ringbuffer.NotYetError)(nil), (*ringbuffer.EmptyError)(nil),
	}
}

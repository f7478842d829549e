package segment

import (
	"context"

	"github.com/ringuid/ringuid/internal/errmask"
	"github.com/ringuid/ringuid/ringbuffer"
)

// mask hides the errors that only a Sequence or a ring may report in an error of user code: a source that returns ErrClosed must not
// make callers believe that their Sequence is closed.
func mask(err error) error { return errmask.Mask(err, ownErrors()...) }

// ended returns why the context of a caller has ended. Its cause may be an error of another tag.
func ended(ctx context.Context) error {
	return errmask.Ended(ctx, append(ownErrors(), ErrNoTag, ErrSetBack, ErrExhausted, ErrSource, (*SetBackError)(nil))...)
}

// ownErrors returns the errors that sources and policies do not report.
func ownErrors() []error {
	return []error{
		ErrClosed, ErrEmpty, ErrBusy, errNotInTime, (*EmptyError)(nil),
		ringbuffer.ErrConfig, ringbuffer.ErrRun, ringbuffer.ErrEmpty, ringbuffer.ErrFull, ringbuffer.ErrClosed, ringbuffer.ErrExhausted,
		(*ringbuffer.NotYetError)(nil), (*ringbuffer.EmptyError)(nil),
	}
}

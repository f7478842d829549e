package uid

import (
	"github.com/ringuid/ringuid/internal/errmask"
	"github.com/ringuid/ringuid/ringbuffer"
)

// mask hides the errors that have a meaning to a generator or a ring in an error of user code: an assigner that returns
// ringbuffer.ErrExhausted, for example, must not end the generator.
func mask(err error) error { return errmask.Mask(err, ownErrors()...) }

// ownErrors returns the errors of generators and rings.
func ownErrors() []error {
	return []error{
		ErrOption, ErrBeforeEpoch, ErrTimeExhausted, ErrWorkerID, ErrClosed, ErrLease, ErrRange, ErrClockBack, ErrMove, ErrBusy,
		ringbuffer.ErrConfig, ringbuffer.ErrRun, ringbuffer.ErrEmpty, ringbuffer.ErrFull, ringbuffer.ErrClosed, ringbuffer.ErrExhausted,
		(*ringbuffer.NotYetError)(nil), (*ringbuffer.EmptyError)(nil), (*timeExhaustedError)(nil),
	}
}

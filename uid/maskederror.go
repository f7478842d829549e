package uid

import (
	"errors"
	"slices"

	"github.com/ringuid/ringuid/ringbuffer"
)

// maskedError is an error of user code. errors.Is and errors.As find in it what they find in the
// error itself, except for the errors that have a meaning to a generator or a ring: an assigner that
// returns ringbuffer.ErrExhausted, for example, must not end the generator.
type maskedError struct {
	err error
}

// mask returns err as a maskedError.
func mask(err error) error { return maskedError{err} }

// Error implements error.
func (e maskedError) Error() string { return e.err.Error() }

// Is implements what errors.Is looks for.
func (e maskedError) Is(target error) bool {
	return target != nil && !slices.Contains(ownErrors(), target) && errors.Is(e.err, target)
}

// As implements what errors.As looks for.
func (e maskedError) As(target any) bool {
	switch target.(type) {
	case **ringbuffer.NotYetError, **ringbuffer.EmptyError, **timeExhaustedError:
		return false
	}
	return errors.As(e.err, target)
}

// ownErrors returns the sentinel errors of generators and rings.
func ownErrors() []error {
	return []error{
		ErrOption, ErrBeforeEpoch, ErrTimeExhausted, ErrWorkerID, ErrClosed, ErrLease, ErrRange, ErrClockBack, ErrMove, ErrBusy,
		ringbuffer.ErrConfig, ringbuffer.ErrRun, ringbuffer.ErrEmpty, ringbuffer.ErrFull, ringbuffer.ErrClosed, ringbuffer.ErrExhausted,
	}
}

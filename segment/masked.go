package segment

import (
	"errors"
	"slices"

	"github.com/ringuid/ringuid/ringbuffer"
)

// maskedError is an error of user code. errors.Is and errors.As find in it what they find in the error itself, except
// for the errors that only a Sequence or a ring may report: a source that returns ErrClosed must not make callers
// believe that their Sequence is closed.
type maskedError struct{ err error }

// mask returns err as a maskedError.
func mask(err error) error { return &maskedError{err} }

// Error implements error.
func (e *maskedError) Error() string { return e.err.Error() }

// Is implements what errors.Is looks for.
func (e *maskedError) Is(target error) bool {
	return target != nil && !slices.Contains(ownErrors(), target) && errors.Is(e.err, target)
}

// As implements what errors.As looks for.
func (e *maskedError) As(target any) bool {
	switch target.(type) {
	case **EmptyError, **ringbuffer.NotYetError, **ringbuffer.EmptyError:
		return false
	}
	return errors.As(e.err, target)
}

// ownErrors returns the errors that sources and policies do not report.
func ownErrors() []error {
	return []error{
		ErrClosed, ErrEmpty, ErrBusy, errNotInTime,
		ringbuffer.ErrConfig, ringbuffer.ErrRun, ringbuffer.ErrEmpty, ringbuffer.ErrFull, ringbuffer.ErrClosed, ringbuffer.ErrExhausted,
	}
}

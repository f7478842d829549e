package ringbuffer

import "errors"

// maskedError is an error of the user's code that wraps ErrClosed or ErrExhausted, perhaps those
// of another ring, and so would be taken for what this ring reports. errors.Is does not find them;
// the text and all else stay.
type maskedError struct {
	err           error
	showExhausted bool // ErrExhausted is meant
}

// mask hides ErrClosed and ErrExhausted in an error. It returns err itself, where it wraps neither.
func maskRingErrors(err error) error {
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrExhausted) {
		return &maskedError{err: err}
	}
	return err
}

// maskClosed hides ErrClosed alone.
func maskClosed(err error) error {
	if errors.Is(err, ErrClosed) {
		return &maskedError{err: err, showExhausted: true}
	}
	return err
}

// Error implements error.
func (e *maskedError) Error() string { return e.err.Error() }

// Is finds what errors.Is finds in the error, but for what is hidden.
func (e *maskedError) Is(target error) bool {
	if target == ErrClosed || target == ErrExhausted && !e.showExhausted {
		return false
	}
	return errors.Is(e.err, target)
}

// As finds what errors.As finds in the error.
func (e *maskedError) As(target any) bool { return errors.As(e.err, target) }

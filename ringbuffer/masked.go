package ringbuffer

import "errors"

// maskedError wraps an error of user code that wraps ErrClosed or ErrExhausted, perhaps those of
// another ring. Without the mask a caller would believe that this ring is closed or exhausted.
// errors.Is does not find the masked errors; the text and all other errors stay.
type maskedError struct {
	err           error
	showExhausted bool // do not mask ErrExhausted
}

// maskRingErrors masks ErrClosed and ErrExhausted in an error. It returns err itself if err wraps
// neither.
func maskRingErrors(err error) error {
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrExhausted) {
		return &maskedError{err: err}
	}
	return err
}

// maskClosed masks only ErrClosed in an error.
func maskClosed(err error) error {
	if errors.Is(err, ErrClosed) {
		return &maskedError{err: err, showExhausted: true}
	}
	return err
}

// Error implements error.
func (e *maskedError) Error() string { return e.err.Error() }

// Is reports whether errors.Is finds target in the wrapped error, unless target is masked.
func (e *maskedError) Is(target error) bool {
	if target == ErrClosed || target == ErrExhausted && !e.showExhausted {
		return false
	}
	return errors.Is(e.err, target)
}

// As calls errors.As on the wrapped error.
func (e *maskedError) As(target any) bool { return errors.As(e.err, target) }

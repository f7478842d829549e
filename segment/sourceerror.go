package segment

import (
	"errors"
	"fmt"
)

// errGoexit is the error of a source that called runtime.Goexit.
var errGoexit = errors.New("the source ended its goroutine")

// sourceError is an error of the source with its context.
type sourceError struct {
	tag      string
	source   string
	err      error
	hopeless bool // waiting does not cure it
	invalid  bool // the request was invalid, so the source may not have been asked
}

// newSourceError returns a sourceError. If a method of err panics, the panic is the error.
func newSourceError(tag, source string, err error) (e *sourceError) {
	defer func() {
		if v := recover(); v != nil {
			e = &sourceError{tag: tag, source: source, err: fmt.Errorf("a method of the source's error panicked: %v", v)}
		}
	}()
	invalid := errors.Is(err, ErrTag) || errors.Is(err, ErrOption)
	errors.As(err, new(*EmptyError)) // so that a panic of As happens here, and not in a call of Next
	return &sourceError{tag: tag, source: source, err: err, hopeless: isHopeless(err), invalid: invalid}
}

// isHopeless reports whether err is an error that waiting does not cure.
func isHopeless(err error) bool {
	for _, target := range []error{ErrNoTag, ErrSetBack, ErrExhausted, ErrSource, ErrTag, ErrOption} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// hopelessTry reports whether waiting does not cure err, the error of a try. If there are several sources, that must
// be so for all of them.
func hopelessTry(err error) bool {
	switch e := err.(type) {
	case *sourceError:
		return e.hopeless
	case interface{ Unwrap() []error }: // several sources
		for _, err := range e.Unwrap() {
			if !hopelessTry(err) {
				return false
			}
		}
		return true
	}
	return isHopeless(err)
}

// Error implements error.
func (e *sourceError) Error() string {
	return fmt.Sprintf("segment: tag %q: %s: %v", e.tag, e.source, e.err)
}

// Unwrap returns the source's error, without the errors that only a Sequence may report.
func (e *sourceError) Unwrap() error { return mask(e.err) }

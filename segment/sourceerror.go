package segment

import (
	"errors"
	"fmt"
)

// sourceError is an error of the source with its context.
type sourceError struct {
	tag      string
	source   string
	err      error
	hopeless bool // waiting does not cure it
	invalid  bool // the request was invalid, so the source may not have been asked
}

func newSourceError(tag, source string, err error) *sourceError {
	invalid := errors.Is(err, ErrTag) || errors.Is(err, ErrOption)
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

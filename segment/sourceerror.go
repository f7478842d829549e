package segment

import (
	"errors"
	"fmt"
)

// sourceError is an error of the source with its context.
type sourceError struct {
	tag    string
	source string
	err    error
}

// hopelessTry reports whether waiting does not cure err, the error of a try. If there are several sources, that must
// be so for all of them.
func hopelessTry(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			if !hopelessTry(err) {
				return false
			}
		}
		return true
	}
	for _, target := range []error{ErrNoTag, ErrSetBack, ErrExhausted, ErrSource, ErrTag, ErrOption} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// Error implements error.
func (e *sourceError) Error() string {
	return fmt.Sprintf("segment: tag %q: %s: %v", e.tag, e.source, e.err)
}

// Unwrap returns the source's error, without the errors that only a Sequence may report.
func (e *sourceError) Unwrap() error { return mask(e.err) }

package recycled

import (
	"errors"

	"github.com/ringuid/ringuid/workerassign"
)

// temporaryError is an error of the store, after which Assign tries again.
type temporaryError struct{ err error }

// Error implements error.
func (e temporaryError) Error() string { return e.err.Error() }

// Unwrap returns the error of the store.
func (e temporaryError) Unwrap() error { return e.err }

// temporary marks an error of the store as temporary, unless the store says that another try does not help.
func temporary(err error) error {
	if err == nil || errors.Is(err, workerassign.ErrPermanent) || errors.Is(err, workerassign.ErrOption) {
		return err
	}
	return temporaryError{err}
}

// isTemporary reports whether another try may succeed.
func isTemporary(err error) bool {
	_, ok := err.(temporaryError)
	return ok || isHeld(err)
}

// isHeld reports whether an error says that a slot is held, so that waiting may help.
func isHeld(err error) bool { return errors.Is(err, ErrPoolFull) || errors.Is(err, ErrSlotHeld) }

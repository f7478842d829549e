package workerassign

import "github.com/ringuid/ringuid/internal/sqlstore"

// failure is the error of an attempt, and what to do about it.
type failure struct {
	err        error
	action     sqlstore.Action
	reason     sqlstore.Reason
	returnAsIs bool // return err itself, not a DatabaseError: the failure is not the database's
}

// classify decides what to do about an error of the driver.
func classify(err error) failure {
	action, reason := sqlstore.Classify(err)
	return failure{err: maskOwnErrors(err), action: action, reason: reason}
}

// maskOwnErrors returns an error of the driver, or of a function that the user gave to the driver,
// such that errors.Is matches none of this package's errors. Those have a meaning for generators.
func maskOwnErrors(err error) error {
	return sqlstore.Mask(err, ErrOption, ErrWidth, ErrNoKey, ErrTooLow, ErrPermanent, ErrGaveUp, ErrCorrupt, ErrFile, ErrInUse, ErrReleased)
}

// isAnyOf reports whether err matches at least one of the targets, by errors.Is.
func isAnyOf(err error, targets ...error) bool { return sqlstore.IsAnyOf(err, targets...) }

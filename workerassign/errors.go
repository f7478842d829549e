package workerassign

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrOption is returned by Assign of an assigner that was made with arguments or options
	// that cannot be used, or that cannot serve the generator that asks. Nothing has been
	// assigned then.
	ErrOption = errors.New("workerassign: bad option")

	// ErrWidth is returned by Assign of Prefix and Divide for a worker ID of the assigner beneath that
	// does not fit in the bits that are left to it.
	ErrWidth = errors.New("workerassign: worker ID too wide")

	// ErrInUse is returned by Assign of Static while the worker ID is leased: it is assigned
	// again after that lease is released.
	ErrInUse = errors.New("workerassign: worker ID in use")

	// ErrReleased is returned by Reserve of a lease that was released: nothing more is granted
	// with it.
	ErrReleased = errors.New("workerassign: lease was released")

	// ErrNoKey is returned by the disposable assigner when the insert returned no key, or
	// one that is not positive.
	ErrNoKey = errors.New("workerassign: the insert returned no usable key")

	// ErrTooLow is returned by the disposable assigner for a key below WithMinWorkerID, or not
	// above what WithHighWaterFile remembers: the table's counter went back. The key is not
	// used, and its row is rolled back.
	ErrTooLow = errors.New("workerassign: worker ID too low")

	// ErrPermanent is what errors.Is finds in a *DatabaseError: a fault that another try
	// does not fix.
	ErrPermanent = errors.New("workerassign: permanent database error")

	// ErrGaveUp is what errors.Is finds in a *RetryError: the time was over before a try
	// succeeded.
	ErrGaveUp = errors.New("workerassign: gave up")

	// ErrCorrupt is returned by the file assigner when its file is not what it wrote, or is
	// gone. It never starts such a file again: worker IDs would come a second time.
	ErrCorrupt = errors.New("workerassign: corrupt worker file")

	// ErrFile is returned by the file assigner when its file cannot be read, locked or
	// written. It wraps what the system said.
	ErrFile = errors.New("workerassign: worker file")
)

// DatabaseError reports a fault that another try does not fix, and what does. A generator may ask
// again all the same, after a pause: somebody may have fixed it.
type DatabaseError struct {
	Table  string // the table that the insert was for
	Server string // host and port of the server; "" where they are not known
	Advice string // what to do about it
	Err    error  // what the driver returned
}

// Error implements error.
func (e *DatabaseError) Error() string {
	if e == nil {
		return ErrPermanent.Error()
	}
	return fmt.Sprintf("%v: table %s: %v; %s", ErrPermanent, atServer(e.Table, e.Server), e.Err, e.Advice)
}

// Is reports that every DatabaseError is ErrPermanent.
func (e *DatabaseError) Is(target error) bool { return target == ErrPermanent }

// Unwrap returns what the driver returned.
func (e *DatabaseError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// RetryError reports that the time for assigning a worker ID was over. errors.Is finds
// ErrGaveUp, the error of the context, and what the last try failed of.
type RetryError struct {
	Operation string        // what was tried
	Attempts  int           // how many tries there were
	Elapsed   time.Duration // how long it took
	Cause     error         // the error of the context
	LastErr   error         // what the last try failed of; nil if there was none
	Advice    string        // what to check; "" if there is nothing to say
}

// Error implements error.
func (e *RetryError) Error() string {
	if e == nil {
		return ErrGaveUp.Error()
	}
	tries := fmt.Sprintf("tried %d times", e.Attempts)
	if e.Attempts == 1 {
		tries = "tried once"
	}
	s := fmt.Sprintf("%v: %s: %s in %v: %v", ErrGaveUp, e.Operation, tries, e.Elapsed.Round(time.Millisecond), e.Cause)
	if e.LastErr != nil {
		s += fmt.Sprintf("; the last try: %v", e.LastErr)
	}
	if e.Advice != "" {
		s += "; " + e.Advice
	}
	return s
}

// Is reports that every RetryError is ErrGaveUp.
func (e *RetryError) Is(target error) bool { return target == ErrGaveUp }

// Unwrap returns the error of the context and what the last try failed of.
func (e *RetryError) Unwrap() (causes []error) {
	if e == nil {
		return nil
	}
	for _, cause := range []error{e.Cause, e.LastErr} {
		if cause != nil {
			causes = append(causes, cause)
		}
	}
	return causes
}

// at returns what is at a server, with the server where it is known.
func atServer(what, server string) string {
	if server == "" {
		return what
	}
	return what + " at " + server
}

// A noAnswerError reports that a try was over before the server answered. It hides the errors of
// contexts: that of the try is none of the caller's.
type attemptTimeoutError struct {
	phase   phase
	elapsed time.Duration
	err     error // what the driver made of it
}

// Error implements error.
func (e *attemptTimeoutError) Error() string {
	s := fmt.Sprintf("no answer within %v while waiting for %v", e.elapsed.Round(time.Millisecond), e.phase)
	if e.Unwrap() != nil {
		s += fmt.Sprintf(" (%v)", e.err)
	}
	return s
}

// Unwrap returns what the driver made of it, if that is more than the end of the context.
func (e *attemptTimeoutError) Unwrap() error {
	if isAnyOf(e.err, context.DeadlineExceeded, context.Canceled) {
		return nil
	}
	return e.err
}

package workerassign

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrOption is returned by Assign of an assigner that was made with arguments or options
	// that cannot be used. Nothing has been assigned then.
	ErrOption = errors.New("workerassign: bad option")

	// ErrWidth is returned by Assign of Prefix and Divide for a worker ID of the assigner beneath that
	// does not fit in the bits that are left to it.
	ErrWidth = errors.New("workerassign: worker ID too wide")

	// ErrNoKey is returned by the disposable assigner when the insert returned no key, or
	// one that is not positive.
	ErrNoKey = errors.New("workerassign: the insert returned no usable key")

	// ErrPermanent is what errors.Is finds in a *DatabaseError: a fault that another try
	// does not mend.
	ErrPermanent = errors.New("workerassign: permanent database error")

	// ErrGaveUp is what errors.Is finds in a *GaveUpError: the time was over before a try
	// succeeded.
	ErrGaveUp = errors.New("workerassign: gave up")

	// ErrDamaged is returned by the file assigner when its file is not what it wrote, or is
	// gone. It never starts such a file again: worker IDs would come a second time.
	ErrDamaged = errors.New("workerassign: damaged worker file")

	// ErrFile is returned by the file assigner when its file cannot be read, locked or
	// written. It wraps what the system said.
	ErrFile = errors.New("workerassign: worker file")
)

// DatabaseError reports a fault that another try does not mend, and what does.
type DatabaseError struct {
	Table  string // the table that the insert was for
	Advice string // what to do about it
	Err    error  // what the driver said
}

// Error implements error.
func (e *DatabaseError) Error() string {
	return fmt.Sprintf("%v: table %s: %v; %s", ErrPermanent, e.Table, e.Err, e.Advice)
}

// Is tells that every DatabaseError is ErrPermanent.
func (e *DatabaseError) Is(target error) bool { return target == ErrPermanent }

// Unwrap returns what the driver said.
func (e *DatabaseError) Unwrap() error { return e.Err }

// GaveUpError reports that the time for assigning a worker ID was over. errors.Is finds
// ErrGaveUp, the error of the context, and what the last try failed of.
type GaveUpError struct {
	What     string        // what was tried
	Attempts int           // how many tries there were
	Took     time.Duration // how long it took
	Cause    error         // the error of the context
	Last     error         // what the last try failed of; nil if none came to an end
}

// Error implements error.
func (e *GaveUpError) Error() string {
	s := fmt.Sprintf("%v: %s: tried %d times in %v: %v", ErrGaveUp, e.What, e.Attempts, e.Took.Round(time.Millisecond), e.Cause)
	if e.Last != nil {
		s += fmt.Sprintf("; the last try: %v", e.Last)
	}
	return s
}

// Is tells that every GaveUpError is ErrGaveUp.
func (e *GaveUpError) Is(target error) bool { return target == ErrGaveUp }

// Unwrap returns the error of the context and what the last try failed of.
func (e *GaveUpError) Unwrap() []error {
	if e.Last == nil {
		return []error{e.Cause}
	}
	return []error{e.Cause, e.Last}
}

package workerassign

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/internal/workerfile"
)

var (
	// ErrOption is returned by Assign if the assigner was created with an invalid argument or
	// option, or if it cannot serve the generator that asks. Nothing has been assigned.
	ErrOption = errors.New("workerassign: invalid option")

	// ErrWidth is returned by Assign of Prefix and Divide if a worker ID of the wrapped assigner
	// does not fit into the bits that the wrapper leaves to it, and by Assign of package recycled if the worker
	// ID of recycled.WithWorkerID is beyond the layout.
	ErrWidth = errors.New("workerassign: worker ID too wide")

	// ErrInUse is returned by Assign of Static while the worker ID is leased, and by Assign of
	// StaticFile and recycled.Saved while another generator or process has the file. After the release of that
	// lease, Assign succeeds again.
	ErrInUse = workerfile.ErrInUse

	// ErrRenewal is returned by Assign for a renewal (Request.Renewal) if the assigner's state may have been copied
	// with the process, so that it could grant both copies the same lease: by Static, StaticFile, File, recycled.Saved,
	// and recycled.Assigner on a store without a clock of its own.
	ErrRenewal = errors.New("workerassign: the lease cannot be renewed")

	// ErrReleased is returned by Reserve of a lease that was released.
	ErrReleased = errors.New("workerassign: lease was released")

	// ErrLeaseLost is returned by Reserve, or Release, of a lease of recycled worker IDs, or of Disposable with WithVerification, that
	// cannot be extended any more: another generator has taken its worker ID, or the store may have lost writes. What was granted
	// remains valid, unless the error wraps ErrVoid too.
	ErrLeaseLost = errors.New("workerassign: the lease is lost")

	// ErrVoid is returned by Reserve or Release if another process may hold what was granted: the store shows that a
	// copy of this process extended or released the lease, or that it has lost writes. Generators drop the grant, and
	// all UIDs that they have generated and not returned, at once. It is a lost lease, too: an error that wraps
	// ErrVoid also wraps ErrLeaseLost. Release of such a lease changes nothing in the store.
	ErrVoid = errors.New("workerassign: the grant is void")

	// ErrNoKey is returned by Disposable if the insert returned no key, or a key below 1.
	ErrNoKey = errors.New("workerassign: the insert returned no usable key")

	// ErrTooLow is returned by Disposable if the key is below WithMinWorkerID. The table's counter went
	// back, and earlier worker IDs would be assigned again. The key is not used, and its row is rolled back.
	ErrTooLow = errors.New("workerassign: worker ID too low")

	// ErrPermanent matches every *DatabaseError, and other errors of stores that another try does not
	// fix, by errors.Is. An invalid option is ErrOption instead; one that the server does not support is both.
	ErrPermanent = errors.New("workerassign: permanent error")

	// ErrGaveUp matches every *RetryError, by errors.Is: the context ended before an attempt
	// succeeded.
	ErrGaveUp = errors.New("workerassign: gave up")

	// ErrCorrupt is returned by File, StaticFile, recycled.Saved and the store of filestore.New if the content of
	// the file is not what they wrote, or if the file is missing; and by StaticFile and recycled.Saved if the
	// file is a copy. They never start from the beginning in this case, because they would assign the
	// same worker IDs a second time.
	ErrCorrupt = workerfile.ErrCorrupt

	// ErrFile is returned by File, StaticFile, recycled.Saved and the store of filestore.New if the file cannot be
	// read, locked or written. It wraps the error of the operating system.
	ErrFile = workerfile.ErrFile
)

// DatabaseError reports an error that trying again does not fix, and how to fix it. A generator
// that is running tries again nevertheless, after a pause, because someone may have fixed the cause.
type DatabaseError struct {
	Table  string // the table of the insert
	Server string // of WithServerName; "" without it
	Advice string // how to fix the cause
	Err    error  // the error of the driver, or one that wraps ErrNoKey or ErrTooLow
}

// Error implements error.
func (e *DatabaseError) Error() string {
	if e == nil {
		return ErrPermanent.Error()
	}
	return fmt.Sprintf("%v: table %s: %v; %s", ErrPermanent, sqlattempt.AtServer(e.Table, e.Server), e.Err, e.Advice)
}

// Is reports whether target is ErrPermanent.
func (e *DatabaseError) Is(target error) bool { return target == ErrPermanent }

// Unwrap returns Err.
func (e *DatabaseError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// RetryError reports that the context ended before a worker ID was assigned. errors.Is matches
// ErrGaveUp, the error of the context, and the error of the last attempt.
type RetryError struct {
	Operation string        // what was attempted
	Attempts  int           // the number of attempts
	Elapsed   time.Duration // the duration of all attempts and their pauses
	Cause     error         // the error of the context
	LastErr   error         // the error of the last attempt; nil if there was none
	Advice    string        // what to check; "" if there is no advice
}

// Error implements error.
func (e *RetryError) Error() string {
	if e == nil {
		return ErrGaveUp.Error()
	}
	attempts := fmt.Sprintf("%d attempts", e.Attempts)
	if e.Attempts == 1 {
		attempts = "1 attempt"
	}
	s := fmt.Sprintf("%v: %s: %s in %v: %v", ErrGaveUp, e.Operation, attempts, e.Elapsed.Round(time.Millisecond), e.Cause)
	if e.LastErr != nil {
		s += fmt.Sprintf("; the last attempt: %v", e.LastErr)
	}
	if e.Advice != "" {
		s += "; " + e.Advice
	}
	return s
}

// Is reports whether target is ErrGaveUp.
func (e *RetryError) Is(target error) bool { return target == ErrGaveUp }

// Unwrap returns the error of the context and the error of the last attempt.
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

// ownErrors returns the errors of this package that have a meaning for generators. They are not found in an error of the driver, or of a
// function that the user gave to the driver.
func ownErrors() []error {
	return []error{ErrOption, ErrWidth, ErrNoKey, ErrTooLow, ErrPermanent, ErrGaveUp, ErrCorrupt, ErrFile, ErrInUse, ErrReleased, ErrRenewal,
		ErrLeaseLost, ErrVoid}
}

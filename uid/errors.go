package uid

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

var (
	// ErrOption is returned by the constructors, and by NewFormat, for an option that cannot
	// be used and for options that do not go together: nothing has been assigned then. Claim
	// and Move.Check return it for arguments that cannot be used.
	ErrOption = errors.New("uid: bad option")

	// ErrBeforeEpoch is returned by the constructors when the clock is before the epoch.
	ErrBeforeEpoch = errors.New("uid: the clock is before the epoch")

	// ErrTimeExhausted is returned by the constructors when the time bits are spent
	// already, and by every Next for ever, until Close, once the generator has come to their
	// end: a Cached one by as much earlier as it has borrowed.
	ErrTimeExhausted = errors.New("uid: the time bits are spent")

	// ErrWorkerID is returned by the constructors for a worker ID that is negative or does
	// not fit the layout. Where a rollover meets one, it comes with ErrLease from Next.
	ErrWorkerID = errors.New("uid: worker ID out of range")

	// ErrClosed is returned by every call that would take a UID after Close, and by calls
	// that wait during it.
	ErrClosed = errors.New("uid: the generator is closed")

	// ErrEmpty is returned by a Cached generator that has no UID ready, where its take
	// policy does not wait. The error says what hinders the padding.
	ErrEmpty = ringbuffer.ErrEmpty

	// ErrLease is returned when a lease cannot be had or continued: it wraps what the
	// assigner said.
	ErrLease = errors.New("uid: lease")

	// ErrBusy is returned by Close when code of the user's (an assigner, a lease, a clock, a log
	// handler) was still running after some seconds: because it hangs, or because Close was
	// called from within it. The generator is closed all the same.
	ErrBusy = errors.New("uid: closed, but a callback is still running")

	// ErrRange is returned by Compose for a field that does not fit the layout, and by
	// ParseID for a text that is no UID.
	ErrRange = errors.New("uid: out of range")
)

// timeExhaustedError is ErrTimeExhausted with the bound that was met.
type timeExhaustedError struct {
	format Format
	delta  int64
}

// Error implements error.
func (e *timeExhaustedError) Error() string {
	return fmt.Sprintf("%v: time unit %d is beyond %d, the last one of layout %v; from epoch %s on it ended at %s; "+
		"a later epoch or more time bits are needed (never an epoch that makes old UIDs come again)",
		ErrTimeExhausted, e.delta, e.format.layout.MaxDelta(), e.format.layout,
		e.format.epoch.Format(time.RFC3339), e.format.End().Format(time.RFC3339))
}

// Is tells that the error is ErrTimeExhausted, and to the ring that its provider is done.
func (e *timeExhaustedError) Is(target error) bool {
	return target == ErrTimeExhausted || target == ringbuffer.ErrExhausted
}

// leaseError is ErrLease with what the assigner said. Its errors are the user's, so that they
// are not taken for this library's own.
func leaseError(doing string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrLease, doing, maskedError{err: err})
}

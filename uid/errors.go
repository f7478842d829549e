package uid

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/errmask"
	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/ringbuffer"
)

var (
	// ErrOption is returned by the constructors, and by NewFormat, for an invalid option and for
	// options that contradict each other. No worker ID has been assigned then. Claim and Move.Check
	// return it for invalid arguments, ParseFormat for a text that is not a format, and the methods of
	// nil and zero values for calls that require a valid one.
	ErrOption = errors.New("uid: invalid option")

	// ErrBeforeEpoch is returned by the constructors when the clock is before the epoch.
	ErrBeforeEpoch = errors.New("uid: the clock is before the epoch")

	// ErrTimeExhausted is returned by the constructors when the time bits are exhausted. A generator
	// that reaches their end while it runs returns it from every Next, permanently, until Close. A
	// Cached generator reaches the end earlier, by the time that it has borrowed.
	ErrTimeExhausted = leasing.ErrTimeExhausted

	// ErrWorkerID is returned by the constructors for a worker ID that is negative or does not fit the
	// layout. When that happens at a rollover, Next returns it together with ErrLease.
	ErrWorkerID = leasing.ErrWorkerID

	// ErrClosed is returned by every call that would take a UID after Close, and by calls that wait
	// when Close is called.
	ErrClosed = errors.New("uid: the generator is closed")

	// ErrEmpty is returned by a Cached generator that has no UID ready, if its take policy does not
	// wait, or no longer. The error includes the last padding error. It is the error of package ringbuffer, as its text says.
	ErrEmpty = ringbuffer.ErrEmpty

	// ErrLease is returned when a lease cannot be taken, extended or, by Close, released. The error also
	// wraps the assigner's error.
	ErrLease = leasing.ErrLease

	// ErrBusy is returned by Close when user code (an assigner, a lease, a clock) was
	// still running after some seconds: because it hangs, or because it called Close itself. The
	// generator is closed nevertheless.
	ErrBusy = errors.New("uid: closed, but a callback is still running")

	// ErrRange is returned for a value that is out of range, or that has another form:
	//   - by Compose, and by At, AtContext and Fill of a Backfill, for what does not fit the format;
	//   - by ParseID, ParseBase32, ParseBase62, UnmarshalText, UnmarshalBinary and Scan for what is not an ID;
	//   - by UnmarshalJSON for what is not an ID, or not Parts;
	//   - by Value of a Scattered and MarshalJSON of a NumberID for an ID that the form does not have.
	ErrRange = errors.New("uid: out of range")

	// ErrClockBack is returned by a Default generator whose RollbackPolicy is WaitOut or Refuse, while
	// the wall clock is behind the last UID's time.
	ErrClockBack = errors.New("uid: the wall clock has moved back")

	// ErrMove is returned by Move.Check when new UIDs could be equal to old ones, or sort before them.
	ErrMove = errors.New("uid: the move is not safe")
)

// errNotMade is the error of the methods of a generator that no constructor returned.
var errNotMade = fmt.Errorf("%w: the generator is nil or the zero value; create it with NewCached or NewDefault", ErrOption)

// mask hides the errors that have a meaning to a generator or a ring in an error of user code: an assigner that returns
// ringbuffer.ErrExhausted, for example, must not end the generator.
func mask(err error) error { return errmask.Mask(err, ownErrors()...) }

// ended returns why a context has ended.
func ended(ctx context.Context) error { return errmask.Ended(ctx, ownErrors()...) }

// ownErrors returns the errors of generators and rings.
func ownErrors() []error {
	return []error{
		ErrOption, ErrBeforeEpoch, ErrTimeExhausted, ErrWorkerID, ErrClosed, ErrLease, ErrRange, ErrClockBack, ErrMove, ErrBusy,
		ringbuffer.ErrConfig, ringbuffer.ErrRun, ringbuffer.ErrEmpty, ringbuffer.ErrFull, ringbuffer.ErrClosed, ringbuffer.ErrExhausted,
		(*ringbuffer.NotYetError)(nil), (*ringbuffer.EmptyError)(nil), (*timeExhaustedError)(nil),
	}
}

// timeExhaustedError is ErrTimeExhausted with the bound that was reached.
type timeExhaustedError struct {
	format Format
	delta  int64
}

// Error implements error.
func (e *timeExhaustedError) Error() string {
	return fmt.Sprintf("%v: time unit is %d; must be 0 to %d for layout %v, whose time from epoch %s ended at %s: "+
		"check this host's clock; if it is right, change to a format that Move.Check finds safe: with another one, old UIDs may be generated again",
		ErrTimeExhausted, e.delta, e.format.layout.MaxDelta(), e.format.layout,
		e.format.Epoch().Format(time.RFC3339), e.format.End().Format(time.RFC3339))
}

// Is reports that the error is ErrTimeExhausted, and ErrExhausted for the ring: its provider has no
// more runs.
func (e *timeExhaustedError) Is(target error) bool {
	return target == ErrTimeExhausted || target == ringbuffer.ErrExhausted
}

// notBegunError is the reason why a generator waits for a lease that begins later: its worker ID was
// granted to another lease up to then, or the assigner's store may have lost such a grant. It is ErrLease.
type notBegunError struct {
	workerID int64
	begins   time.Time
}

// Error implements error.
func (e *notBegunError) Error() string {
	return fmt.Sprintf("%v: worker ID %d must not be used before %s; the generator waits for that",
		ErrLease, e.workerID, e.begins.UTC().Format(time.RFC3339Nano))
}

// Is implements what errors.Is looks for.
func (e *notBegunError) Is(target error) bool { return target == ErrLease }

// notBegun returns the error for a lease whose first unit has not started.
func (c *core) notBegun(workerID, firstUnit int64) error {
	return &notBegunError{workerID: workerID, begins: c.cfg.format.base.Time(firstUnit)}
}

package ringbuffer

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/errmask"
)

var (
	// ErrConfig is returned by New for a Config that is invalid, by Put on a ring with a provider, by Claim
	// for less than one integer, and by the methods of a Ring that neither New nor Init has initialized.
	ErrConfig = errors.New("ringbuffer: bad configuration")

	// ErrRun is returned by Put for an invalid run. If a Provider returns an invalid run, ErrRun
	// is the reason of the failed padding.
	ErrRun = errors.New("ringbuffer: bad run")

	// ErrEmpty is returned by a take that found the ring empty and whose policy did not wait, or no longer. It
	// comes as an *EmptyError, which contains the reason.
	ErrEmpty = errors.New("ringbuffer: empty")

	// ErrFull is returned by Put when the ring is full.
	ErrFull = errors.New("ringbuffer: full")

	// ErrClosed is returned by Take, Claim, Put, Pad and Wait after Close, and by such a call that
	// is waiting when Close is called.
	ErrClosed = errors.New("ringbuffer: closed")

	// ErrExhausted marks the error of a Provider that will never have another run. The provider
	// wraps it. Once the ring is empty, every take returns the provider's error.
	ErrExhausted = errors.New("ringbuffer: the provider is exhausted")

	// ErrBusy is returned by Close if user code is still running after 5 seconds.
	ErrBusy = errors.New("ringbuffer: still running after Close")
)

// errNotInitialized is returned by the methods of a nil or a zero Ring.
var errNotInitialized = fmt.Errorf("%w: the ring is nil or the zero value; call New to get a ring", ErrConfig)

// errPutWithProvider is returned by Put on a ring with a provider.
var errPutWithProvider = fmt.Errorf("%w: the ring has a provider, which puts all of its runs; Put is for a ring without one", ErrConfig)

// NotYetError is returned by a Provider that has no run now but will have one later. It is not a
// failure. The padder asks again after the given time, and waiting takers continue to wait.
type NotYetError struct {
	After  time.Duration // when to ask again; the ring limits it to between a millisecond and a second
	Reason error         // why there is no run; may be nil
}

// Error implements error.
func (e *NotYetError) Error() string {
	switch {
	case e == nil:
		return "ringbuffer: no run yet"
	case e.Reason == nil:
		return fmt.Sprintf("ringbuffer: no run yet; ask again in %v", e.After)
	}
	return fmt.Sprintf("ringbuffer: no run yet; ask again in %v: %v", e.After, e.Reason)
}

// Unwrap returns the reason.
func (e *NotYetError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Reason
}

// EmptyError is returned by a take that found the ring empty. errors.Is finds ErrEmpty in it, and
// also its cause if there is one.
type EmptyError struct {
	Cause error // the error of the last try to pad; nil if that try put a run
}

// Error implements error.
func (e *EmptyError) Error() string {
	if e.Unwrap() == nil {
		return "ringbuffer: empty: takers are faster than runs are put; increase the capacity (boost power) or use another take policy"
	}
	return fmt.Sprintf("ringbuffer: empty: %v", e.Cause)
}

// Is reports whether target is ErrEmpty: every EmptyError is.
func (e *EmptyError) Is(target error) bool { return target == ErrEmpty }

// Unwrap returns the cause.
func (e *EmptyError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Cause
}

// waitError is returned by a wait whose context ended.
func waitError(ctxErr error, empty *EmptyError) error {
	return fmt.Errorf("ringbuffer: gave up waiting for a run: %w (%w)", ctxErr, empty)
}

// maskRingErrors hides ErrClosed and ErrExhausted in an error of user code, where they are perhaps those of another ring. It returns
// err itself if err wraps neither.
func maskRingErrors(err error) error {
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrExhausted) {
		return errmask.Mask(err, ErrClosed, ErrExhausted)
	}
	return err
}

// maskClosed hides only ErrClosed.
func maskClosed(err error) error {
	if errors.Is(err, ErrClosed) {
		return errmask.Mask(err, ErrClosed)
	}
	return err
}

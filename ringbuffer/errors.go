package ringbuffer

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrConfig is returned by New for a Config that cannot be used.
	ErrConfig = errors.New("ringbuffer: bad configuration")

	// ErrRun is returned by Put for a run that is not one, and reported of a Provider that
	// returned such a run.
	ErrRun = errors.New("ringbuffer: bad run")

	// ErrEmpty is returned by a take that found nothing to take and whose policy did not
	// wait. It comes as an *EmptyError, which says why the ring is empty.
	ErrEmpty = errors.New("ringbuffer: empty")

	// ErrFull is returned by Put when the ring is full.
	ErrFull = errors.New("ringbuffer: full")

	// ErrClosed is returned by every call after Close, and by waiting ones during it.
	ErrClosed = errors.New("ringbuffer: closed")

	// ErrExhausted marks the error of a Provider that will never have another run: a
	// provider wraps it, and once the ring is empty every take returns that error.
	ErrExhausted = errors.New("ringbuffer: the provider is exhausted")
)

// NotYetError is what a Provider returns when it has no run now but will have one later.
// It is not a failure: the padder asks again after the given time, and takers that wait go
// on waiting.
type NotYetError struct {
	After  time.Duration // when to ask again: at least a millisecond later, and at most a second
	Reason error         // why, for those who ask; may be nil
}

// Error implements error.
func (e *NotYetError) Error() string {
	if e.Reason == nil {
		return fmt.Sprintf("ringbuffer: no run for another %v", e.After)
	}
	return fmt.Sprintf("ringbuffer: no run for another %v: %v", e.After, e.Reason)
}

// Unwrap returns the reason.
func (e *NotYetError) Unwrap() error { return e.Reason }

// isNotYet tells whether err is, or wraps, a *NotYetError.
func isNotYet(err error) bool {
	if err == nil {
		return false
	}
	var notYet *NotYetError
	return errors.As(err, &notYet)
}

// EmptyError is the error of a take that found the ring empty. errors.Is finds ErrEmpty in
// it, and its cause where there is one.
type EmptyError struct {
	Cause error // what the last try to pad ended in; nil when it put a run
}

// Error implements error.
func (e *EmptyError) Error() string {
	if e.Cause == nil {
		return "ringbuffer: empty: takers are ahead of the padder; a greater boost power or another take policy helps"
	}
	return fmt.Sprintf("ringbuffer: empty: %v", e.Cause)
}

// Is tells that every EmptyError is ErrEmpty.
func (e *EmptyError) Is(target error) bool { return target == ErrEmpty }

// Unwrap returns the cause.
func (e *EmptyError) Unwrap() error { return e.Cause }

// PanicError reports a Provider that panicked.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // where
}

// Error implements error.
func (e *PanicError) Error() string {
	return fmt.Sprintf("ringbuffer: the provider panicked: %v", e.Value)
}

// waitError is the error of a wait whose context ended.
func waitError(ctxErr error, empty *EmptyError) error {
	return fmt.Errorf("ringbuffer: gave up waiting for a run: %w (%w)", ctxErr, empty)
}

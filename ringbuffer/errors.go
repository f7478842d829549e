package ringbuffer

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

var (
	// ErrConfig is returned by New for a Config that cannot be used, and by the methods of a
	// Ring that New did not make.
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

	// ErrBusy is returned by Close when code of the user's was still running after CloseTimeout.
	ErrBusy = errors.New("ringbuffer: still running after Close")
)

// errNotMade is the error of the methods of a nil or a zero Ring.
var errNotInitialized = fmt.Errorf("%w: the ring is nil or the zero value; New makes one", ErrConfig)

// errEndedGoroutine is the padding error of a provider that called runtime.Goexit.
var errProviderGoexit = errors.New("ringbuffer: the provider ended its goroutine")

// NotYetError is what a Provider returns when it has no run now but will have one later.
// It is not a failure: the padder asks again after the given time, and takers that wait go
// on waiting.
type NotYetError struct {
	After  time.Duration // when to ask again: at least a millisecond later, and at most a second
	Reason error         // why, for those who ask; may be nil
}

// Error implements error.
func (e *NotYetError) Error() string {
	switch {
	case e == nil:
		return "ringbuffer: no run yet"
	case e.Reason == nil:
		return fmt.Sprintf("ringbuffer: no run for another %v", e.After)
	}
	return fmt.Sprintf("ringbuffer: no run for another %v: %v", e.After, e.Reason)
}

// Unwrap returns the reason.
func (e *NotYetError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Reason
}

// EmptyError is the error of a take that found the ring empty. errors.Is finds ErrEmpty in
// it, and its cause where there is one.
type EmptyError struct {
	Cause error // what the last try to pad ended in; nil when it put a run
}

// Error implements error.
func (e *EmptyError) Error() string {
	if e.Unwrap() == nil {
		return "ringbuffer: empty: takers are ahead of the padder; a greater boost power or another take policy helps"
	}
	return fmt.Sprintf("ringbuffer: empty: %v", e.Cause)
}

// Is tells that every EmptyError is ErrEmpty.
func (e *EmptyError) Is(target error) bool { return target == ErrEmpty }

// Unwrap returns the cause.
func (e *EmptyError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Cause
}

// PanicError reports that a Provider, a policy or a hook of the Config panicked.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // where
	In    string // what panicked: "the provider", "the take policy", "BeforeRun", …
}

// Error implements error.
func (e *PanicError) Error() string {
	if e == nil {
		e = new(PanicError)
	}
	return fmt.Sprintf("ringbuffer: %s panicked: %v", cmp.Or(e.In, "code of the user's"), e.Value)
}

// catch makes an error of a panic. It must be deferred.
func recoverPanic(in string, err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Value: v, Stack: debug.Stack(), In: in}
	}
}

// waitError is the error of a wait whose context ended.
func waitError(ctxErr error, empty *EmptyError) error {
	return fmt.Errorf("ringbuffer: gave up waiting for a run: %w (%w)", ctxErr, empty)
}

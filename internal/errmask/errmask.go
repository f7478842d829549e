// Package errmask hides errors of this library in errors of user code: a source or a policy that returns the error of another generator,
// such as ErrClosed, must not make callers believe that it is their own.
package errmask

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// masked is an error in which some errors are not found.
type masked struct {
	err    error
	hidden []error
}

// Mask returns an error with the text of err, in which errors.Is and errors.As find what they find in err, except hidden: errors.Is none
// of these errors, and errors.As none of their types.
func Mask(err error, hidden ...error) error { return &masked{err, hidden} }

// Ended returns why ctx has ended: ctx.Err(), and the cause if that is another error, in which hidden are not found: a group of goroutines
// ends with the first error of one of them, which may be that of another generator.
func Ended(ctx context.Context, hidden ...error) error {
	cause := context.Cause(ctx)
	if cause == ctx.Err() {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), Mask(cause, hidden...))
}

// Error implements error.
func (e *masked) Error() string { return e.err.Error() }

// Is implements what errors.Is looks for.
func (e *masked) Is(target error) bool {
	return target != nil && !slices.Contains(e.hidden, target) && errors.Is(e.err, target)
}

// As implements what errors.As looks for.
func (e *masked) As(target any) bool {
	wanted := reflect.TypeOf(target).Elem()
	return !slices.ContainsFunc(e.hidden, func(h error) bool { return reflect.TypeOf(h) == wanted }) && errors.As(e.err, target)
}

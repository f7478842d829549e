package sqlattempt

import (
	"context"
	"fmt"
	"time"
)

// AtServer returns "what at server", or only what if the server is not known.
func AtServer(what, server string) string {
	if server == "" {
		return what
	}
	return what + " at " + server
}

// A TimeoutError reports that an attempt ended before the server answered. It does not wrap the
// error of the attempt's context, because the caller does not know that context.
type TimeoutError struct {
	Waiting string // what the attempt was waiting for
	Elapsed time.Duration
	Err     error // the error of the driver
}

// Error implements error.
func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("no answer within %v while waiting for %v", e.Elapsed.Round(time.Millisecond), e.Waiting)
	if e.Unwrap() != nil {
		s += fmt.Sprintf(" (%v)", e.Err)
	}
	return s
}

// Unwrap returns the error of the driver, or nil if that only reports the end of a context.
func (e *TimeoutError) Unwrap() error {
	if IsAnyOf(e.Err, context.DeadlineExceeded, context.Canceled) {
		return nil
	}
	return e.Err
}

package workerassign

import (
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/sqlstore"
)

// Error implements error.
func (f *slotFailure) Error() string { return f.err.Error() }

// Unwrap returns the error of the driver.
func (f *slotFailure) Unwrap() error { return f.err }

// permanentSlotFailure returns an error that another try would not fix.
func permanentSlotFailure(err error, reason sqlstore.Reason) error {
	return &slotFailure{failure: failure{err: err, action: sqlstore.Stop, reason: reason}}
}

// slotTimeoutError reports that a call ended before the server answered. It does not wrap the error of the
// call's context, because the caller does not know that context.
type slotTimeoutError struct {
	elapsed time.Duration
	err     error // the error of the driver
}

// Error implements error.
func (e *slotTimeoutError) Error() string {
	return fmt.Sprintf("no answer within %v (%v)", e.elapsed.Round(time.Millisecond), e.err)
}

// Package options applies the options of constructors.
package options

import (
	"fmt"
	"log/slog"
	"reflect"
	"time"
)

// Apply calls apply for each option. O is an interface or a function. fail is called for one that is nil.
func Apply[O any](opts []O, apply func(O), fail func(format string, args ...any)) {
	for i, o := range opts {
		if reflect.ValueOf(opts).Index(i).IsNil() {
			fail("an option is nil; must not be nil")
			continue
		}
		apply(o)
	}
}

// SetError sets the error of the first invalid option, which wraps what the package returns for those.
func SetError(err *error, wrapped error, format string, args ...any) {
	if *err == nil {
		*err = fmt.Errorf("%w: "+format, append([]any{wrapped}, args...)...)
	}
}

// Set sets a field to a value that is valid. Otherwise it calls fail.
func Set[T any](field *T, value T, valid bool, fail func(format string, args ...any), format string, args ...any) {
	if !valid {
		fail("%s", fmt.Sprintf(format, args...)) // Sprintf makes go vet check the format
		return
	}
	*field = value
}

// SetTimeout sets a timeout, which must be greater than 0.
func SetTimeout(timeout *time.Duration, d time.Duration, fail func(format string, args ...any)) {
	Set(timeout, d, d > 0, fail, "timeout is %v; must be greater than 0", d)
}

// SetLogger sets a logger, which must not be nil.
func SetLogger(logger **slog.Logger, l *slog.Logger, fail func(format string, args ...any)) {
	Set(logger, l, l != nil, fail, "the logger is nil; must not be nil")
}

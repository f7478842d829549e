package segment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/errmask"
	"github.com/ringuid/ringuid/ringbuffer"
)

// Errors. Test for them with errors.Is.
var (
	// ErrOption is the error of a constructor that got an invalid argument, and of a method of a value that
	// no constructor has made.
	ErrOption = errors.New("segment: invalid option")

	// ErrTag is the error for a name that no tag can have.
	ErrTag = errors.New("segment: invalid tag")

	// ErrNoTag is the error for a tag that the source does not have. Create it first: see Creator.
	ErrNoTag = errors.New("segment: no such tag")

	// ErrTagExists is the error of CreateTag for a tag that the source has already.
	ErrTagExists = errors.New("segment: the tag exists already")

	// ErrSetBack is the error for a counter that is lower than before. It comes as a *SetBackError.
	ErrSetBack = errors.New("segment: the counter was set back")

	// ErrExhausted is the error for a tag that has no numbers left.
	ErrExhausted = errors.New("segment: no numbers left")

	// ErrEmpty is the error of a call that found no number, because the source has not returned a new range in
	// time. It comes as an *EmptyError.
	ErrEmpty = errors.New("segment: no number at present")

	// ErrSource is the error for a source whose records or replies are wrong: a row that somebody damaged, a
	// table of another shape, a range that overlaps an earlier one.
	ErrSource = errors.New("segment: wrong source")

	// ErrClosed is the error of calls after Close.
	ErrClosed = errors.New("segment: closed")

	// ErrBusy is the error of Close if code of the source or of a policy still runs after 5 seconds.
	ErrBusy = errors.New("segment: still running after Close")
)

// A SetBackError reports that a tag's counter in the source is lower than the end of what was received from it:
// somebody has lowered it, restored a backup, or a failover has lost writes. Nothing is handed out then, because
// others may have received the same numbers. Raise the counter to at least AtLeast, and beyond the numbers that
// all other processes have received. errors.Is finds ErrSetBack in it.
type SetBackError struct {
	Tag     string
	Counter int64 // the next number that the source would hand out
	AtLeast int64 // the next number that is acceptable: Request.AtLeast
}

// Error implements error.
func (e *SetBackError) Error() string {
	return fmt.Sprintf("segment: the counter of tag %q was set back: it is %d, and numbers below %d were handed out already: "+
		"raise it to more than any number that was handed out", e.Tag, e.Counter, e.AtLeast)
}

// Is reports whether target is ErrSetBack.
func (e *SetBackError) Is(target error) bool { return target == ErrSetBack }

// An EmptyError is the error of a call that found no number. errors.Is finds ErrEmpty in it, and also its causes.
type EmptyError struct {
	Tag    string
	Source string    // the description of the source
	Since  time.Time // when the first try of the present series of failures failed; the zero time if no try has failed
	Tries  int       // how many tries have failed since then
	Cause  error     // the error of the last try; nil if no try has failed
	Wait   error     // why the call no longer waited, such as the error of its context; may be nil

	hopeless bool // waiting does not cure Cause
}

// Error implements error.
func (e *EmptyError) Error() string {
	s := fmt.Sprintf("segment: tag %q has no number at present", e.Tag)
	switch {
	case e.Cause != nil:
		s += fmt.Sprintf(": %s has failed since %s (%d tries): %v", e.Source, e.Since.UTC().Format(time.RFC3339), e.Tries, e.Cause)
	default:
		s += fmt.Sprintf(": %s has not returned the next range yet", e.Source)
	}
	if e.Wait != nil {
		s += fmt.Sprintf(" (%v)", e.Wait)
	}
	return s
}

// Is reports whether target is ErrEmpty.
func (e *EmptyError) Is(target error) bool { return target == ErrEmpty }

// Unwrap returns the causes.
func (e *EmptyError) Unwrap() []error {
	var errs []error
	if e.Cause != nil {
		errs = append(errs, e.Cause)
	}
	if e.Wait != nil {
		errs = append(errs, e.Wait)
	}
	return errs
}

// mask hides the errors that only a Sequence or a ring may report in an error of user code: a source that returns ErrClosed must not
// make callers believe that their Sequence is closed.
func mask(err error) error { return errmask.Mask(err, ownErrors()...) }

// ended returns why the context of a caller has ended. Its cause may be an error of another tag.
func ended(ctx context.Context) error {
	return errmask.Ended(ctx, append(ownErrors(), ErrNoTag, ErrSetBack, ErrExhausted, ErrSource, (*SetBackError)(nil))...)
}

// ownErrors returns the errors that sources and policies do not report.
func ownErrors() []error {
	return []error{
		ErrClosed, ErrEmpty, ErrBusy, errNotInTime, (*EmptyError)(nil),
		ringbuffer.ErrConfig, ringbuffer.ErrRun, ringbuffer.ErrEmpty, ringbuffer.ErrFull, ringbuffer.ErrClosed, ringbuffer.ErrExhausted,
		(*ringbuffer.NotYetError)(nil), (*ringbuffer.EmptyError)(nil),
	}
}

// sourceError is an error of the source with its context.
type sourceError struct {
	tag    string
	source string
	err    error
}

// hopelessTry reports whether waiting does not cure err, the error of a try. If there are several sources, that must
// be so for all of them.
func hopelessTry(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			if !hopelessTry(err) {
				return false
			}
		}
		return true
	}
	for _, target := range []error{ErrNoTag, ErrSetBack, ErrExhausted, ErrSource, ErrTag, ErrOption} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// Error implements error.
func (e *sourceError) Error() string {
	return fmt.Sprintf("segment: tag %q: %s: %v", e.tag, e.source, e.err)
}

// Unwrap returns the source's error, without the errors that only a Sequence may report.
func (e *sourceError) Unwrap() error { return mask(e.err) }

package lockedfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
)

const (
	initialPause = time.Millisecond // the first pause between two attempts to acquire the lock
	warningDelay = time.Second      // a longer wait for the lock is reported
)

// DefaultMaxPause is the usual value of Waiting.MaxPause.
const DefaultMaxPause = 20 * time.Millisecond

// Waiting is how Open waits.
type Waiting struct {
	MaxPause time.Duration                                          // the longest pause between two attempts
	Long     func(lock string, waited time.Duration, lastErr error) // called once if the wait lasts longer than a second; may be nil
	Failed   func(lock string, lastErr error)                       // called after each attempt that failed; may be nil
	Hook     Hook
}

// A WaitError is the error of Open if its context ends before the lock is available.
type WaitError struct {
	Path     string // of the lock file
	Attempts int
	Elapsed  time.Duration
	Cause    error // the error of the context
	LastErr  error // why the last attempt failed; nil if there was none
}

// Error implements error.
func (e *WaitError) Error() string {
	s := fmt.Sprintf("waiting for the lock %s: %v after %v and %d attempts", e.Path, e.Cause, e.Elapsed.Round(time.Millisecond), e.Attempts)
	if e.LastErr != nil {
		s += ": " + e.LastErr.Error()
	}
	return s
}

// Unwrap returns the cause and the error of the last attempt.
func (e *WaitError) Unwrap() []error {
	if e.LastErr == nil {
		return []error{e.Cause}
	}
	return []error{e.Cause, e.LastErr}
}

// acquire is TryLock, and waits while another process or goroutine holds the lock. It tries again if the lock
// file was deleted or replaced. It pauses after each failed attempt, for either reason, because both may
// last. If ctx ends, it returns a *WaitError.
func acquire(ctx context.Context, path string, w Waiting) (*os.File, error) {
	begin, reported := time.Now(), false
	pauses := backoff.Pauses{Initial: initialPause, Maximum: w.MaxPause}
	var last error // why the last attempt failed
	for attempt := 1; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return nil, &WaitError{Path: path, Attempts: attempt - 1, Elapsed: time.Since(begin), Cause: err, LastErr: last}
		}
		file, err := TryLock(path, w.Hook)
		if last = err; err == nil {
			return file, nil
		}
		if !errors.Is(err, ErrHeld) && !errors.Is(err, ErrReplaced) {
			return nil, err
		}
		if w.Failed != nil {
			w.Failed(path, err)
		}
		if took := time.Since(begin); took > warningDelay && !reported {
			reported = true
			if w.Long != nil {
				w.Long(path, took, last)
			}
		}
		backoff.Sleep(ctx, pauses.After(attempt)) // the loop checks the context
	}
}

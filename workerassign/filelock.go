package workerassign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/sqlstore"
)

const (
	initialLockPause = time.Millisecond // the first pause between two attempts to acquire the lock
	lockWarningDelay = time.Second      // a longer wait for the lock is logged
)

// The reasons why an attempt to acquire the lock failed.
var (
	errLockHeld     = errors.New("another process, or another goroutine of this process, holds the lock")
	errLockReplaced = errors.New("the lock file was deleted or replaced while it was being locked: do not delete or replace it")
)

// acquireLock opens the lock file and locks it exclusively. It waits while another process or
// goroutine holds the lock, and tries again if the lock file was deleted or replaced. It pauses after
// each failed attempt, for either reason, because both may last.
func (f *File) acquireLock(ctx context.Context, log *safelog.Queue, path string) (*os.File, error) {
	begin, logged := time.Now(), false
	var last error // why the last attempt failed
	for attempt := 1; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return nil, &RetryError{Operation: "waiting for the lock " + path, Attempts: attempt - 1, Elapsed: time.Since(begin), Cause: err, LastErr: last}
		}
		file, err := f.tryLockFile(path)
		if last = err; err == nil {
			return file, nil
		}
		if !sqlstore.IsAnyOf(err, errLockHeld, errLockReplaced) {
			return nil, err
		}
		if took := time.Since(begin); took > lockWarningDelay && !logged {
			logged = true
			log.Log(slog.LevelWarn, "workerassign: still waiting for a lock", "lock", path, "for", took.Round(time.Millisecond), "err", last)
		}
		sqlstore.Sleep(ctx, sqlstore.Backoff{Initial: initialLockPause, Maximum: 20 * initialLockPause}.Pause(attempt)) // the loop checks the context
	}
}

// tryLockFile opens the lock file and locks it exclusively. It does not wait: if that is not possible now,
// it returns errLockHeld or errLockReplaced.
func (f *File) tryLockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, f.wrapError(err)
	}
	if err := f.afterStep(stepOpened); err != nil {
		file.Close()
		return nil, err
	}
	locked, err := tryLock(file)
	if err != nil {
		file.Close()
		return nil, f.wrapError(fmt.Errorf("locking %s: %w", path, err))
	}
	// A lock on a file that was deleted meanwhile does not exclude other processes.
	if locked && sameFile(file, path) {
		if err := f.afterStep(stepLocked); err != nil {
			file.Close()
			return nil, err
		}
		return file, nil
	}
	file.Close()
	if locked {
		return nil, errLockReplaced
	}
	return nil, errLockHeld
}

// sameFile reports whether the open file is the file that path names now.
func sameFile(file *os.File, path string) bool {
	a, err := file.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// verifyLock returns an error if the lock file was deleted or replaced since it was locked. Other
// processes may then hold a lock on the new file and increment the counter.
func (f *File) verifyLock(lock *os.File) error {
	if sameFile(lock, lock.Name()) {
		return nil
	}
	return fmt.Errorf("the lock file %s was deleted or replaced while it was locked: do not delete or replace it, and try again", lock.Name())
}

package workerassign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
)

const (
	initialLockPause = time.Millisecond // the first pause between two tries for the lock
	lockWarningDelay = time.Second      // how long a wait for the lock is not worth a word in the log
)

// Why a lock was not taken.
var (
	errLockHeld     = errors.New("another process, or another goroutine of this one, holds it")
	errLockReplaced = errors.New("the lock file was deleted or replaced while it was being locked: leave it where it is")
)

// lock opens the lock file and waits until it is this one's alone. It pauses after each try, whether
// another holds the lock or the file is not the one of its name: that may go on too.
func (f *File) acquireLock(ctx context.Context, log *safelog.Queue, path string) (*os.File, error) {
	begin, logged := time.Now(), false
	var last error // why the last try failed
	for tries := 1; ; tries++ {
		if err := ctx.Err(); err != nil {
			return nil, &RetryError{Operation: "waiting for the lock " + path, Attempts: tries - 1, Elapsed: time.Since(begin), Cause: err, LastErr: last}
		}
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
		// A lock on a file that was deleted meanwhile keeps nobody out.
		if locked && sameFile(file, path) {
			if err := f.afterStep(stepLocked); err != nil {
				file.Close()
				return nil, err
			}
			return file, nil
		}
		file.Close()
		if last = errLockHeld; locked {
			last = errLockReplaced
		}
		if took := time.Since(begin); took > lockWarningDelay && !logged {
			logged = true
			log.Log(slog.LevelWarn, "workerassign: still waiting for a lock", "lock", path, "for", took.Round(time.Millisecond), "err", last)
		}
		sleep(ctx, backoff{initial: initialLockPause, maximum: 20 * initialLockPause}.pause(tries)) // the loop looks at the context
	}
}

// sameFile reports whether an open file is the one that a path names.
func sameFile(file *os.File, path string) bool {
	a, err := file.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// verifyLock fails once the lock file is not the one of its name any more: somebody deleted it,
// and others may count by a new one.
func (f *File) verifyLock(lock *os.File) error {
	if sameFile(lock, lock.Name()) {
		return nil
	}
	return fmt.Errorf("%s was deleted or replaced while it was locked: leave it where it is, and try again", lock.Name())
}

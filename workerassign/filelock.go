package workerassign

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/safelog"
)

// acquireLock opens the lock file and locks it exclusively. It waits while another process or
// goroutine holds the lock, and tries again if the lock file was deleted or replaced.
func (f *File) acquireLock(ctx context.Context, log *safelog.Queue, path string) (*os.File, error) {
	lock, err := lockedfile.Acquire(ctx, path, lockedfile.Waiting{
		MaxPause: lockedfile.DefaultMaxPause,
		Hook:     f.afterStep,
		Long: func(waited time.Duration, lastErr error) {
			log.Log(slog.LevelWarn, "workerassign: still waiting for a lock", "lock", path, "for", waited.Round(time.Millisecond), "err", lastErr)
		},
	})
	var wait *lockedfile.WaitError
	switch {
	case errors.As(err, &wait):
		return nil, &RetryError{Operation: "waiting for the lock " + path, Attempts: wait.Attempts, Elapsed: wait.Elapsed, Cause: wait.Cause, LastErr: wait.LastErr}
	case err != nil:
		return nil, f.wrapError(err)
	}
	f.removeTemporaries(lock)
	return lock, nil
}

// removeTemporaries removes temporary files that a crash left behind, the first time that f has its lock.
func (f *File) removeTemporaries(lock *os.File) {
	if !f.cleaned.Swap(true) {
		lockedfile.RemoveTemporaries(strings.TrimSuffix(lock.Name(), lockedfile.Suffix))
	}
}

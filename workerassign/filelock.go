package workerassign

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/safelog"
)

// open locks the file. It waits while another process or goroutine holds the lock, and tries again if the lock file was deleted or
// replaced. The caller must close the file.
func (f *File) open(ctx context.Context, log *safelog.Queue) (*lockedfile.File, error) {
	file, err := lockedfile.Open(ctx, f.path, lockedfile.Waiting{
		MaxPause: lockedfile.DefaultMaxPause,
		Hook:     f.afterStep,
		Long: func(lock string, waited time.Duration, lastErr error) {
			log.Log(slog.LevelWarn, "workerassign: still waiting for a lock", "lock", lock, "for", waited.Round(time.Millisecond), "err", lastErr)
		},
	})
	var wait *lockedfile.WaitError
	switch {
	case errors.As(err, &wait):
		return nil, &RetryError{Operation: "waiting for the lock " + wait.Path, Attempts: wait.Attempts, Elapsed: wait.Elapsed, Cause: wait.Cause, LastErr: wait.LastErr}
	case err != nil:
		return nil, f.wrapError(err)
	}
	f.removeTemporaries(file)
	return file, nil
}

// removeTemporaries removes temporary files that a crash left behind, the first time that f has its lock.
func (f *File) removeTemporaries(file *lockedfile.File) {
	if !f.cleaned.Swap(true) {
		lockedfile.RemoveTemporaries(file.Path)
	}
}

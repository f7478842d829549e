package workerassign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/safelog"
)

// File assigns worker IDs from a counter in a file. Each worker ID is assigned only once. Any number
// of processes on one host can use the same file. File is safe for concurrent use, also if several
// Files have the same path. Create one with NewFile; Assign of the zero value returns an error.
//
// File creates a lock file next to the counter, with the same name and the suffix ".lock". It stays
// there. The following rules apply to both files:
//
//   - Keep them on persistent storage, not in a temporary directory or in a container's own file
//     system. If both files are lost, worker IDs start at 1 again, and UIDs of the same time can be
//     generated a second time.
//   - Do not replace either file by an older copy, for example by restoring a backup or a snapshot of
//     the machine.
//   - Do not delete the lock file while a service may start.
//   - Do not put them on a network file system that other hosts write to.
//   - Run all processes as the same user, because only the owner may access the files.
//
// Each Assign writes the new counter to a temporary file, whose name is that of the counter with
// ".tmp-ringuid" and a random number appended, and renames it. A crash may leave a temporary file
// behind, which the next process removes. On systems without the file locks that this package
// supports (plan9, js, wasip1, aix, solaris), Assign returns an error.
type File struct {
	path      string
	header    string // the header of the counter file's text
	cfg       fileConfig
	afterStep func(step) error // for tests: called after each step; its error ends the assignment
	cleaned   atomic.Bool      // whether removeTemporaries has run
}

type fileConfig struct{ config }

var _ Assigner = (*File)(nil)

// step is a point in an assignment after which a crash may leave the files in a different state.
type step = lockedfile.Step

const (
	stepOpened  = lockedfile.StepOpened // once for each attempt to acquire the lock
	stepLocked  = lockedfile.StepLocked
	stepRead    = lockedfile.StepRead
	stepWritten = lockedfile.StepWritten
	stepRenamed = lockedfile.StepRenamed
	stepSynced  = lockedfile.StepSynced
	stepMarked  = lockedfile.StepMarked
	stepCount   = lockedfile.StepCount
)

// lockFileMarker is written to the lock file after the first counter was written. If the lock file has
// this content and the counter does not exist, the counter was lost.
const lockFileMarker = "ringuid-worker-lock v1: do not delete\n"

// NewFile returns an assigner that keeps its counter in the file at path. The first Assign creates
// the file. Its directory must exist. NewFile does not access the file system. Invalid arguments are
// reported by Assign. A relative path refers to the working directory at the time of NewFile.
func NewFile(path string, opts ...FileOption) *File {
	f := &File{header: workerHeader, cfg: fileConfig{newConfig()}, afterStep: func(step) error { return nil }}
	options.Apply(opts, func(o FileOption) { o.applyFile(&f.cfg) }, f.cfg.setError)
	if path == "" {
		f.cfg.setError("the path of the worker file is empty; must not be empty")
		return f
	}
	abs, err := filepath.Abs(path) // so that a later change of the working directory has no effect
	if err != nil {
		f.cfg.setError("the path of the worker file, %q: %v", path, err)
	}
	f.path = abs
	return f
}

// Assign increments the counter and returns a lease on the new number. The lease has no start and no
// end, and its Release does nothing. The number is on disk before Assign returns. Assign blocks while
// another process or goroutine holds the lock, until ctx ends. If ctx has no deadline, WithTimeout
// bounds Assign. If it waits longer than a second, it logs one warning.
//
// Errors wrap ErrOption for an invalid argument or option, ErrCorrupt if the file is missing or has
// the wrong content, or ErrFile if the file cannot be read, locked or written. If ctx ends while
// Assign waits for the lock, the error is a *RetryError. After an error, the next number may be
// skipped.
func (f *File) Assign(ctx context.Context, r Request) (Lease, error) {
	n, err := f.change(ctx, r, func(last int64) int64 { return last + 1 })
	if err != nil {
		return nil, err
	}
	return disposableLease{n, r.MaxWorkerID}, nil
}

// change replaces the last number by next(last), and returns the new one.
func (f *File) change(ctx context.Context, r Request, next func(last int64) int64) (int64, error) {
	if err := f.usable(); err != nil {
		return 0, err
	}
	ctx, cancel := withDefaultTimeout(ctx, f.cfg.timeout)
	defer cancel()
	// A queue, because this goroutine may hold a lock of Divide that the log handler waits for.
	log := safelog.NewQueue(f.cfg.loggerFor(r))
	defer log.Flush(logFlushTimeout)
	file, err := f.open(ctx, log)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return f.increment(file, next)
}

// usable returns an error if the assigner was not created correctly.
func (f *File) usable() error {
	if f == nil || f.afterStep == nil {
		return fmt.Errorf("%w: the File must be created by NewFile", ErrOption)
	}
	return f.cfg.err
}

// wrapError wraps an error of the operating system in ErrFile. It does not change other errors of
// this package.
func (f *File) wrapError(err error) error {
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFile) {
		return err
	}
	return fmt.Errorf("%w %s: %w", ErrFile, f.path, err)
}

package workerassign

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/workerfile"
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
	file *workerfile.File // nil: not created by NewFile
	cfg  fileConfig
}

type fileConfig struct{ config }

var _ Assigner = (*File)(nil)

// NewFile returns an assigner that keeps its counter in the file at path. The first Assign creates
// the file. Its directory must exist. NewFile does not access the file system. Invalid arguments are
// reported by Assign. A relative path refers to the working directory at the time of NewFile.
func NewFile(path string, opts ...FileOption) *File {
	f := &File{cfg: fileConfig{newConfig()}}
	options.Apply(opts, func(o FileOption) { o.applyFile(&f.cfg) }, f.cfg.setError)
	var err error
	if f.file, err = workerfile.New(path, workerfile.CounterHeader); err != nil {
		f.cfg.setError("%v", err)
	}
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
// skipped. For a renewal (uid.Cached.Renew) the error wraps ErrRenewal, because a copy of the machine has the
// same counter.
func (f *File) Assign(ctx context.Context, r Request) (Lease, error) {
	if err := f.usable(); err != nil {
		return nil, err
	}
	if r.Renewal {
		return nil, fmt.Errorf("%w: the counter in %s may have been copied with this process: close the generator, and create one with an assigner whose state is not on this machine",
			ErrRenewal, f.file.Path)
	}
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
	ctx, cancel := backoff.WithTimeout(ctx, f.cfg.timeout)
	defer cancel()
	// A queue, because this goroutine may hold a lock of Divide that the log handler waits for.
	log := safelog.NewQueue(f.cfg.loggerFor(r))
	defer log.Flush(safelog.FlushTimeout)
	file, err := f.file.Open(ctx, log)
	if err != nil {
		return 0, waitError(err)
	}
	defer file.Close()
	return f.increment(file, next)
}

// usable returns an error if the assigner was not created correctly.
func (f *File) usable() error {
	if f == nil || f.file == nil {
		return fmt.Errorf("%w: the File must be created by NewFile", ErrOption)
	}
	return f.cfg.err
}

// waitError returns an error of workerfile as one of this package: a *RetryError if the wait for the lock has ended.
func waitError(err error) error {
	if wait := (*lockedfile.WaitError)(nil); errors.As(err, &wait) {
		return &RetryError{Operation: "waiting for the lock " + wait.Path, Attempts: wait.Attempts, Elapsed: wait.Elapsed, Cause: wait.Cause, LastErr: wait.LastErr}
	}
	return err
}

// formatCounter returns the content of a worker file: one readable line with the number and a checksum.
func formatCounter(n int64) string {
	text := fmt.Sprintf("%s %d", workerfile.CounterHeader, n)
	return fmt.Sprintf("%s crc32c=%08x\n", text, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

// parseCounter returns the number in the content of a worker file. It accepts only texts that formatCounter returns.
func parseCounter(text []byte) (int64, error) {
	var (
		n   int64
		sum uint32
	)
	if _, err := fmt.Sscanf(string(text), workerfile.CounterHeader+" %d crc32c=%x\n", &n, &sum); err != nil || n < 1 || formatCounter(n) != string(text) {
		return 0, lockedfile.ErrContent
	}
	return n, nil
}

package workerassign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/ringuid/ringuid/internal/safelog"
)

// File assigns worker IDs that are used once, from a counter in a file: for one host, with
// any number of processes, and no database. It is safe for concurrent use, and so is any
// number of Files of one path. NewFile makes one; Assign of the zero File is an error.
//
// Beside the counter lies a lock file, of the same name with ".lock" behind it, which stays.
// Both belong where they last: if they are lost together, worker IDs begin at 1 again, and
// so do UIDs of the same time. A temporary directory, or a container's own file system, is no
// such place. Nor may either be set back to an older copy, as by a restored backup or a
// reverted snapshot of the machine, and the lock file must not be deleted while a service
// may start. The directory must not be on a network file system that other hosts write to.
// All processes run as one user: the files are made for their owner only, and the counter is
// made anew each time, by way of a file with ".tmp" and a number behind its name, which a crash
// may leave behind. Where the system has no file locks that Go knows of (plan9, js, wasip1 and
// the like), Assign says so.
type File struct {
	path      string
	header    string // of the file's text
	cfg       fileConfig
	afterStep func(step) error // for tests: called after each step; an error ends it there
}

type fileConfig struct{ config }

var _ Assigner = (*File)(nil)

// step is a point in an assignment at which a crash leaves something behind.
type step int

const (
	stepOpened step = iota // each time that the lock is tried for
	stepLocked
	stepRead
	stepWritten
	stepRenamed
	stepSynced
	stepMarked
	stepCount
)

// marker is what a lock file holds once there is a counter: from then on a counter that is
// not there has been lost.
const lockFileMarker = "ringuid-worker-lock v1: do not delete\n"

// NewFile returns an assigner that counts in the file of that path. The file is made by the
// first Assign, in a directory that exists. NewFile itself touches nothing; what is wrong with
// its arguments, Assign tells.
func NewFile(path string, opts ...FileOption) *File {
	f := &File{header: workerHeader, cfg: fileConfig{newConfig()}, afterStep: func(step) error { return nil }}
	for _, o := range opts {
		if o == nil {
			f.cfg.setError("an option is nil")
			continue
		}
		o.applyFile(&f.cfg)
	}
	if path == "" {
		f.cfg.setError("the path of the worker file is empty")
		return f
	}
	abs, err := filepath.Abs(path) // a later change of the working directory is not to matter
	if err != nil {
		f.cfg.setError("the path of the worker file, %q: %v", path, err)
	}
	f.path = abs
	return f
}

// Assign increments the counter and returns a lease on the new number: unbounded, with nothing
// to release. The number is on disk before it is returned. Assign blocks while others hold the
// lock, until ctx ends; without a deadline, WithTimeout bounds it. After a second of that it
// logs a warning, once: to the logger of WithLogger, else to the request's.
//
// Errors wrap ErrOption; ErrCorrupt, for a file that is not what was written to it; ErrFile,
// for one that cannot be read, locked or written; or are a *RetryError. With an error, a
// number may have been lost, which is a gap.
func (f *File) Assign(ctx context.Context, r Request) (Lease, error) {
	if f == nil || f.afterStep == nil {
		return nil, fmt.Errorf("%w: a File must be made by NewFile", ErrOption)
	}
	if f.cfg.err != nil {
		return nil, f.cfg.err
	}
	ctx, cancel := withDefaultTimeout(ctx, f.cfg.timeout)
	defer cancel()
	// A queue, because this goroutine may hold a lock of Divide's, which a handler may wait for.
	log := safelog.NewQueue(f.cfg.loggerFor(r))
	defer log.Flush(logFlushTimeout)
	path, err := resolvePath(f.path)
	if err != nil {
		return nil, f.wrapError(err)
	}
	lock, err := f.acquireLock(ctx, log, path+".lock")
	if err != nil {
		return nil, err
	}
	defer lock.Close() // which unlocks it
	n, err := f.increment(path, lock, func(last int64) int64 { return last + 1 })
	if err != nil {
		return nil, err
	}
	return disposableLease(n), nil
}

// failed is ErrFile with what the system said.
func (f *File) wrapError(err error) error {
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFile) {
		return err
	}
	return fmt.Errorf("%w %s: %w", ErrFile, f.path, err)
}

// resolve follows links, so that whoever names the file takes the same lock. The file need
// not be there, but its directory must.
func resolvePath(path string) (string, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return filepath.EvalSymlinks(path)
	}
	directory, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(directory, filepath.Base(path)), err
}

// increment reads the counter, replaces it by the next number, and returns that. The lock is held. The
// order of its steps is what keeps a number from being returned twice, wherever a crash
// comes: the new counter is on disk under its name before it is returned, and it is marked
// as begun only when it is. Where the lock file goes meanwhile, the number is not returned:
// whoever locks a new one after the last look at the old one finds the new counter.
func (f *File) increment(path string, lock *os.File, next func(last int64) int64) (int64, error) {
	info, err := lock.Stat()
	if err != nil {
		return 0, f.wrapError(err)
	}
	if !info.Mode().IsRegular() {
		return 0, f.wrapError(fmt.Errorf("its lock %s is not a regular file", lock.Name()))
	}
	begun := info.Size() > 0
	last, err := f.readCounter(path, begun)
	if err != nil {
		return 0, err
	}
	if last == math.MaxInt64 {
		return 0, f.wrapError(fmt.Errorf("the counter is at %d, and there is no further number", last))
	}
	if err := f.afterStep(stepRead); err != nil {
		return 0, err
	}
	n := next(last)
	if err := f.replaceCounter(path, lock, n); err != nil {
		return 0, f.wrapError(err)
	}
	if !begun {
		if _, err := lock.WriteAt([]byte(lockFileMarker), 0); err != nil {
			return 0, f.wrapError(err)
		}
		if err := lock.Sync(); err != nil {
			return 0, f.wrapError(err)
		}
		if err := f.afterStep(stepMarked); err != nil {
			return 0, err
		}
	}
	if err := f.verifyLock(lock); err != nil {
		return 0, f.wrapError(err)
	}
	return n, nil
}

// read returns the last number that was counted, 0 where there is no counter yet.
func (f *File) readCounter(path string, begun bool) (int64, error) {
	text, err := readRegularFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if begun {
			return 0, fmt.Errorf("%w: %s is gone, and its lock file tells that it was there: "+repairAdvice, ErrCorrupt, f.path, formatNumber(f.header, 1000))
		}
		return 0, nil
	}
	if err != nil {
		return 0, f.wrapError(err)
	}
	last, err := parseNumber(f.header, text)
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w: "+repairAdvice, ErrCorrupt, f.path, err, formatNumber(f.header, 1000))
	}
	return last, nil
}

// repair is what to do about a counter that is gone or damaged. An older copy is as bad as a
// new start: both give out worker IDs a second time.
const repairAdvice = "put it back as it was last, never an older copy, or write a number to it that is beyond all worker IDs that were used " +
	"(for 1000 it is %q, where crc32c is of what stands before the last space); do not delete it or its lock file"

// readRegular reads a regular file. From others, such as a pipe, reading need not come to an
// end, which no context would be able to bring about.
func readRegularFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	return os.ReadFile(path)
}

// write puts a number in the place of the counter, all of it or nothing, and on disk.
func (f *File) replaceCounter(path string, lock *os.File, n int64) error {
	temporary, err := writeTemporary(path, formatNumber(f.header, n))
	if err != nil {
		return err
	}
	if err := f.afterStep(stepWritten); err != nil {
		return err
	}
	// Without the lock others may have counted on, and this would set the counter back.
	if err := f.verifyLock(lock); err != nil {
		os.Remove(temporary)
		return err
	}
	if err := replaceFile(temporary, path); err != nil {
		os.Remove(temporary)
		return err
	}
	if err := f.afterStep(stepRenamed); err != nil {
		return err
	}
	if err := syncDirectory(filepath.Dir(path)); err != nil {
		return err
	}
	return f.afterStep(stepSynced)
}

// prepare puts a number on disk, beside the counter, and returns the path of its file: a new one each
// time, because one without the lock, whose file was deleted, may write at the same time.
func writeTemporary(path, text string) (temporary string, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp*")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		os.Remove(file.Name())
		return "", err
	}
	return file.Name(), nil
}

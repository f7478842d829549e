package workerassign

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/ringuid/ringuid/internal/lockedfile"
)

// increment reads the last number from the counter file, replaces it by next(last), and returns the
// new number. The caller must hold the lock.
//
// The order of the steps guarantees that no number is returned twice, even after a crash:
//
//  1. The new counter is on disk, under its name, before it is returned.
//  2. The lock file is marked only after the first counter is on disk.
//  3. The lock is verified last. If the lock file was deleted or replaced meanwhile, the number is not
//     returned. A process that locks a new lock file after that check reads the new counter.
func (f *File) increment(path string, lock *os.File, next func(last int64) int64) (int64, error) {
	initialized, err := lockedfile.Marked(lock)
	if err != nil {
		return 0, f.wrapError(err)
	}
	last, err := f.readCounter(path, initialized)
	if err != nil {
		return 0, err
	}
	if last == math.MaxInt64 {
		return 0, f.wrapError(fmt.Errorf("the counter is %d, the greatest possible number", last))
	}
	if err := f.afterStep(stepRead); err != nil {
		return 0, err
	}
	n := next(last)
	if err := f.replaceCounter(path, lock, n); err != nil {
		return 0, f.wrapError(err)
	}
	if !initialized {
		if err := f.markLock(lock); err != nil {
			return 0, err
		}
	}
	if err := lockedfile.VerifyLock(lock); err != nil {
		return 0, f.wrapError(err)
	}
	return n, nil
}

// readCounter returns the number in the counter file, or 0 if there was never a counter. initialized
// is whether the lock file is marked; then a missing counter file is an error.
func (f *File) readCounter(path string, initialized bool) (int64, error) {
	text, err := lockedfile.ReadRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		if initialized {
			return 0, fmt.Errorf("%w: %s is missing, but its lock file shows that it existed: "+repairAdvice, ErrCorrupt, f.path, formatCounter(1000))
		}
		return 0, nil
	}
	if err != nil {
		return 0, f.wrapError(err)
	}
	last, err := parseCounter(text)
	if other := otherFile(text, workerHeader); err != nil && other != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrCorrupt, f.path, other)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w: "+repairAdvice, ErrCorrupt, f.path, err, formatCounter(1000))
	}
	return last, nil
}

// repairAdvice says what to do about a counter that is missing or corrupt. An older copy of the file
// would have the same effect as starting at 1: worker IDs would be assigned a second time.
const repairAdvice = "restore its latest content, never an older copy, or write a number to it that is greater than all worker IDs that were used " +
	"(the content for 1000 is %q, where crc32c is the checksum of the text before the last space); do not delete it or its lock file"

// replaceCounter replaces the counter file atomically by one with the number n, and returns when that
// is on disk.
func (f *File) replaceCounter(path string, lock *os.File, n int64) error {
	return f.replaceContent(path, lock, func(*os.File) ([]byte, error) { return []byte(formatCounter(n)), nil })
}

// replaceContent replaces the file atomically, and returns when that is on disk: see lockedfile.Replace.
func (f *File) replaceContent(path string, lock *os.File, content func(*os.File) ([]byte, error)) error {
	return lockedfile.Replace(path, lock, f.afterStep, content)
}

// markLock writes lockFileMarker to the lock file, and returns when that is on disk.
func (f *File) markLock(lock *os.File) error {
	if err := lockedfile.MarkLock(lock, lockFileMarker, f.afterStep); err != nil {
		return f.wrapError(err)
	}
	return nil
}

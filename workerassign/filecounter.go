package workerassign

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
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
	info, err := lock.Stat()
	if err != nil {
		return 0, f.wrapError(err)
	}
	if !info.Mode().IsRegular() {
		return 0, f.wrapError(fmt.Errorf("the lock file %s is not a regular file", lock.Name()))
	}
	initialized := info.Size() > 0
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
	if err := f.verifyLock(lock); err != nil {
		return 0, f.wrapError(err)
	}
	return n, nil
}

// readCounter returns the number in the counter file, or 0 if there was never a counter. initialized
// is whether the lock file is marked; then a missing counter file is an error.
func (f *File) readCounter(path string, initialized bool) (int64, error) {
	text, err := readRegularFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if initialized {
			return 0, fmt.Errorf("%w: %s is missing, but its lock file shows that it existed: "+repairAdvice, ErrCorrupt, f.path, formatNumber(f.header, 1000))
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

// repairAdvice says what to do about a counter that is missing or corrupt. An older copy of the file
// would have the same effect as starting at 1: worker IDs would be assigned a second time.
const repairAdvice = "restore its latest content, never an older copy, or write a number to it that is greater than all worker IDs that were used " +
	"(the content for 1000 is %q, where crc32c is the checksum of the text before the last space); do not delete it or its lock file"

// readRegularFile reads a regular file. It returns an error for other files, for example a pipe,
// because reading from them may block, and no context could stop that.
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

// replaceCounter replaces the counter file atomically by one with the number n, and returns when that
// is on disk.
func (f *File) replaceCounter(path string, lock *os.File, n int64) error {
	return f.replaceContent(path, lock, func(*os.File) ([]byte, error) { return []byte(formatNumber(f.header, n)), nil })
}

// replaceContent replaces the file atomically, and returns when that is on disk. content returns the
// new content of the file that it gets, whose name is still a temporary one. The caller must hold the
// lock.
func (f *File) replaceContent(path string, lock *os.File, content func(*os.File) ([]byte, error)) error {
	temporary, err := writeTemporary(path, content)
	if err != nil {
		return err
	}
	if err := f.afterStep(stepWritten); err != nil {
		return err
	}
	// If the lock was lost, other processes may have replaced the file, and the rename would set it
	// back.
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

// markLock writes lockFileMarker to the lock file, and returns when that is on disk.
func (f *File) markLock(lock *os.File) error {
	if _, err := lock.WriteAt([]byte(lockFileMarker), 0); err != nil {
		return f.wrapError(err)
	}
	if err := lock.Sync(); err != nil {
		return f.wrapError(err)
	}
	return f.afterStep(stepMarked)
}

// writeTemporary writes a new file in the directory of path, syncs it to disk, and returns its name.
// content returns the content of the file that it gets. Each call uses another name, because a process
// that lost its lock may write concurrently.
func writeTemporary(path string, content func(*os.File) ([]byte, error)) (temporary string, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp*")
	if err != nil {
		return "", err
	}
	data, err := content(file)
	if err == nil {
		_, err = file.Write(data)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		os.Remove(file.Name())
		return "", err
	}
	return file.Name(), nil
}

// writeTemporaryText is writeTemporary for a text that does not depend on the file.
func writeTemporaryText(path, text string) (temporary string, err error) {
	return writeTemporary(path, func(*os.File) ([]byte, error) { return []byte(text), nil })
}

package workerassign

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/workerfile"
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
//
// The steps are those of lockedfile.File.
func (f *File) increment(file *lockedfile.File, next func(last int64) int64) (int64, error) {
	text, _, err := file.Read()
	last, err := f.counter(text, err)
	if err != nil {
		return 0, err
	}
	if last == math.MaxInt64 {
		return 0, f.file.Wrap(fmt.Errorf("the counter is %d, the greatest possible number", last))
	}
	if err := f.file.Hook.After(lockedfile.StepRead); err != nil {
		return 0, err
	}
	n := next(last)
	if err := file.Write(workerfile.LockMarker, func(string) []byte { return []byte(formatCounter(n)) }); err != nil {
		return 0, f.file.Wrap(err)
	}
	return n, nil
}

// counter returns the number of a counter file, or 0 if there was never one. text and err are the result of reading the file.
func (f *File) counter(text []byte, err error) (int64, error) {
	switch {
	case errors.Is(err, lockedfile.ErrMissing):
		return 0, fmt.Errorf("%w: %s is missing, but its lock file shows that it existed: "+repairAdvice, ErrCorrupt, f.file.Path, formatCounter(1000))
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, f.file.Wrap(err)
	}
	last, err := parseCounter(text)
	if other := f.file.Other(text); err != nil && other != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrCorrupt, f.file.Path, other)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w: "+repairAdvice, ErrCorrupt, f.file.Path, err, formatCounter(1000))
	}
	return last, nil
}

// repairAdvice says what to do about a counter that is missing or corrupt. An older copy of the file
// would have the same effect as starting at 1: worker IDs would be assigned a second time.
const repairAdvice = "restore its latest content, never an older copy, or write a number to it that is greater than all worker IDs that were used " +
	"(the content for 1000 is %q; if that is too small, stop all programs that use the file, write it nevertheless, and raise it by ringuid worker-file set, " +
	"or File.Raise); do not delete it or its lock file"

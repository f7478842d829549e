package workerassign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/ringuid/ringuid/internal/lockedfile"
)

// Last returns the last worker ID that was assigned from the file, or 0 if there is no file because none was assigned yet.
// It does not change the file, and does not wait for its lock. The errors are those of Assign.
func (f *File) Last() (int64, error) {
	if err := f.usable(); err != nil {
		return 0, err
	}
	path, err := lockedfile.Resolve(f.file.Path)
	if err != nil {
		return 0, f.file.Wrap(err)
	}
	// The counter is read first: if it was missing, a lock file that is marked now may be that of a first Assign
	// which has ended in between.
	for {
		n, err := f.counter(lockedfile.ReadRegular(path))
		if n != 0 || err != nil {
			return n, err
		}
		switch mark, err := lockedfile.ReadRegular(path + lockedfile.Suffix); {
		case errors.Is(err, fs.ErrNotExist) || err == nil && len(mark) == 0:
			return 0, nil
		case err != nil:
			return 0, f.file.Wrap(err)
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return f.counter(nil, lockedfile.ErrMissing)
		}
	}
}

// Raise makes sure that no worker ID up to n is assigned any more: the next one is greater than n. It never lowers
// the counter: if the last worker ID is n or greater, it remains. Raise returns the last worker ID as it is then: what is
// greater than n was assigned before. An operator calls it when worker IDs may have been assigned that the file does not know, for example
// before a host takes over the worker IDs of another one.
//
// n must be 1 to math.MaxInt64-1, otherwise the error wraps ErrOption. Raise blocks as Assign does, and has the same
// errors. After an error, the counter may have been raised.
func (f *File) Raise(ctx context.Context, n int64) (int64, error) {
	if n < 1 || n == math.MaxInt64 {
		return 0, fmt.Errorf("%w: the worker ID to raise the counter to is %d; must be 1 to %d", ErrOption, n, int64(math.MaxInt64-1))
	}
	return f.change(ctx, Request{}, func(last int64) int64 { return max(last, n) })
}

package workerassign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/safelog"
)

// highWater is a file with the greatest worker ID that was assigned to this host, its high-water mark.
// It is written like a worker file, under a lock and by rename, but has another header.
type highWater struct{ file *File }

func newHighWater(path string) (*highWater, error) {
	f := NewFile(path)
	f.header = highWaterHeader
	return &highWater{f}, f.cfg.err
}

// refusedSuffix is appended to the name of the high-water file. A file with that name says that a key
// was refused.
const refusedSuffix = ".refused"

// check returns the number in the file, or 0 if there is no file yet. It returns an error if a key was
// refused before, or if the file could not be written, because an insert would then use up a key that
// is not assigned.
func (h *highWater) check(ctx context.Context, log *safelog.Queue) (mark int64, err error) {
	err = h.withLock(ctx, log, func(path string, lock *os.File) error {
		switch text, err := lockedfile.ReadRegular(path + refusedSuffix); {
		case err == nil:
			return fmt.Errorf("%w: a key was refused before, see %s (%q): delete that file after raising the table's counter",
				ErrTooLow, path+refusedSuffix, strings.TrimSpace(string(text)))
		case !errors.Is(err, fs.ErrNotExist):
			return h.file.wrapError(err)
		}
		info, err := lock.Stat()
		if err != nil {
			return h.file.wrapError(err)
		}
		if mark, err = h.file.readCounter(path, info.Size() > 0); err != nil {
			return err
		}
		temporary, err := writeTemporaryText(path, formatNumber(h.file.header, max(mark, 1)))
		if err == nil {
			err = os.Remove(temporary)
		}
		if err != nil {
			return h.file.wrapError(err)
		}
		return nil
	})
	return mark, err
}

// raise sets the number in the file to n, unless it is greater already, and returns when that is on
// disk. Another process of this host may have received a key greater than n meanwhile. If the file has
// n itself, the key was assigned twice, and raise returns an error.
func (h *highWater) raise(ctx context.Context, log *safelog.Queue, n int64) error {
	return h.withLock(ctx, log, func(path string, lock *os.File) error {
		var before int64
		_, err := h.file.increment(path, lock, func(last int64) int64 {
			before = last
			return max(last, n)
		})
		if err == nil && before == n {
			err = fmt.Errorf("%w: the key is %d, which was assigned to another process of this host meanwhile (%s)", ErrTooLow, n, h.file.path)
		}
		return err
	})
}

// writeRefusal records in a file that a key was refused, and why, so that this host inserts no more
// rows. Each insert would increment the table's counter. After some inserts the counter would be
// greater than this host's mark, but perhaps not greater than the marks of other hosts.
func (h *highWater) writeRefusal(ctx context.Context, log *safelog.Queue, reason error) error {
	return h.withLock(ctx, log, func(path string, _ *os.File) error {
		temporary, err := writeTemporaryText(path, reason.Error()+"\n")
		if err == nil {
			err = lockedfile.ReplaceFile(temporary, path+refusedSuffix)
		}
		if err == nil {
			err = lockedfile.SyncDirectory(filepath.Dir(path))
		}
		if err != nil {
			return h.file.wrapError(err)
		}
		return nil
	})
}

// withLock acquires the file's lock and calls f with the path of the file, without symbolic links, and
// the lock file.
func (h *highWater) withLock(ctx context.Context, log *safelog.Queue, f func(path string, lock *os.File) error) error {
	path, err := lockedfile.Resolve(h.file.path)
	if err != nil {
		return h.file.wrapError(err)
	}
	lock, err := h.file.acquireLock(ctx, log, path+".lock")
	if err != nil {
		return err
	}
	defer lock.Close() // releases the lock
	return f(path, lock)
}

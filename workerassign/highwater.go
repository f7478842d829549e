package workerassign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringuid/ringuid/internal/safelog"
)

// highWater is a file with the greatest worker ID that this host was granted. It is written as a
// worker file is, under a lock and by rename, and has a header of its own.
type highWater struct{ file *File }

func newHighWater(path string) (*highWater, error) {
	f := NewFile(path)
	f.header = highWaterHeader
	return &highWater{f}, f.cfg.err
}

// refusedSuffix is what the name of the file ends with that says that a key was refused.
const refusedSuffix = ".refused"

// check returns the number in the file, 0 where there is none yet. It fails where a key was refused
// before, and where a greater number could not be written: a key that was inserted in vain would
// be spent.
func (h *highWater) check(ctx context.Context, log *safelog.Queue) (mark int64, err error) {
	err = h.withLock(ctx, log, func(path string, lock *os.File) error {
		switch text, err := readRegularFile(path + refusedSuffix); {
		case err == nil:
			return fmt.Errorf("%w: one was refused before, as %s says (%q): delete that file when the counter is raised",
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
		temporary, err := writeTemporary(path, formatNumber(h.file.header, max(mark, 1)))
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

// raise puts n into the file unless that has a greater number, and returns when it is on disk.
// Another process may have been granted more than n meanwhile, but n itself only where the keys
// went back.
func (h *highWater) raise(ctx context.Context, log *safelog.Queue, n int64) error {
	return h.withLock(ctx, log, func(path string, lock *os.File) error {
		var before int64
		_, err := h.file.increment(path, lock, func(last int64) int64 {
			before = last
			return max(last, n)
		})
		if err == nil && before == n {
			err = fmt.Errorf("%w: it is %d, which this host was granted meanwhile (%s)", ErrTooLow, n, h.file.path)
		}
		return err
	})
}

// refuse notes that a key was refused, and why, so that this host inserts no other one: each would
// move the table's counter, until it is beyond this host's own number and not beyond others'.
func (h *highWater) writeRefusal(ctx context.Context, log *safelog.Queue, why error) error {
	return h.withLock(ctx, log, func(path string, _ *os.File) error {
		temporary, err := writeTemporary(path, why.Error()+"\n")
		if err == nil {
			err = replaceFile(temporary, path+refusedSuffix)
		}
		if err == nil {
			err = syncDirectory(filepath.Dir(path))
		}
		if err != nil {
			return h.file.wrapError(err)
		}
		return nil
	})
}

// locked calls f with the path of the file, links resolved, and its lock.
func (h *highWater) withLock(ctx context.Context, log *safelog.Queue, f func(path string, lock *os.File) error) error {
	path, err := resolvePath(h.file.path)
	if err != nil {
		return h.file.wrapError(err)
	}
	lock, err := h.file.acquireLock(ctx, log, path+".lock")
	if err != nil {
		return err
	}
	defer lock.Close() // which unlocks it
	return f(path, lock)
}

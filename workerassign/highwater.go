package workerassign

import (
	"context"
	"log/slog"
	"os"
)

// highWater is a file with the greatest worker ID that this host was granted. It is written as a
// worker file is, under a lock and by rename, and has a header of its own.
type highWater struct{ file *File }

func newHighWater(path string) (*highWater, error) {
	f := NewFile(path)
	f.header = highWaterHeader
	return &highWater{f}, f.cfg.err
}

// read returns the number in the file, 0 where there is none yet. It takes no lock: the file is
// replaced as a whole, and the lock file says that it exists only after it does.
func (h *highWater) read() (int64, error) {
	path, err := resolve(h.file.path)
	if err != nil {
		return 0, h.file.failed(err)
	}
	lock, err := os.Stat(path + ".lock")
	return h.file.read(path, err == nil && lock.Size() > 0)
}

// raise puts n into the file unless that has a greater number, and returns when it is on disk.
func (h *highWater) raise(ctx context.Context, log *slog.Logger, n int64) error {
	path, err := resolve(h.file.path)
	if err != nil {
		return h.file.failed(err)
	}
	lock, err := h.file.lock(ctx, log, path+".lock")
	if err != nil {
		return err
	}
	defer lock.Close() // which unlocks it
	_, err = h.file.count(path, lock, func(last int64) int64 { return max(last, n) })
	return err
}

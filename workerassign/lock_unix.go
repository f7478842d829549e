//go:build unix && !aix && !solaris

package workerassign

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes an advisory lock on an open file, if nobody has it: not another process, nor
// another open file of this one. It goes when the file is closed, or its process ends.
func tryLock(file *os.File) (bool, error) {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return false, err
		}
	}
}

// replace puts a file in the place of another one, all of it or nothing. It is on disk when
// the directory is.
func replaceFile(from, to string) error { return os.Rename(from, to) }

// syncDirectory sees the names in a directory on disk.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

//go:build unix && !aix && !solaris

package lockedfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile tries to acquire an advisory lock on an open file. It returns false if another process, or
// another open file of this process, holds the lock. The lock is released when the file is closed or
// the process ends.
func lockFile(file *os.File) (bool, error) {
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

// ReplaceFile renames a file and atomically replaces the file that has the new name. The change is on
// disk after SyncDirectory.
func ReplaceFile(from, to string) error { return os.Rename(from, to) }

// SyncDirectory returns when the names in a directory are on disk.
func SyncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

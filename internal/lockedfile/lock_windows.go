package lockedfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte is the offset of the locked byte. It lies beyond the content of the file, because on
// Windows other processes cannot read a locked byte.
const lockedByte = 1 << 30

// lockFile tries to acquire a lock on an open file. It returns false if another process, or another
// open file of this process, holds the lock. The lock is released when the file is closed or the
// process ends.
func lockFile(file *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(file.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{Offset: lockedByte})
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	}
	return false, err
}

// ReplaceFile renames a file, replaces the file that has the new name, and returns when that is on
// disk. os.Rename does not wait for the disk, so after a power failure a number could be assigned a
// second time.
func ReplaceFile(from, to string) error {
	source, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	target, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	if err := windows.MoveFileEx(source, target, windows.MOVEFILE_REPLACE_EXISTING|windows.MOVEFILE_WRITE_THROUGH); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// SyncDirectory does nothing. Windows has no such call, and ReplaceFile has waited for the disk.
func SyncDirectory(string) error { return nil }

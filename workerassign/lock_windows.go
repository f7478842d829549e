package workerassign

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte is where the lock lies: beyond what the file holds, because a lock on Windows
// keeps others from reading what it lies on.
const lockedByte = 1 << 30

// tryLock takes a lock on an open file, if nobody has it. It goes when the file is closed,
// or its process ends.
func tryLock(file *os.File) (bool, error) {
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

// replace puts a file in the place of another one, and returns when that is on disk.
// os.Rename does not wait for the disk: a number that was returned might come a second time
// after a power failure.
func replaceFile(from, to string) error {
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

// syncDirectory does nothing: Windows has no such call, and replace has waited for the disk.
func syncDirectory(string) error { return nil }

package lockedfile

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ID returns what identifies an open file on its file system: the inode number and, if the file
// system has it, the time when the file was created. The number of a deleted file is used again, often
// at once. No program can set the time of creation. The device number is not part of it, because it
// may change when the machine starts.
func ID(file *os.File) (string, error) {
	var s unix.Statx_t
	if err := unix.Statx(int(file.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &s); err != nil {
		return inodeID(file) // the kernel, or a sandbox, does not have this call
	}
	if s.Mask&unix.STATX_BTIME == 0 {
		return fmt.Sprintf("%x", s.Ino), nil
	}
	return fmt.Sprintf("%x.%x.%x", s.Ino, s.Btime.Sec, s.Btime.Nsec), nil
}

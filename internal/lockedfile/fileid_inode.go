//go:build unix

package lockedfile

import (
	"fmt"
	"os"
	"syscall"
)

// inodeID returns the inode number of an open file.
func inodeID(file *os.File) (string, error) {
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%x", s.Ino), nil
	}
	return "", nil
}

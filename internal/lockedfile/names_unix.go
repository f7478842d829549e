//go:build unix

package lockedfile

import (
	"os"
	"syscall"
)

// names returns how many names an open file has; 0 if that is not known.
func names(file *os.File) (int, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() {
		return int(s.Nlink), nil
	}
	return 0, nil
}

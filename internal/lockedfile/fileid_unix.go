//go:build unix && !linux

package lockedfile

import "os"

// ID returns what identifies an open file on its file system: the inode number.
func ID(file *os.File) (string, error) { return inodeID(file) }

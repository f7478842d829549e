//go:build unix && !linux

package workerassign

import "os"

// fileID returns what identifies an open file on its file system: the inode number.
func fileID(file *os.File) (string, error) { return inodeID(file) }

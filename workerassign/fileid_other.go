//go:build !unix && !windows

package workerassign

import "os"

// fileID returns "", because there are no files, or nothing that identifies them. There are no file locks
// on these systems either.
func fileID(*os.File) (string, error) { return "", nil }

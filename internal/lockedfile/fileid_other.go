//go:build !unix && !windows

package lockedfile

import "os"

// ID returns "", because there are no files, or nothing that identifies them. There are no file locks
// on these systems either.
func ID(*os.File) (string, error) { return "", nil }

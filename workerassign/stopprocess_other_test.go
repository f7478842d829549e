//go:build !unix

package workerassign_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
)

// stopProcess skips the test, because this system cannot stop a process.
func stopProcess(t *testing.T, _ *os.Process) (stop, resume func()) {
	testkit.Missing(t, "processes cannot be stopped on ", runtime.GOOS)
	return nil, nil
}

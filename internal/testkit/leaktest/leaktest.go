// Package leaktest checks that a test leaks no goroutines and no file descriptors.
package leaktest

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// Check counts the goroutines and the file descriptors of the process. It fails the test if there are
// more at its end, after it has waited for them to end. The test must not run in parallel with other tests.
func Check(tb testing.TB) {
	tb.Helper()
	time.Sleep(time.Microsecond) // the first timer of a process opens file descriptors of the runtime
	before := count()
	tb.Cleanup(func() {
		testkit.Retry(tb, "goroutines and file descriptors are left", func() error {
			if now := count(); now.goroutines > before.goroutines || now.fds > before.fds {
				return leak{before, now}
			}
			return nil
		})
	})
}

// open is how many goroutines and file descriptors a process has.
type open struct{ goroutines, fds int }

func count() open { return open{runtime.NumGoroutine(), openFDs()} }

// leak is an error whose text has the stacks of all goroutines.
type leak struct{ before, now open }

func (l leak) Error() string {
	buf := make([]byte, 1<<20)
	return fmt.Sprintf("%+v at the start, %+v now\n%s", l.before, l.now, buf[:runtime.Stack(buf, true)])
}

// openFDs returns the number of open file descriptors, or 0 if the system does not list them.
func openFDs() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

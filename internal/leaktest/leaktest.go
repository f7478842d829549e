// Package leaktest checks that a test leaks no goroutines and no file descriptors.
package leaktest

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// Check counts the goroutines and the file descriptors of the process. It fails the test if there are
// more at its end, after waiting up to a minute for them to end. The test must not run in parallel
// with other tests.
func Check(tb testing.TB) {
	tb.Helper()
	goroutines, fds := runtime.NumGoroutine(), openFDs()
	tb.Cleanup(func() {
		deadline := time.Now().Add(time.Minute)
		for {
			g, f := runtime.NumGoroutine(), openFDs()
			if g <= goroutines && f <= fds {
				return
			}
			if time.Now().After(deadline) {
				buf := make([]byte, 1<<20)
				tb.Errorf("%d goroutines and %d file descriptors at the start, %d and %d at the end\n%s",
					goroutines, fds, g, f, buf[:runtime.Stack(buf, true)])
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

// openFDs returns the number of open file descriptors, or 0 if the system does not list them.
func openFDs() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

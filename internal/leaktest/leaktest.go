// Package leaktest checks that a test leaves no goroutine and no file descriptor behind.
package leaktest

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// Check notes how many goroutines and file descriptors there are, and fails the test when
// there are more at its end. What is about to end gets a few seconds to do so. The test
// must not be a parallel one.
func Check(tb testing.TB) {
	tb.Helper()
	goroutines, fds := runtime.NumGoroutine(), openFDs()
	tb.Cleanup(func() {
		deadline := time.Now().Add(5 * time.Second)
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

// openFDs counts the open file descriptors, or returns 0 where the system does not list
// them.
func openFDs() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

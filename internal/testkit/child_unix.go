//go:build unix && !aix && !solaris

package testkit

import (
	"syscall"
	"testing"
)

// Pause stops the child until Resume. It returns when the child has stopped.
func (c *Child) Pause() {
	c.tb.Helper()
	c.signal(syscall.SIGSTOP)
	WaitStopped(c.tb, c.Process.Pid)
}

// WaitStopped waits until a child of this process, to which SIGSTOP was sent, has stopped.
func WaitStopped(tb testing.TB, pid int) {
	tb.Helper()
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
		if err == nil && status.Stopped() {
			return
		}
		if err != syscall.EINTR {
			tb.Fatalf("process %d has not stopped: %v, %#x", pid, err, status)
		}
	}
}

// Resume continues the child after Pause.
func (c *Child) Resume() { c.signal(syscall.SIGCONT) }

func (c *Child) signal(s syscall.Signal) {
	c.tb.Helper()
	if err := c.Process.Signal(s); err != nil {
		c.tb.Fatal(err)
	}
}

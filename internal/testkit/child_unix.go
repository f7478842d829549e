//go:build unix

package testkit

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Pause stops the child until Resume. It returns when the child has stopped.
func (c *Child) Pause() {
	c.tb.Helper()
	c.signal(unix.SIGSTOP)
	WaitStopped(c.tb, c.Process.Pid)
}

// WaitStopped waits until a child of this process, to which SIGSTOP was sent, has stopped.
func WaitStopped(tb testing.TB, pid int) {
	tb.Helper()
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil)
		if err == nil && status.Stopped() {
			return
		}
		if err != unix.EINTR {
			tb.Fatalf("process %d has not stopped: %v, %#x", pid, err, status)
		}
	}
}

// Resume continues the child after Pause.
func (c *Child) Resume() { c.signal(unix.SIGCONT) }

func (c *Child) signal(s unix.Signal) {
	c.tb.Helper()
	if err := c.Process.Signal(s); err != nil {
		c.tb.Fatal(err)
	}
}

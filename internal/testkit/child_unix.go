//go:build unix

package testkit

import "syscall"

// Pause stops the child until Continue.
func (c *Child) Pause() { c.signal(syscall.SIGSTOP) }

// Continue continues the child after Pause.
func (c *Child) Continue() { c.signal(syscall.SIGCONT) }

func (c *Child) signal(s syscall.Signal) {
	c.tb.Helper()
	if err := c.Process.Signal(s); err != nil {
		c.tb.Fatal(err)
	}
}

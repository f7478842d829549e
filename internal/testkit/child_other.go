//go:build !unix || aix || solaris

package testkit

// Pause skips the test: it is not implemented on this system.
func (c *Child) Pause() { c.tb.Skip("pausing a process is not implemented on this system") }

// Resume has no effect without Pause.
func (c *Child) Resume() {}

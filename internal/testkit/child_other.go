//go:build !unix

package testkit

// Pause skips the test: it is implemented on Unix only.
func (c *Child) Pause() { c.tb.Skip("pausing a process is implemented on Unix only") }

// Continue has no effect without Pause.
func (c *Child) Continue() {}

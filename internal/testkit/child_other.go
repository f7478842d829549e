//go:build !unix || aix || solaris

package testkit

// Pause calls Missing: it is not implemented on this system.
func (c *Child) Pause() { Missing(c.tb, "pausing a process is not implemented on this system") }

// Resume has no effect without Pause.
func (c *Child) Resume() {}

package testkit

import (
	"sync"
	"testing"
)

// RunChildren starts a child with each argument and waits until all have ended. It calls f, never concurrently, with each
// line that a child writes, and with the child's index. A child fails the test if it fails, unless f has killed it with Kill.
func RunChildren(tb testing.TB, args []string, f func(n int, c *Child, line string)) {
	tb.Helper()
	var (
		mu  sync.Mutex
		all sync.WaitGroup
	)
	for n, arg := range args {
		c := StartChild(tb, arg)
		all.Go(func() {
			for line := range c.Lines() {
				mu.Lock()
				f(n, c, line)
				mu.Unlock()
			}
			if err := c.Wait(); err != nil && !c.killed.Load() {
				tb.Errorf("child %d: %v", n, err)
			}
		})
	}
	all.Wait()
}

// Kill kills the child, which may have ended.
func (c *Child) Kill() {
	c.killed.Store(true)
	c.Process.Kill()
}

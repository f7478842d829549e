// Package fakeclock provides a clock for tests. Its wall clock can be set forward and back. Its
// monotonic clock only goes forward.
package fakeclock

import (
	"sync"
	"time"
)

// Clock is a fake clock. It is safe for concurrent use.
type Clock struct {
	mu   sync.Mutex
	wall time.Time
	mono time.Duration
}

// New returns a clock that shows t. Its time changes only by Advance and Step.
func New(t time.Time) *Clock { return &Clock{wall: t.Round(0)} }

// Now returns the wall clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

// Monotonic returns the time that has passed on the monotonic clock since New.
func (c *Clock) Monotonic() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mono
}

// Advance moves both clocks forward by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
	c.mono += d
}

// Step changes the wall clock by d, which may be negative. The monotonic clock does not change.
func (c *Clock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}

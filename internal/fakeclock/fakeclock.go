// Package fakeclock is a clock for tests: its wall clock can be set to anything, its
// monotonic clock only goes on.
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

// New returns a clock that shows t and stands still.
func New(t time.Time) *Clock { return &Clock{wall: t.Round(0)} }

// Now returns the wall clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

// Monotonic returns how far the clock has gone on.
func (c *Clock) Monotonic() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mono
}

// Advance lets time pass.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
	c.mono += d
}

// Step sets the wall clock on or back, while no time passes.
func (c *Clock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}

package server

import (
	"context"
	"sync"
	"time"
)

// A requestContext is a request's context with a time limit. Its timer is started by the first call of Done: most
// requests are answered without one, and a timer would cost them more than a UID.
type requestContext struct {
	context.Context
	deadline time.Time

	mu      sync.Mutex
	limited context.Context // nil until Done is called
	cancel  context.CancelFunc
}

// Deadline implements context.Context.
func (c *requestContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Done implements context.Context.
func (c *requestContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limited == nil {
		c.limited, c.cancel = context.WithDeadline(c.Context, c.deadline)
	}
	return c.limited.Done()
}

// Err implements context.Context.
func (c *requestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limited != nil {
		return c.limited.Err()
	}
	if err := c.Context.Err(); err != nil || time.Now().Before(c.deadline) {
		return err
	}
	return context.DeadlineExceeded
}

// end stops the timer.
func (c *requestContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

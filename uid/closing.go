package uid

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/ringbuffer"
)

// closeWait is how long Close waits at most. It does not wait longer for user code that hangs, or
// that called Close itself.
const closeWait = leasing.ReleaseTimeout + time.Second

// closing runs the work of Close once, and any number of callers can wait for it.
type closing struct {
	once  sync.Once
	begun atomic.Bool
	done  chan struct{}
	err   error
}

func newClosing() *closing { return &closing{done: make(chan struct{})} }

// run starts work, unless it was started before, and waits until it is done, for closeWait at most.
func (c *closing) run(work func() error) error {
	c.once.Do(func() {
		c.begun.Store(true)
		go func() {
			defer close(c.done)
			c.err = work()
			if errors.Is(c.err, ringbuffer.ErrBusy) {
				c.err = fmt.Errorf("%w: %w", ErrBusy, c.err)
			}
		}()
	})
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-c.done:
		return c.err
	case <-timer.C:
		return fmt.Errorf("%w after %v: it hangs, or it called Close itself", ErrBusy, closeWait)
	}
}

// waiter lets takers of a Default generator wait until it is closed.
type waiter struct {
	closed        chan struct{} // closed when Close begins
	rejectedTakes atomic.Uint64 // the number of waits
}

// isClosed reports whether Close was called.
func (w *waiter) isClosed() bool {
	select {
	case <-w.closed:
		return true
	default:
		return false
	}
}

// sleep waits for a time. It is an error if ctx or the generator ends first.
func (w *waiter) sleep(ctx context.Context, d time.Duration) error {
	w.rejectedTakes.Add(1)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("uid: gave up waiting for the next time unit: %w", ended(ctx))
	case <-w.closed:
		return ErrClosed
	}
}

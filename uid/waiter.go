package uid

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

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
		return fmt.Errorf("uid: gave up waiting for the next time unit: %w", context.Cause(ctx))
	case <-w.closed:
		return ErrClosed
	}
}

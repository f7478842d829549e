package ringbuffer

import (
	"context"
	"sync/atomic"
)

// lock is a lock that can be waited for along with other things: a waiter gets the channel of
// freed, tries again, and only then waits. Taking it when it is free costs half of what a channel
// of one element does. It is not fair.
type contextLock struct {
	held     atomic.Bool
	released signal
}

// try takes the lock if it is free.
func (l *contextLock) tryAcquire() bool { return !l.held.Load() && l.held.CompareAndSwap(false, true) }

// take takes the lock, or returns the error of ctx.
func (l *contextLock) acquire(ctx context.Context) error {
	for !l.tryAcquire() {
		freed := l.released.subscribe()
		if l.tryAcquire() {
			break
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// free gives the lock back.
func (l *contextLock) release() {
	l.held.Store(false)
	l.released.broadcast()
}

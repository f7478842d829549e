package ringbuffer

import (
	"context"
	"sync/atomic"
)

// lock is a lock that can be waited for along with other things: a waiter gets the channel of
// freed, tries again, and only then waits. Taking it when it is free costs half of what a channel
// of one element does. It is not fair.
type lock struct {
	held  atomic.Bool
	freed signal
}

// try takes the lock if it is free.
func (l *lock) try() bool { return !l.held.Load() && l.held.CompareAndSwap(false, true) }

// take takes the lock, or returns the error of ctx.
func (l *lock) take(ctx context.Context) error {
	for !l.try() {
		freed := l.freed.next()
		if l.try() {
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
func (l *lock) free() {
	l.held.Store(false)
	l.freed.broadcast()
}

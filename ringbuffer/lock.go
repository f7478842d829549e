package ringbuffer

import (
	"context"
	"sync/atomic"

	"github.com/ringuid/ringuid/internal/errmask"
)

// contextLock is a mutual exclusion lock. A goroutine can wait for it and for other events in one
// select: it gets the channel of released, tries to acquire the lock again, and then waits. An
// uncontended acquire costs half as much as with a channel of one element. The lock is not fair.
type contextLock struct {
	held     atomic.Bool
	released signal
}

// tryAcquire acquires the lock if it is free, and reports whether it did.
func (l *contextLock) tryAcquire() bool { return !l.held.Load() && l.held.CompareAndSwap(false, true) }

// acquire waits for the lock and acquires it. It returns the error of ctx if ctx ends first.
func (l *contextLock) acquire(ctx context.Context) error {
	for !l.tryAcquire() {
		released := l.released.subscribe()
		if l.tryAcquire() {
			break
		}
		select {
		case <-released:
		case <-ctx.Done():
			return errmask.Ended(ctx, ErrClosed, ErrExhausted)
		}
	}
	return nil
}

// release releases the lock.
func (l *contextLock) release() {
	l.held.Store(false)
	l.released.broadcast()
}

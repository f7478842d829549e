package workerassign

import (
	"context"
	"fmt"
	"time"
)

// turnTimeout bounds how long a call of a lease of Saved waits for another one of the same lease. A generator makes one
// call after the other, so only calls from the code of the user, which another call of the lease has called, have to
// wait. Each of them waits for itself, so to wait for long is of no use.
const turnTimeout = time.Second

// takeTurn waits for the turn. Callers must call endTurn after it.
func (l *savedLease) takeTurn(ctx context.Context) error {
	if l.tryTurn() { // whatever ctx is
		return nil
	}
	timer := time.NewTimer(turnTimeout)
	defer timer.Stop()
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("workerassign: context ended while waiting for another call of the lease on worker ID %d: %w", l.workerID, context.Cause(ctx))
	case <-timer.C:
		return fmt.Errorf("workerassign: another call of the lease on worker ID %d has not returned within %v: a store, a clock or a logger must not wait for the lease that calls it",
			l.workerID, turnTimeout)
	}
}

// tryTurn takes the turn if nobody has it.
func (l *savedLease) tryTurn() bool {
	select {
	case l.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

// endTurn ends the turn. If Release was called meanwhile, and has not waited for the turn, it releases the lease: the
// check comes after the end of the turn, so either that Release gets the turn, or this call sees it.
func (l *savedLease) endTurn() {
	<-l.turn
	if l.isReleased() && l.tryTurn() {
		l.finish()
		<-l.turn
	}
}

func (l *savedLease) isReleased() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.released
}

// Release writes the time that was used to the file, and lets others open it. The lease in the store is kept for
// the next start.
//
// If a Reserve is under way, Release waits for its end, until ctx ends but for a second at most. After that, it returns an
// error, and the lease is released at the end of that Reserve.
func (l *savedLease) Release(ctx context.Context, used time.Time) error {
	l.mu.Lock()
	first := !l.released
	if first {
		l.released, l.used = true, used
	}
	l.mu.Unlock()
	if !first {
		return nil
	}
	if err := l.takeTurn(ctx); err != nil {
		return fmt.Errorf("%w; the lease is released when that returns", err)
	}
	defer l.endTurn()
	l.finish()
	return l.releaseErr
}

// finish carries out Release. The caller must have the turn.
func (l *savedLease) finish() {
	if l.closed {
		return
	}
	defer l.close()
	l.mu.Lock()
	used := l.used
	l.mu.Unlock()
	record := l.record
	record.mark = earlier(record.mark, later(l.begin, roundUp(used)))
	l.releaseErr = l.write(record)
}

// close closes the file. The caller must have the turn.
func (l *savedLease) close() {
	if !l.closed {
		l.closed = true
		l.held.close()
	}
}

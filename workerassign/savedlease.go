package workerassign

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// savedLease is a lease of Saved.
type savedLease struct {
	assigner *saved
	request  Request
	begin    time.Time // does not change after Assign
	workerID int64     // nor does this

	mu       sync.Mutex // also held during writes of the file, and calls of the store
	held     *heldFile
	record   savedRecord // what the file has
	lastTry  time.Time   // when the store was last asked, by the generator's clock
	replaced bool        // the store does not extend the lease any more, because its history is another one
	lost     bool        // nothing more is granted
	closed   bool        // the file is closed
	fileErr  error       // of the last write of the file
}

func (l *savedLease) WorkerID() int64      { return l.workerID }
func (l *savedLease) NotBefore() time.Time { return l.begin }

// Reserve writes the granted time to the file before it returns it. It blocks on the disk, whatever ctx is, and now
// and then on the store, until ctx ends but for 5 seconds at most. While the store is down it grants what is left of
// the span.
func (l *savedLease) Reserve(ctx context.Context, until time.Time) (time.Time, error) {
	now := wallTime(l.request) // without the lock, because the clock is the user's
	want := roundUp(until)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed && !l.lost:
		return time.Time{}, fmt.Errorf("%w: worker ID %d may be in use by another generator", ErrReleased, l.workerID)
	case l.lost:
		return time.Time{}, fmt.Errorf("%w: worker ID %d", ErrLeaseLost, l.workerID)
	}
	var extendErr error
	if l.isDue(now, want) {
		l.lastTry = now
		storeCtx, cancel := context.WithTimeout(ctx, l.assigner.storeTimeout)
		extendErr = l.extend(storeCtx)
		cancel()
		if errors.Is(extendErr, errSlotTaken) {
			l.lost = true
			return time.Time{}, extendErr
		}
		l.replaced = errors.Is(extendErr, ErrLeaseLost)
	}
	next := earlier(want, l.record.slot.Until)
	if !next.After(l.record.mark) {
		switch {
		case !want.After(l.record.mark):
		case l.replaced:
			l.lost = true
			return time.Time{}, fmt.Errorf("%w: worker ID %d was leased until %s, and the history of the store is another one", ErrLeaseLost,
				l.workerID, l.record.slot.Until.Format(time.RFC3339Nano))
		case extendErr != nil:
			return time.Time{}, extendErr
		}
		return l.record.mark, nil
	}
	record := l.record
	record.mark = next
	if err := l.write(record); err != nil {
		return time.Time{}, err
	}
	return next, nil
}

// isDue reports whether the store is to be asked for an extension: a quarter of the span has passed, or the span does
// not suffice. It is asked once a minute at most, or once in a hundredth of the span if that is less.
func (l *savedLease) isDue(now, want time.Time) bool {
	span := l.assigner.cfg.span
	left := l.record.slot.Until.Sub(now)
	passed := now.Sub(l.lastTry)
	return !l.replaced && (left < span*3/4 || want.After(l.record.slot.Until)) && (passed >= min(span/100, time.Minute) || passed < 0)
}

// extend extends the lease in the store by the span. The token of each try is in the file before it is in the store.
func (l *savedLease) extend(ctx context.Context) error {
	s := l.assigner
	n := &renewal{recycled: s.recycled, req: l.request, slot: l.record.slot, tokens: l.record.tokens, span: s.cfg.span,
		beforeSwap: func(next Slot) error { return l.write(l.record.withToken(next.Token)) }}
	slot, err := n.run(ctx)
	if err != nil {
		return err
	}
	return l.write(l.record.acknowledged(slot))
}

// write writes a record to the file.
func (l *savedLease) write(r savedRecord) error {
	if l.fileErr = l.held.write(r.encode); l.fileErr == nil {
		l.record = r
	}
	return l.fileErr
}

// Release writes the time that was used to the file, and lets others open it. The lease in the store is kept for
// the next start.
func (l *savedLease) Release(_ context.Context, used time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	defer l.close()
	if l.lost {
		return nil
	}
	record := l.record
	record.mark = earlier(record.mark, later(l.begin, roundUp(used)))
	return l.write(record)
}

// close closes the file.
func (l *savedLease) close() {
	if !l.closed {
		l.closed = true
		l.held.close()
	}
}

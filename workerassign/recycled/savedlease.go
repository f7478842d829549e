package recycled

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/workerfile"
	"github.com/ringuid/ringuid/workerassign"
)

// savedLease is a lease of Saved. It has no lock, because a generator calls Reserve and Release from one goroutine at a time (see Lease).
type savedLease struct {
	assigner *saved
	request  workerassign.Request
	begin    time.Time // does not change after Assign
	workerID int64     // nor does this

	held     *workerfile.Held
	record   savedRecord // what the file has
	lastTry  time.Time   // when the store was last asked, by the generator's clock
	replaced bool        // the last try has found another history of the store
	ended    error       // why nothing more is granted, and the file is closed; nil: more may be
	fileErr  error       // of the last write of the file
	warned   bool        // whether the present series of failures was logged
}

func (l *savedLease) WorkerID() int64      { return l.workerID }
func (l *savedLease) NotBefore() time.Time { return l.begin }

// Reserve writes the granted time to the file before it returns it. It blocks on the disk, whatever ctx is, and now
// and then on the store, until ctx ends but for 5 seconds at most. While the store is down it grants what is left of
// the span.
func (l *savedLease) Reserve(ctx context.Context, until time.Time) (workerassign.Grant, error) {
	if l.ended != nil {
		return workerassign.Grant{}, l.ended
	}
	now := l.request.Time().Round(0)
	want := millis.Up(until)
	var extendErr error
	if l.isDue(now, want) {
		l.lastTry = now
		extendErr = l.extendWithin(ctx, l.assigner.storeTimeout)
		if isTaken(extendErr) {
			return workerassign.Grant{}, l.end(extendErr)
		}
		l.replaced = errors.Is(extendErr, workerassign.ErrLeaseLost)
		if !errors.Is(ctx.Err(), context.Canceled) { // by Close
			l.logFailure(extendErr)
		}
	}
	next := millis.Earlier(want, l.record.slot.Until)
	if !next.After(l.record.mark) {
		switch {
		case !want.After(l.record.mark):
		case l.replaced:
			return workerassign.Grant{}, l.end(fmt.Errorf("%w: worker ID %d was leased until %s, and the history of the store is another one", workerassign.ErrLeaseLost,
				l.workerID, l.record.slot.Until.Format(time.RFC3339Nano)))
		case extendErr != nil:
			return workerassign.Grant{}, extendErr
		}
		return workerassign.Grant{Until: l.record.mark}, nil
	}
	record := l.record
	record.mark = next
	if err := l.write(record); err != nil {
		return workerassign.Grant{}, err
	}
	return workerassign.Grant{Until: next}, nil
}

// logFailure logs the first failure of a series of tries to extend the lease: nothing else shows it before the lease ends.
func (l *savedLease) logFailure(err error) {
	if err == nil {
		l.warned = false
	}
	if err == nil || l.warned {
		return
	}
	log := safelog.NewQueue(l.assigner.recycled.cfg.loggerFor(l.request))
	defer log.Flush(safelog.FlushTimeout)
	l.logNotExtended(log, err)
}

// logNotExtended logs that the store does not extend the lease.
func (l *savedLease) logNotExtended(log *safelog.Queue, err error) {
	l.warned = true
	log.Log(slog.LevelWarn, "recycled: a lease was not extended; the one in the file is used as long as it lasts",
		"file", l.assigner.file.Path, "worker_id", l.record.slot.WorkerID, "until", l.record.slot.Until, "err", err)
}

// end records why nothing more is granted, and returns that. It closes the file. If the lease was lost, another one can be taken
// before it is released, which never happens if the generator has dropped it.
func (l *savedLease) end(err error) error {
	l.ended = err
	l.held.Close()
	return err
}

// Release writes the time that was used to the file, and lets others open it. The lease in the store is kept for
// the next start.
func (l *savedLease) Release(_ context.Context, used time.Time) error {
	if l.ended != nil {
		return nil
	}
	defer l.end(fmt.Errorf("%w: worker ID %d may be in use by another generator", workerassign.ErrReleased, l.workerID))
	record := l.record
	record.mark = millis.Earlier(record.mark, millis.Later(l.begin, millis.Up(used)))
	return l.write(record)
}

// isDue reports whether the store is to be asked for an extension: a quarter of the span has passed, or the span does
// not suffice. It is asked once a minute at most, or once in a hundredth of the span if that is less.
func (l *savedLease) isDue(now, want time.Time) bool {
	span := l.assigner.cfg.span
	left := l.record.slot.Until.Sub(now)
	passed := now.Sub(l.lastTry)
	return (left < span*3/4 || want.After(l.record.slot.Until)) && (passed >= min(span/100, time.Minute) || passed < 0)
}

// extendWithin is extend for at most d.
func (l *savedLease) extendWithin(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return l.extend(ctx)
}

// extend extends the lease in the store by the span. The token of each try is in the file before it is in the store. If the grant
// is void, the file grants nothing any more, also to a later process that finds the store down.
func (l *savedLease) extend(ctx context.Context) error {
	r, span, sent := l.assigner.recycled, l.assigner.cfg.span, l.request.Time()
	r.seen.CompareAndSwap(nil, &Pool{Horizon: span}) // a slot of it was leased
	held := newSlotLease(r, l.request, Pool{}, l.record.slot, l.record.tokens...)
	slot, err := held.swap(ctx, extending, func(s State, _ Slot, next *Slot) (bool, error) {
		r.found(s.Pool)
		if err := r.checkClock(s, sent, l.request.Time()); err != nil {
			return false, err
		}
		if err := (&slotAssign{recycled: r, req: l.request}).checkPool(s.Pool); err != nil {
			return false, err
		}
		if s.Pool.Horizon < span {
			return false, fmt.Errorf("%w: the span is %v; must be at most the horizon of the pool in %v, %v: create the pool with WithHorizon of at least the span",
				workerassign.ErrOption, span, r.store, s.Pool.Horizon)
		}
		next.Until = millis.Later(next.Until, held.limit(s, span)) // R6, because the span is at most H
		next.Holder.Host, next.Holder.Process = r.cfg.holder()
		record := l.record
		record.tokens = withToken(held.tokens, next.Token)
		return true, l.write(record)
	})
	switch {
	case err == nil:
		return l.write(l.record.acknowledged(slot))
	case errors.Is(err, workerassign.ErrVoid):
		record := l.record
		record.mark = millis.Later(record.mark, record.slot.Until)
		if writeErr := l.write(record); writeErr != nil {
			return fmt.Errorf("%w; %w", err, writeErr)
		}
	}
	return err
}

// write writes a record to the file.
func (l *savedLease) write(r savedRecord) error {
	if l.fileErr = l.held.Write(r.encode); l.fileErr == nil {
		l.record = r
	}
	return l.fileErr
}

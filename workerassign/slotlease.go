package workerassign

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/sqlstore"
)

// A BoundedLease is a Lease whose grants never reach further into the future than its horizon. A generator
// that requires more waits for the clock, and does not ask again before that. It borrows only as much time
// as such grants allow, see uid.WithMaxBorrow.
type BoundedLease interface {
	Lease

	// Horizon returns how far beyond the generator's clock a grant can reach. 0 means that it is not
	// bounded, as if the lease did not have this method.
	Horizon() time.Duration
}

// horizonOf returns the horizon of a lease, or 0 if it has none.
func horizonOf(l Lease) time.Duration {
	if b, ok := l.(BoundedLease); ok {
		return b.Horizon()
	}
	return 0
}

// slotLease is a lease of Recycled.
type slotLease struct {
	recycled *Recycled
	req      Request
	token    string // of the try that took the slot
	workerID int64
	from     time.Time
	horizon  time.Duration
	history  string // the slot's

	mu           sync.Mutex
	released     bool
	acknowledged time.Time // what the store has acknowledged to this lease: the greatest until
	revision     int64     // of the slot when that was acknowledged
}

func newSlotLease(r *Recycled, req Request, p Pool, slot Slot) *slotLease {
	return &slotLease{recycled: r, req: req, token: slot.Token, workerID: slot.WorkerID, from: slot.From,
		horizon: p.Horizon - r.cfg.clockBound, acknowledged: slot.From, history: slot.History, revision: slot.Revision}
}

// WorkerID implements Lease.
func (l *slotLease) WorkerID() int64 { return l.workerID }

// NotBefore implements Lease: what was granted before ends here (R3).
func (l *slotLease) NotBefore() time.Time { return l.from }

// Horizon implements BoundedLease.
func (l *slotLease) Horizon() time.Duration { return l.horizon }

// Reserve implements Lease. It reads the slot and extends it by a compare-and-swap (R2). After an error of
// the write it reads the slot again (R4). It grants only what a write has acknowledged: a read does not
// prove that what it returns is durable.
func (l *slotLease) Reserve(ctx context.Context, until time.Time) (time.Time, error) {
	if l.isReleased() {
		return time.Time{}, ErrReleased
	}
	want := roundUp(until)
	retry := newSwapRetry()
	for failures := 0; ; {
		s, slot, err := l.read(ctx)
		if err != nil {
			return time.Time{}, err
		}
		// R6. The store's clock is that of the read, which is earlier than the write.
		next := earlier(want, roundDown(s.Now.Add(s.Pool.Horizon)))
		if granted := l.granted(); !next.After(slot.Until) && !slot.Until.After(granted) && !l.recycled.isAging(s, slot) {
			return slot.Until, nil
		}
		written := slot
		written.Revision++
		written.Until = later(slot.Until, next) // R1
		written.Written = s.nowUp()
		written.FreeAt = l.recycled.cfg.freeAt(s.Pool, written)
		ok, err := l.recycled.store.Write(ctx, SlotWrite{History: s.History, Slots: []Slot{written}, Replaced: []Slot{slot}})
		if ok && err == nil {
			l.acknowledge(written)
			return written.Until, nil
		}
		if err != nil {
			// The write may have been made, or be made later: then the slot has this token, and a later
			// until, which the next read finds. Nothing is granted before that.
			if ctx.Err() != nil {
				return time.Time{}, l.storeError("extend", err)
			}
			if _, again, readErr := l.read(ctx); readErr != nil {
				return time.Time{}, readErr
			} else if again.Revision == slot.Revision {
				return time.Time{}, l.storeError("extend", err)
			}
			if failures++; failures == 1 {
				continue
			}
		}
		if err := retry.wait(ctx); err != nil {
			return time.Time{}, l.storeError("extend", err)
		}
	}
}

// swapRetry pauses after writes that returned false. The next read usually returns the state that the write
// met; but a store may return an older state for a moment.
type swapRetry struct {
	pauses   sqlstore.Backoff
	attempts int
}

func newSwapRetry() *swapRetry {
	return &swapRetry{pauses: sqlstore.Backoff{Initial: 5 * time.Millisecond, Maximum: 200 * time.Millisecond}}
}

// wait returns the error of ctx if that ends first.
func (r *swapRetry) wait(ctx context.Context) error {
	r.attempts++
	return sqlstore.Sleep(ctx, r.pauses.Pause(r.attempts))
}

// isAging reports whether a slot that cannot be extended must be written nevertheless, because its last
// write is so old that it would soon become free.
func (r *Recycled) isAging(s PoolState, slot Slot) bool {
	return later(slot.Until, slot.Written).Add(r.cfg.grace(s.Pool) / 2).Before(s.Now)
}

// read reads the slot, and checks whether it is still this lease's and may be extended.
func (l *slotLease) read(ctx context.Context) (PoolState, Slot, error) {
	sent := l.req.now()
	s, err := l.readSlot(ctx)
	if err != nil {
		return s, Slot{}, l.storeError("read", err)
	}
	if len(s.Slots) != 1 {
		// R7: after a failover the slot may be missing because the write that added it was lost.
		l.noteHistoryUnlessSkewed(ctx, s, sent)
		return s, Slot{}, fmt.Errorf("%w: %w", ErrLeaseLost, missingSlotError(s.Pool, l.workerID))
	}
	slot := s.Slots[0]
	switch {
	case slot.Token != l.token || !slot.From.Equal(l.from): // R4
		return s, slot, takenError(slot, l.from)
	case slot.History != s.Pool.leaseHistory() || s.Pool.History != s.History: // R7
		l.noteHistoryUnlessSkewed(ctx, s, sent)
		return s, slot, fmt.Errorf("%w: worker ID %d was leased under the history %q of the store, which has now %q: another may have held it in between",
			ErrLeaseLost, l.workerID, slot.History, s.History)
	}
	return s, slot, nil
}

// takenError returns the error for a lease that began at from, and whose slot has another token. Recycled.RaiseFloor ends a
// lease without a new one: then the slot still has the lease's from and holder.
func takenError(slot Slot, from time.Time) error {
	if slot.Token == "" && slot.From.Equal(from) {
		return fmt.Errorf("%w: the lease of worker ID %d was ended in the store at %s: an operator raised the floor",
			ErrLeaseLost, slot.WorkerID, slot.Written.UTC().Format(time.RFC3339Nano))
	}
	return fmt.Errorf("%w: worker ID %d was taken by %q (host %q, process %q) at %s", ErrLeaseLost, slot.WorkerID,
		slot.Holder.Name, slot.Holder.Host, slot.Holder.Process, slot.Holder.Since.UTC().Format(time.RFC3339Nano))
}

// noteHistoryUnlessSkewed is noteHistory, unless the clocks of the store and of this host differ by more than the
// bound (R8). A floor that follows from a clock that is behind would be too early. Assign reports the clocks, and notes
// the history when they are right again. s was requested when this host's clock showed sent.
func (l *slotLease) noteHistoryUnlessSkewed(ctx context.Context, s PoolState, sent time.Time) {
	if l.recycled.checkClock(s, sent, l.req.now()) == nil {
		l.noteHistory(ctx, s)
	}
}

// noteHistory gives the pool its floor, if nobody has yet, so that the floor comes from a time that is
// close to the change.
func (l *slotLease) noteHistory(ctx context.Context, s PoolState) {
	if s.Pool.Revision == 0 || s.Pool.History == s.History || s.ReadOnly || s.Pool.checkDurations() != nil {
		return
	}
	log := safelog.NewQueue(l.recycled.cfg.loggerFor(l.req))
	defer log.Flush(logFlushTimeout)
	p := s.Pool
	p.Revision++
	p.noteHistory(s)
	written, err := l.recycled.store.Write(ctx, SlotWrite{History: s.History, Pool: &p, ReplacedPool: &s.Pool})
	l.recycled.logFloor(log, p, historyRecord(s.Pool.History), written, err) // if it fails, the next Assign does it
}

// Release implements Lease. It gives the rest of the span to the next lease.
func (l *slotLease) Release(ctx context.Context, used time.Time) error {
	l.mu.Lock()
	first := !l.released
	l.released = true
	l.mu.Unlock()
	if !first {
		return nil
	}
	used = roundUp(used)
	retry := newSwapRetry()
	for failures := 0; ; {
		s, err := l.readSlot(ctx)
		if err != nil {
			return l.storeError("release", err)
		}
		if len(s.Slots) != 1 {
			return missingSlotError(s.Pool, l.workerID)
		}
		old := s.Slots[0]
		if old.Token != l.token || !old.From.Equal(l.from) {
			return nil // it was released, or taken by another
		}
		slot := old
		slot.Revision++
		slot.Token = ""
		slot.Until = later(slot.From, earlier(used, slot.Until)) // R1
		slot.Written = s.nowUp()
		slot.FreeAt = slot.Until
		if !slot.Until.After(s.Pool.Floor) { // the next lease begins at the floor (R5)
			slot.FreeAt = earlier(slot.Until, s.nowUp())
		}
		ok, err := l.recycled.store.Write(ctx, SlotWrite{History: s.History, Slots: []Slot{slot}, Replaced: []Slot{old}})
		if ok && err == nil {
			return nil
		}
		if err != nil {
			failures++
			if ctx.Err() != nil || failures > 1 {
				return l.storeError("release", err)
			}
			continue
		}
		if err := retry.wait(ctx); err != nil {
			return l.storeError("release", err)
		}
	}
}

// storeError returns an error of the store with what it kept from being done.
func (l *slotLease) storeError(action string, err error) error {
	return fmt.Errorf("workerassign: cannot %s the slot of worker ID %d in %s: %w", action, l.workerID, l.recycled.store.String(), err)
}

// maxStaleReads is how many times a lease reads its slot again if it reads an older state than it has written.
const maxStaleReads = 5

// readSlot reads the slot. If the store returns an older state than this lease has written, it reads again some
// times, so that a store which is a moment behind does not cost the lease.
func (l *slotLease) readSlot(ctx context.Context) (PoolState, error) {
	l.mu.Lock()
	known := l.revision
	l.mu.Unlock()
	for retry := newSwapRetry(); ; {
		s, err := l.recycled.store.Read(ctx, SlotQuery{WorkerIDs: []int64{l.workerID}})
		if err != nil {
			return s, err
		}
		sameHistory := s.Pool.History == s.History && s.Pool.leaseHistory() == l.history
		if isBehind := len(s.Slots) == 0 || s.Slots[0].Revision < known; !sameHistory || !isBehind || retry.attempts == maxStaleReads {
			return s, nil
		}
		if err := retry.wait(ctx); err != nil {
			return s, err
		}
	}
}

// acknowledge records what the store has acknowledged.
func (l *slotLease) acknowledge(slot Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acknowledged, l.revision = later(l.acknowledged, slot.Until), slot.Revision
}

// granted returns what the store has acknowledged.
func (l *slotLease) granted() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acknowledged
}

func (l *slotLease) isReleased() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.released
}

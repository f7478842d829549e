package workerassign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
)

const (
	minWindow = 16   // how many free slots are read at first; one of them is chosen at random
	maxWindow = 1024 // and at most: the window doubles with each lost race
	maxBatch  = 32   // how many slots are added in one write at most: etcd has a limit of 128 operations
)

// describeProcess returns the host name and the process ID.
func describeProcess() (host, process string) {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return host, fmt.Sprint(os.Getpid())
}

// slotAssign is one call of Assign.
type slotAssign struct {
	recycled *Recycled
	req      Request
	log      *safelog.Queue
	started  time.Time
	attempts int

	beforeClaim func(Slot) error // nil: nothing

	window   int  // how many free slots to read
	lostAdds int  // how many times another process added slots first
	readAll  bool // whether to read all slots, because none seems to be free

	// How many times in a row slots were not added although the pool's revision has not changed.
	stuckAdds     int
	stuckRevision int64
}

// maxStuckAdds is the value of stuckAdds at which the pool is taken for damaged. It is more than a few because
// a store may read an older state for a moment.
const maxStuckAdds = 6

// run tries until it has a lease or ctx ends.
func (a *slotAssign) run(ctx context.Context) (Lease, error) {
	pauses := backoff{initial: 10 * time.Millisecond, maximum: time.Second}
	var lastErr error
	for {
		a.attempts++
		lease, wait, err := a.try(ctx)
		switch {
		case lease != nil:
			return lease, nil
		case err != nil && !isTemporary(err):
			return nil, err
		case err != nil:
			lastErr = err
			wait = max(wait, pauses.pause(min(a.attempts, 10)))
		}
		if deadline, ok := ctx.Deadline(); ok && wait > time.Until(deadline) && isHeld(err) {
			return nil, err // it would not become free in time
		}
		if wait > 0 && sleep(ctx, min(wait, time.Second)) != nil || ctx.Err() != nil {
			if isHeld(lastErr) {
				return nil, lastErr
			}
			return nil, &RetryError{Operation: "take a slot of the pool in " + a.recycled.store.String(), Attempts: a.attempts,
				Elapsed: time.Since(a.started), Cause: context.Cause(ctx), LastErr: lastErr,
				Advice: "check whether the store is up and accepts writes"}
		}
	}
}

// try makes one attempt. Without a lease and without an error it is to be called again after wait.
func (a *slotAssign) try(ctx context.Context) (_ Lease, wait time.Duration, err error) {
	cfg := &a.recycled.cfg
	s, err := a.read(ctx)
	if err != nil {
		return nil, 0, err
	}
	if s.Pool.Revision == 0 {
		return nil, 0, a.createPool(ctx, s)
	}
	a.recycled.seen.Store(true)
	if err := a.checkPool(s.Pool); err != nil {
		return nil, 0, err
	}
	if s.Pool.History != s.History { // R7
		p := s.Pool
		p.Revision++
		p.noteHistory(s, a.log)
		_, err := a.recycled.store.Write(ctx, SlotWrite{History: s.History, Pool: &p})
		return nil, 0, temporary(err)
	}
	if cfg.workerID >= 0 {
		return a.takeFixed(ctx, s)
	}
	if slot, ok := a.choose(s); ok {
		lease, err := a.take(ctx, s, slot)
		if lease == nil {
			a.window = min(2*a.window, maxWindow)
			return nil, a.shortPause(), err
		}
		return lease, 0, nil
	}
	if s.Pool.First+s.Pool.Slots <= a.req.MaxWorkerID {
		lease, err := a.add(ctx, s, 1<<min(a.lostAdds, 5))
		if lease == nil {
			a.lostAdds++
			return nil, a.shortPause(), err
		}
		return lease, 0, nil
	}
	if !a.readAll {
		a.readAll = true // the store may not have found a free one
		return nil, 0, nil
	}
	a.readAll = false
	if workerID, ok := missingSlot(s); ok {
		return nil, 0, missingSlotError(s.Pool, workerID)
	}
	full := a.fullError(s)
	return nil, max(full.NextFree.Sub(s.Now), time.Millisecond), full
}

// shortPause returns a random pause after another process was faster. Its maximum doubles with each attempt, so
// that many hosts which start at the same time spread over the time that the store requires for them.
func (a *slotAssign) shortPause() time.Duration {
	return rand.N(10 * time.Millisecond << min(a.attempts, 7))
}

// read reads the pool and the slots that matter, and compares the clocks (R8).
func (a *slotAssign) read(ctx context.Context) (PoolState, error) {
	cfg := &a.recycled.cfg
	q := SlotQuery{Name: cfg.name, Free: a.window, All: a.readAll}
	if cfg.workerID >= 0 {
		q = SlotQuery{WorkerIDs: []int64{cfg.workerID}}
	}
	sent := a.req.now()
	s, err := a.recycled.store.Read(ctx, q)
	if err != nil {
		return s, temporary(err)
	}
	return s, a.recycled.checkClock(s, sent, a.req.now())
}

// checkClock compares the store's clock, in the answer to a read, with this host's at the time of the request and
// of the answer (R8).
func (r *Recycled) checkClock(s PoolState, sent, received time.Time) error {
	bound := r.cfg.clockBound
	if !s.HostClock && (s.Now.Before(sent.Add(-bound)) || s.Now.After(received.Add(bound))) {
		return fmt.Errorf("%w: this host's clock shows %s, and the store's %s; must not differ by more than %v: set the clock of the host or of the store",
			ErrClockSkew, received.UTC().Format(time.RFC3339Nano), s.Now.UTC().Format(time.RFC3339Nano), bound)
	}
	return nil
}

// createPool creates the pool. It begins with a floor if it may have been lost (R7).
func (a *slotAssign) createPool(ctx context.Context, s PoolState) error {
	cfg := &a.recycled.cfg
	p := Pool{
		Revision: 1, Format: a.req.Format, First: cfg.firstWorkerID,
		Horizon: roundUpDuration(cfg.horizon), Fencing: roundUpDuration(cfg.fencing), Skew: roundUpDuration(cfg.skew),
		History: s.History, Since: s.nowUp(),
	}
	if !s.NoLoss && (!cfg.newPool || a.recycled.seen.Load()) {
		p.noteHistory(s, a.log)
	}
	_, err := a.recycled.store.Write(ctx, SlotWrite{History: s.History, Pool: &p})
	return temporary(err)
}

// checkPool checks whether the pool is for generators such as this one.
func (a *slotAssign) checkPool(p Pool) error {
	if p.Format != a.req.Format {
		return fmt.Errorf("%w: the pool's format is %q, and this generator's is %q; use another pool for another format", ErrPoolFormat, p.Format, a.req.Format)
	}
	if first := a.recycled.cfg.firstWorkerID; p.First != first {
		return fmt.Errorf("%w: the pool's first worker ID is %d, and this assigner's is %d; must be equal (WithFirstWorkerID)", ErrPoolFormat, p.First, first)
	}
	if bound := a.recycled.cfg.clockBound; p.Horizon <= bound {
		return fmt.Errorf("%w: the clock bound is %v; must be less than the horizon of the pool, %v", ErrOption, bound, p.Horizon)
	}
	return nil
}

// choose returns a slot that this generator may take. It prefers the slot of its name, then slots
// that have no name, and chooses at random among several, so that hosts which start together do not
// want the same one.
func (a *slotAssign) choose(s PoolState) (Slot, bool) {
	var own Slot // of the wanted name, the one that it had last
	var named, free []Slot
	name, now := a.recycled.cfg.name, a.req.now()
	for _, slot := range s.Slots {
		// A slot beyond the pool was added after the pool was read; or somebody has deleted the pool, which
		// the next addition of slots finds.
		if n := slot.WorkerID - s.Pool.First; n < 0 || n >= s.Pool.Slots || !a.isFree(s, slot, now) {
			continue
		}
		switch {
		case name != "" && slot.Holder.Name == name:
			if own.Revision == 0 || slot.Holder.Since.After(own.Holder.Since) {
				own = slot
			}
		case slot.Holder.Name != "":
			named = append(named, slot)
		default:
			free = append(free, slot)
		}
	}
	if own.Revision != 0 {
		return own, true
	}
	if len(free) == 0 {
		free = named
	}
	if len(free) == 0 {
		return Slot{}, false
	}
	return free[rand.IntN(len(free))], true
}

// isFree reports whether a slot may be taken (R5). now is this host's clock.
func (a *slotAssign) isFree(s PoolState, slot Slot, now time.Time) bool {
	cfg := &a.recycled.cfg
	if slot.Token == "" {
		return !slot.Until.After(s.Now) && !slot.Until.After(now)
	}
	// A lease that was never extended has been taken a moment ago, possibly by a generator of this name that
	// is about to reserve time.
	extended := slot.From.Before(slot.Until)
	if cfg.name != "" && slot.Holder.Name == cfg.name && extended && cfg.nameNeedsNoGrace(s.Pool) {
		return slot.Until.Before(s.Now) && slot.Until.Before(now)
	}
	// After a start of the store only released slots are free for one grace.
	grace := cfg.grace(s.Pool)
	return later(slot.Until, slot.Written).Add(grace).Before(s.Now) && !s.Pool.Since.Add(grace).After(s.Now)
}

// take takes a slot that is free. It returns nil and no error if another was faster.
func (a *slotAssign) take(ctx context.Context, s PoolState, slot Slot) (Lease, error) {
	// R3: the lease begins where the last grant ended, and not before the floor.
	next, err := a.claim(s, slot, later(slot.Until, s.Pool.Floor))
	if err != nil {
		return nil, err
	}
	written, err := a.recycled.store.Write(ctx, SlotWrite{History: s.History, Slots: []Slot{next}})
	return a.result(ctx, s.Pool, written, err, next)
}

// claim returns a slot as this call writes it: with a token of its own, so that the reply to one
// try is never taken for that to another (R4).
func (a *slotAssign) claim(s PoolState, slot Slot, from time.Time) (Slot, error) {
	slot.Revision++
	slot.Token = newToken()
	slot.From, slot.Until = from, from
	slot.History, slot.Written = s.Pool.leaseHistory(), s.nowUp()
	slot.FreeAt = a.recycled.cfg.freeAt(s.Pool, slot)
	host, process := a.recycled.cfg.holder()
	slot.Holder = Holder{Name: a.recycled.cfg.name, Host: host, Process: process, Since: s.nowUp()}
	if a.beforeClaim != nil {
		if err := a.beforeClaim(slot); err != nil {
			return slot, err
		}
	}
	return slot, nil
}

// result returns the lease on a slot if the store has made the write. After an error the slot is
// read again, and the token decides (R4).
func (a *slotAssign) result(ctx context.Context, p Pool, written bool, err error, slot Slot) (Lease, error) {
	if err != nil {
		s, readErr := a.recycled.store.Read(ctx, SlotQuery{WorkerIDs: []int64{slot.WorkerID}})
		if readErr != nil {
			return nil, temporary(readErr)
		}
		if len(s.Slots) != 1 || s.Slots[0].Token != slot.Token {
			return nil, temporary(err)
		}
		slot, written = s.Slots[0], true
	}
	if !written {
		return nil, nil
	}
	return newSlotLease(a.recycled, a.req, p, slot), nil
}

// add adds slots to the pool, up to a number, and takes the first of them. It returns nil and no error
// if another was faster.
func (a *slotAssign) add(ctx context.Context, s PoolState, count int64) (Lease, error) {
	first := s.Pool.First + s.Pool.Slots
	count = min(count, maxBatch, a.req.MaxWorkerID-first+1)
	w := a.addition(s, count)
	claimed, err := a.claim(s, Slot{WorkerID: first}, w.Slots[0].Until)
	if err != nil {
		return nil, err
	}
	w.Slots[0] = claimed
	written, err := a.recycled.store.Write(ctx, w)
	lease, err := a.result(ctx, s.Pool, written, err, w.Slots[0])
	if lease == nil && err == nil {
		err = a.checkAdds(ctx, s)
	}
	return lease, err
}

// checkAdds is called when slots were not added. It returns an error if that is so again and again, and
// not because another process has changed the pool, but because the slots exist.
func (a *slotAssign) checkAdds(ctx context.Context, s PoolState) error {
	if s.Pool.Revision != a.stuckRevision {
		a.stuckAdds, a.stuckRevision = 0, s.Pool.Revision
	}
	if a.stuckAdds++; a.stuckAdds < maxStuckAdds {
		return nil
	}
	next := s.Pool.First + s.Pool.Slots
	now, err := a.recycled.store.Read(ctx, SlotQuery{WorkerIDs: []int64{next}})
	if err != nil || now.Pool.Revision != s.Pool.Revision || len(now.Slots) == 0 {
		return temporary(err)
	}
	return fmt.Errorf("%w: the slot of worker ID %d exists, although the pool has %d slots: somebody deleted the pool's record; see doc/fleet.md",
		ErrPool, next, s.Pool.Slots)
}

// addition returns the write that adds slots. The pool's record is written too, so that the write is
// compared with every other that adds slots or raises the floor.
func (a *slotAssign) addition(s PoolState, count int64) SlotWrite {
	p := s.Pool
	begin := later(s.nowUp(), p.Floor) // R3
	w := SlotWrite{History: s.History, Pool: &p}
	for n := range count {
		w.Slots = append(w.Slots, Slot{WorkerID: p.First + p.Slots + n, Revision: 1, From: begin, Until: begin,
			History: p.leaseHistory(), Written: s.nowUp(), FreeAt: begin})
	}
	p.Revision++
	p.Slots += count
	return w
}

// takeFixed takes the slot of WithWorkerID, or adds it and those below it.
func (a *slotAssign) takeFixed(ctx context.Context, s PoolState) (Lease, time.Duration, error) {
	workerID := a.recycled.cfg.workerID
	if workerID > a.req.MaxWorkerID {
		return nil, 0, fmt.Errorf("%w: the worker ID is %d; must be at most %d, the greatest of the layout", ErrWidth, workerID, a.req.MaxWorkerID)
	}
	if missing := workerID - (s.Pool.First + s.Pool.Slots) + 1; missing > 0 {
		written, err := a.recycled.store.Write(ctx, a.addition(s, min(missing, maxBatch)))
		switch {
		case err != nil:
			return nil, 0, temporary(err)
		case !written:
			return nil, a.shortPause(), a.checkAdds(ctx, s)
		}
		return nil, 0, nil
	}
	if len(s.Slots) == 0 {
		return nil, 0, missingSlotError(s.Pool, workerID)
	}
	slot := s.Slots[0]
	if !a.isFree(s, slot, a.req.now()) {
		slot.FreeAt = a.recycled.cfg.nextFree(s, slot)
		return nil, max(slot.FreeAt.Sub(s.Now), time.Millisecond), &SlotHeldError{Slot: slot}
	}
	lease, err := a.take(ctx, s, slot)
	return lease, 0, err
}

// fullError returns the error for a pool whose slots are all held.
func (a *slotAssign) fullError(s PoolState) *PoolFullError {
	e := &PoolFullError{Held: s.Pool.Slots}
	for _, slot := range s.Slots {
		if free := a.recycled.cfg.nextFree(s, slot); e.NextFree.IsZero() || free.Before(e.NextFree) {
			e.NextFree = free
		}
	}
	return e
}

// missingSlot returns the worker ID of a slot that the pool should have, if s, which has all slots, has not.
func missingSlot(s PoolState) (workerID int64, ok bool) {
	exists := map[int64]bool{}
	for _, slot := range s.Slots {
		exists[slot.WorkerID] = true
	}
	for n := range s.Pool.Slots {
		if !exists[s.Pool.First+n] {
			return s.Pool.First + n, true
		}
	}
	return 0, false
}

// missingSlotError returns the error for a slot that the pool should have.
func missingSlotError(p Pool, workerID int64) error {
	if p.Revision == 0 || workerID >= p.First+p.Slots {
		return fmt.Errorf("%w: the slot of worker ID %d is missing, and the pool has %d slots: the store has lost writes, or somebody deleted the pool: see doc/fleet.md",
			ErrPool, workerID, p.Slots)
	}
	return fmt.Errorf("%w: the slot of worker ID %d is missing, although slots %d to %d were added; slots must never be deleted: see doc/fleet.md",
		ErrPool, workerID, p.First, p.First+p.Slots-1)
}

// temporaryError is an error of the store, after which Assign tries again.
type temporaryError struct{ err error }

// Error implements error.
func (e temporaryError) Error() string { return e.err.Error() }

// Unwrap returns the error of the store.
func (e temporaryError) Unwrap() error { return e.err }

// temporary marks an error of the store as temporary, unless the store says that it is permanent.
func temporary(err error) error {
	if err == nil || errors.Is(err, ErrPermanent) {
		return err
	}
	return temporaryError{err}
}

// isTemporary reports whether another try may succeed.
func isTemporary(err error) bool {
	_, ok := err.(temporaryError)
	return ok || isHeld(err)
}

// isHeld reports whether an error says that a slot is held, so that waiting may help.
func isHeld(err error) bool { return errors.Is(err, ErrPoolFull) || errors.Is(err, ErrSlotHeld) }

package recycled

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/workerassign"
)

// take takes a slot that is free. It returns nil and no error if another was faster.
func (a *slotAssign) take(ctx context.Context, s State, slot Slot) (workerassign.Lease, error) {
	// R3: the lease begins where the last grant ended, and not before the floor.
	next, err := a.claim(s, slot, millis.Later(slot.Until, s.Pool.Floor))
	if err != nil {
		return nil, err
	}
	next, written, err := a.recycled.swapSlot(ctx, s, slot, next)
	return a.result(ctx, s, written, err, next)
}

// claim returns a slot as this call writes it: with a token of its own, so that the reply to one
// try is never taken for that to another (R4).
func (a *slotAssign) claim(s State, slot Slot, from time.Time) (Slot, error) {
	next := slot
	next.Token = leaseToken(s.Now)
	a.tokens = append(a.tokens, next.Token)
	next.From, next.Until = from, from
	next.History = s.Pool.leaseHistory()
	host, process := a.recycled.cfg.holder()
	next.Holder = Holder{Name: a.recycled.cfg.name, Host: host, Process: process, Since: s.nowUp()}
	next = a.recycled.cfg.completed(s, slot, next)
	if a.beforeClaim != nil {
		if err := a.beforeClaim(next); err != nil {
			return next, err
		}
	}
	return next, nil
}

// result returns the lease on a slot if the store has made the write. After an error the slot is
// read again, and the token decides (R4).
func (a *slotAssign) result(ctx context.Context, s State, written bool, err error, slot Slot) (workerassign.Lease, error) {
	if err != nil {
		again, readErr := a.recycled.store.Read(ctx, Query{WorkerIDs: []int64{slot.WorkerID}})
		if readErr != nil {
			return nil, temporary(readErr)
		}
		if len(again.Slots) != 1 || again.Slots[0].Token != slot.Token {
			return nil, temporary(err)
		}
		slot, written = again.Slots[0], true
	}
	if !written {
		return nil, nil
	}
	if s.Pool.Floor.After(s.Now) && !a.floorLogged {
		a.log.Log(slog.LevelWarn, "recycled: the lease begins later, at the floor of the pool, which was set because writes or the pool may have been lost, or by an operator; "+
			"the generator waits for it", "worker_id", slot.WorkerID, "history", s.Pool.History, "floor", s.Pool.Floor, "wait", s.Pool.Floor.Sub(s.Now))
	}
	l := newSlotLease(a.recycled, a.req, s.Pool, slot, slot.Token)
	for _, former := range s.Slots {
		if former.WorkerID == slot.WorkerID {
			l.former = former
		}
	}
	return l, nil
}

// add adds slots to the pool, and takes the first of them. It returns nil and no error if another was faster.
func (a *slotAssign) add(ctx context.Context, s State) (workerassign.Lease, error) {
	first := s.Pool.First + s.Pool.Slots
	count := min(a.races.batch(), a.req.MaxWorkerID-first+1)
	w := a.addition(s, count)
	claimed, err := a.claim(s, Slot{WorkerID: first}, millis.Later(w.Slots[0].Until, s.Pool.Floor)) // R3
	if err != nil {
		return nil, err
	}
	w.Slots[0] = claimed
	written, err := a.recycled.store.Write(ctx, w)
	lease, err := a.result(ctx, s, written, err, w.Slots[0])
	if lease == nil && err == nil {
		err = a.checkAdds(ctx, s, w)
	}
	return lease, err
}

// takeFixed takes the slot of WithWorkerID, or adds it and those below it.
func (a *slotAssign) takeFixed(ctx context.Context, s State) (workerassign.Lease, time.Duration, error) {
	workerID := a.recycled.cfg.workerID
	if missing := workerID - (s.Pool.First + s.Pool.Slots) + 1; missing > 0 {
		w := a.addition(s, min(missing, maxBatch))
		written, err := a.recycled.store.Write(ctx, w)
		switch {
		case err != nil:
			return nil, 0, temporary(err)
		case !written:
			return nil, a.races.pause(ctx, nil), a.checkAdds(ctx, s, w)
		}
		return nil, 0, nil
	}
	if len(s.Slots) == 0 {
		return nil, 0, missingSlotError(s.Pool, workerID)
	}
	slot := s.Slots[0]
	isOwn := slices.Contains(a.tokens, slot.Token) // of a claim of this call that was made, and whose reply was lost
	if !isOwn && !a.isFree(s, slot, a.req.Time()) {
		slot.FreeAt = a.nextFree(s, slot)
		return nil, max(slot.FreeAt.Sub(s.Now), time.Millisecond), &SlotHeldError{Slot: slot}
	}
	lease, err := a.take(ctx, s, slot)
	return a.unlessLost(ctx, lease, err) // the store may return an older state for a moment
}

// fullError returns the error for a pool whose slots are all held.
func (a *slotAssign) fullError(s State) *PoolFullError {
	e := &PoolFullError{Held: min(s.Pool.Slots, a.req.MaxWorkerID-s.Pool.First+1), MaxWorkerID: a.req.MaxWorkerID}
	if s.Pool.Floor.After(s.Now) {
		e.Floor = s.Pool.Floor
	}
	for _, slot := range s.Slots {
		if slot.WorkerID > a.req.MaxWorkerID { // see choose
			continue
		}
		if free := a.nextFree(s, slot); e.NextFree.IsZero() || free.Before(e.NextFree) {
			e.NextFree = free
		}
	}
	return e
}

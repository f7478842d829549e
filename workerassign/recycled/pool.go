package recycled

import (
	"context"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/workerassign"
)

// State returns the pool with all its slots: who holds which worker ID, and until when. It is for
// operators and monitoring: it reads all slots.
func (r *Assigner) State(ctx context.Context) (State, error) {
	if err := r.usable(); err != nil {
		return State{}, err
	}
	return r.store.Read(ctx, Query{All: true})
}

// RaiseFloor makes sure that no lease begins before floor, and ends all leases that begin before it. An operator calls it when
// the store has lost writes that it does not know about, for example after a backup was restored, before
// any generator can reach the store again. floor must be later than any UID time that was granted: the
// present, plus the pool's H and M, is enough if the old store no longer acknowledges anything. doc/fleet.md
// has the procedure for each store; "ringuid pool raise-floor" calls it. If the store has no pool, RaiseFloor returns an error that
// wraps ErrPool; also if its horizon, fencing time or skew is impossible, or a slot is missing.
//
// Every slot is written, but those whose lease begins at a floor in the future or later, so that every lease that was taken before fails to extend. If RaiseFloor returns
// an error, call it again: it may have raised the floor for a part of the slots; if a slot is missing, all others were written, and doc/fleet.md
// says what to do. The slots can be leased again at once, from the floor on.
func (r *Assigner) RaiseFloor(ctx context.Context, floor time.Time) error {
	if err := r.usable(); err != nil {
		return err
	}
	floor = millis.Up(floor)
	log := safelog.NewQueue(r.cfg.loggerFor(workerassign.Request{}))
	defer log.Flush(safelog.FlushTimeout)
	var state State
	retry := newSwapRetry()
	for {
		s, err := r.store.Read(ctx, Query{All: true})
		switch {
		case err != nil:
			return fmt.Errorf("recycled: cannot read the pool in %s: %w", r.store, err)
		case s.Pool.Revision == 0:
			return fmt.Errorf("%w: there is no pool in %s whose floor could be raised", ErrPool, r.store)
		}
		if err := s.Pool.checkDurations(); err != nil { // floor may follow from them
			return err
		}
		p := s.Pool
		p.Floor = millis.Later(p.Floor, floor)
		var ok bool
		if p.History != s.History && !s.ReadOnly { // R7: else the first process after the promotion does it
			ok, err = r.noteHistory(ctx, log, s, p)
		} else {
			p.Revision++
			ok, err = r.store.Write(ctx, Write{History: s.History, Pool: &p, ReplacedPool: &s.Pool})
		}
		if err != nil {
			return fmt.Errorf("recycled: cannot write the pool in %s: %w", r.store, err)
		}
		if ok {
			state = s
			break
		}
		if err := retry.wait(ctx); err != nil {
			return fmt.Errorf("recycled: cannot write the pool in %s: %w", r.store, err)
		}
	}
	for _, slot := range state.Slots {
		if err := r.raiseSlot(ctx, slot, floor); err != nil {
			return err
		}
	}
	if id, ok := missingSlot(state); ok {
		return missingSlotError(state.Pool, id)
	}
	return nil
}

// raiseSlot ends the lease on a slot, and raises its until to the floor. A lease that another has taken meanwhile, from a floor in the
// future on, remains: nothing was granted of its time before.
func (r *Assigner) raiseSlot(ctx context.Context, slot Slot, floor time.Time) error {
	retry := newSwapRetry()
	for {
		s, err := r.store.Read(ctx, Query{WorkerIDs: []int64{slot.WorkerID}})
		if err != nil {
			return fmt.Errorf("recycled: cannot read the slot of worker ID %d in %s: %w", slot.WorkerID, r.store, err)
		}
		if len(s.Slots) != 1 {
			return missingSlotError(s.Pool, slot.WorkerID)
		}
		next := s.Slots[0]
		if !next.From.Before(floor) && floor.After(s.Now) {
			return nil
		}
		next.Token = ""
		next.Until = millis.Later(next.Until, floor)
		_, ok, err := r.swapSlot(ctx, s, s.Slots[0], next)
		if err != nil {
			return fmt.Errorf("recycled: cannot write the slot of worker ID %d in %s: %w", slot.WorkerID, r.store, err)
		}
		if ok {
			return nil
		}
		if err := retry.wait(ctx); err != nil {
			return fmt.Errorf("recycled: cannot write the slot of worker ID %d in %s: %w", slot.WorkerID, r.store, err)
		}
	}
}

// usable returns an error if the assigner was not created correctly.
func (r *Assigner) usable() error {
	if r == nil {
		return fmt.Errorf("%w: the *Assigner is nil; create it with New", workerassign.ErrOption)
	}
	if r.store == nil && r.cfg.err == nil {
		return fmt.Errorf("%w: the Assigner is the zero value; create it with New", workerassign.ErrOption)
	}
	return r.cfg.err
}

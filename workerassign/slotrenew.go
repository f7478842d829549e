package workerassign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A renewal extends the lease on a slot, which may have been taken by an earlier process, by a swap with a
// fresh token. So of two holders of one record, of which one must be a copy, only the first one succeeds.
type renewal struct {
	recycled *Recycled
	req      Request

	slot   Slot          // as it was last acknowledged: WorkerID, Revision, From and History
	tokens []string      // one of which the slot has: the acknowledged one, and those of swaps whose outcome is not known
	span   time.Duration // how far to extend, from the store's clock

	// beforeSwap is called before each write, with the slot as it is to be written. Its error ends the renewal
	// without the write.
	beforeSwap func(Slot) error
}

// errSlotTaken is the error of a renewal if another process has the slot, or an operator ended the lease. It is wrapped
// together with ErrLeaseLost.
var errSlotTaken = errors.New("the slot has another token")

// run returns the slot as the store has acknowledged it. It grants only what a write has acknowledged, as Reserve
// of slotLease does. It does not extend a slot that was leased under another history (R7). Errors wrap
// ErrLeaseLost if that is so, or if the slot was taken; in the latter case they wrap errSlotTaken too.
func (n *renewal) run(ctx context.Context) (Slot, error) {
	r := n.recycled
	r.seen.CompareAndSwap(nil, &Pool{Horizon: n.span}) // a slot of it was leased
	l := &slotLease{recycled: r, req: n.req, workerID: n.slot.WorkerID, from: n.slot.From, history: n.slot.History, revision: n.slot.Revision}
	retry := newSwapRetry()
	for failures := 0; ; {
		sent := n.req.now()
		s, err := l.readSlot(ctx)
		if err != nil {
			return Slot{}, l.storeError("read", err)
		}
		if err := r.checkClock(s, sent, n.req.now()); err != nil {
			return Slot{}, err
		}
		if err := n.check(ctx, l, s); err != nil {
			return Slot{}, err
		}
		next := s.Slots[0]
		next.Revision++
		next.Token = newToken()
		next.Until = later(next.Until, roundDown(s.Now.Add(n.span))) // R1; R6, because the span is at most H
		next.Written = s.nowUp()
		next.FreeAt = r.cfg.freeAt(s.Pool, next)
		next.Holder.Host, next.Holder.Process = r.cfg.holder()
		if err := n.beforeSwap(next); err != nil {
			return Slot{}, err
		}
		n.tokens = append(n.tokens, next.Token)
		written, err := r.store.Write(ctx, SlotWrite{History: s.History, Slots: []Slot{next}, Replaced: []Slot{s.Slots[0]}})
		if written && err == nil {
			return next, nil
		}
		if err != nil {
			// The write may have been made, or be made later (R4): then the slot has one of the tokens.
			if failures++; ctx.Err() != nil || failures > 1 {
				return Slot{}, l.storeError("extend", err)
			}
			continue
		}
		if err := retry.wait(ctx); err != nil {
			return Slot{}, l.storeError("extend", err)
		}
	}
}

// check returns an error if the slot cannot be extended.
func (n *renewal) check(ctx context.Context, l *slotLease, s PoolState) error {
	if s.Pool.Revision != 0 {
		n.recycled.found(s.Pool)
		if err := (&slotAssign{recycled: n.recycled, req: n.req}).checkPool(s.Pool); err != nil {
			return err
		}
		if s.Pool.Horizon < n.span {
			return fmt.Errorf("%w: the span is %v; must be at most the horizon of the pool in %v, %v: create the pool with WithHorizon of at least the span",
				ErrOption, n.span, n.recycled.store, s.Pool.Horizon)
		}
	}
	if len(s.Slots) == 1 && s.Slots[0].History == s.Pool.leaseHistory() && s.Pool.History == s.History {
		slot := s.Slots[0]
		if slot.From.Equal(l.from) && slot.Token != "" && slices.Contains(n.tokens, slot.Token) {
			return nil
		}
		return fmt.Errorf("%w: %w", takenError(slot, l.from), errSlotTaken)
	}
	l.noteHistory(ctx, s)
	return fmt.Errorf("%w: worker ID %d was leased under the history %q of the store, which has now %q", ErrLeaseLost, l.workerID, n.slot.History, s.History)
}

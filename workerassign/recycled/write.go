package recycled

import (
	"context"
	"log/slog"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/safelog"
)

// This file has the writes of an Assigner: each one of a slot that exists passes through swapSlot, and each one of the pool's history
// through notePool.

// swapSlot replaces old, which was read in s, by next, unless it has changed since (R2). It returns the slot as it was written.
func (r *Assigner) swapSlot(ctx context.Context, s State, old, next Slot) (Slot, bool, error) {
	next = r.cfg.completed(s, old, next)
	written, err := r.store.Write(ctx, Write{History: s.History, Slots: []Slot{next}, Replaced: []Slot{old}})
	return next, written, err
}

// completed returns next, which replaces old, with what follows from the other fields, and from the store's clock.
func (c *config) completed(s State, old, next Slot) Slot {
	next.Revision = old.Revision + 1
	next.Written = s.nowUp()
	next.FreeAt = c.freeAt(s.Pool, next)
	return next
}

// notePool writes p, which replaces the pool in s, with the history of the store that s was read from, and with the floor that
// follows from that (R7). It returns the pool as it was written.
func (r *Assigner) notePool(ctx context.Context, s State, p Pool) (_ Pool, written bool, err error) {
	p.Revision++
	p.History, p.Since = s.History, s.nowUp()
	// The record may be older than a raise of H, F or M, if that was lost too: this process has found the new ones, or declares them (covers).
	seen := r.seen.Load()
	if seen == nil || seen.Revision == 0 {
		seen = &p
	}
	wait := max(p.Fencing, seen.Fencing, millis.UpDuration(r.cfg.fencing)) + max(p.Horizon, seen.Horizon, millis.UpDuration(r.cfg.horizon)) +
		max(p.Skew, seen.Skew, millis.UpDuration(r.cfg.skew))
	p.Floor = millis.Later(p.Floor, millis.Up(s.Now.Add(wait)))
	written, err = r.store.Write(ctx, Write{History: s.History, Pool: &p, ReplacedPool: &s.Pool})
	return p, written, err
}

// noteHistory is notePool for a pool that had another history. It logs the floor if the write was made. Nobody knows whether a floor is
// set whose write returned an error: then only the leases that begin at it log it.
func (r *Assigner) noteHistory(ctx context.Context, log *safelog.Queue, s State, p Pool) (written bool, err error) {
	p, written, err = r.notePool(ctx, s, p)
	if written {
		log.Log(slog.LevelWarn, "recycled: the store may have lost writes; no lease begins before the floor",
			"history", p.History, "previous", s.Pool.History, "floor", p.Floor, "wait", p.Floor.Sub(p.Since))
	}
	return written, err
}

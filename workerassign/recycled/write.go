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
// follows from that (R7). record logs the floor, if the write was made. If another process was faster, that one logs its
// floor. After an error, the store may have the floor or not: the next Assign that finds it logs it. Otherwise a process would log a
// floor that does not exist at each try, as long as a server that has just taken over refuses writes.
func (r *Assigner) notePool(ctx context.Context, log *safelog.Queue, s State, p Pool, record floorRecord) (written bool, err error) {
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
	switch {
	case err != nil:
		r.unsure.Store(&unsureFloor{p.History, record})
	case written:
		r.unsure.Store(nil)
		record(log, p)
	}
	return written, err
}

// A floorRecord writes the log record for the floor of a pool.
type floorRecord func(log *safelog.Queue, p Pool)

// An unsureFloor is a floor whose write returned an error, so that it is not known whether the store has it.
type unsureFloor struct {
	history string
	record  floorRecord
}

// logUnsureFloor logs the floor of the pool that was found in s, if a write of this process, which returned an error, may
// have set it. It reports whether it has logged.
func (r *Assigner) logUnsureFloor(log *safelog.Queue, s State) (logged bool) {
	u := r.unsure.Load()
	if u == nil || s.Pool.History != s.History || !r.unsure.CompareAndSwap(u, nil) || u.history != s.History {
		return false
	}
	u.record(log, s.Pool)
	return true
}

// historyRecord returns the record for the floor of a pool that had another history.
func historyRecord(previous string) floorRecord {
	return func(log *safelog.Queue, p Pool) {
		log.Log(slog.LevelWarn, "recycled: the store may have lost writes; no lease begins before the floor",
			"history", p.History, "previous", previous, "floor", p.Floor, "wait", p.Floor.Sub(p.Since))
	}
}

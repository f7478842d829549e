package recycled

import (
	"context"
	"math"
	"time"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/random"
)

// choose returns a slot that this generator may take, and how many it may take: 0 if there is none, and the greatest
// number if a slot has its name. It prefers the slot of its name, then slots
// that have no name, and chooses at random among several, so that hosts which start together do not
// want the same one.
func (a *slotAssign) choose(ctx context.Context, s State) (Slot, int) {
	var own Slot // of the wanted name, the one that it had last
	var named, free []Slot
	name, now := a.recycled.cfg.name, a.req.Time()
	for _, slot := range s.Slots {
		// A slot beyond the pool was added after the pool was read; or somebody has deleted the pool, which
		// the next addition of slots finds. One beyond this claimant's layout is for others: their Prefix is narrower.
		if n := slot.WorkerID - s.Pool.First; n < 0 || n >= s.Pool.Slots || slot.WorkerID > a.req.MaxWorkerID || !a.isFree(s, slot, now) {
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
		return own, math.MaxInt
	}
	n := len(free) + len(named)
	if len(free) == 0 {
		free = named
	}
	if len(free) == 0 {
		return Slot{}, 0
	}
	return free[random.IntN(ctx, len(free))], n
}

// isFree reports whether a slot may be taken (R5). now is this host's clock.
func (a *slotAssign) isFree(s State, slot Slot, now time.Time) bool {
	cfg := &a.recycled.cfg
	if slot.Token == "" {
		// Nothing was granted of a slot that was added and never taken. If a host whose clock is behind the store's did
		// not take it, each such host of a crowd would add a batch of its own.
		isNew := slot.Revision == 1
		// No lease begins before the floor. So a slot is free at once if its grant ends before it. Otherwise each restart of a
		// host, or of the store, would use another slot until then, and after RaiseFloor a full layout would have none.
		if !slot.Until.After(s.Pool.Floor) {
			return true
		}
		return !slot.Until.After(s.Now) && (isNew || !slot.Until.After(now))
	}
	if a.needsNoGrace(s, slot) {
		return slot.Until.Before(s.Now) && slot.Until.Before(now)
	}
	// After a start of the store only released slots are free for one grace.
	grace := cfg.grace(s.Pool)
	return millis.Later(slot.Until, slot.Written).Add(grace).Before(s.Now) && !s.Pool.Since.Add(grace).After(s.Now)
}

// needsNoGrace reports whether a slot that is held is free for this claimant at the end of its grant, because its holder
// had the same name (R5).
func (a *slotAssign) needsNoGrace(s State, slot Slot) bool {
	cfg := &a.recycled.cfg
	// A lease that was never extended has been taken a moment ago, possibly by a generator of this name that
	// is about to reserve time.
	extended := slot.From.Before(slot.Until)
	return cfg.name != "" && slot.Holder.Name == cfg.name && extended && cfg.nameNeedsNoGrace(s.Pool, slot, a.req.ReserveAhead)
}

// nextFree returns when this claimant may take a slot that is not free, by the store's clock, if its holder does nothing
// until then (R5).
func (a *slotAssign) nextFree(s State, slot Slot) time.Time {
	if slot.Token != "" && a.needsNoGrace(s, slot) {
		return slot.Until.Add(time.Millisecond) // the times of slots are whole milliseconds
	}
	return a.recycled.cfg.nextFree(s, slot)
}

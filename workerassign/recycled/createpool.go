package recycled

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/workerassign"
)

// CreatePool creates the pool of a fleet that starts for the first time. Without it, the first generator creates the pool, and in a store
// that can lose writes its leases begin F + H + M later (110 s by default), because nobody can know whether the pool is new or was
// lost. An operator calls it once, or runs "ringuid pool create". Do not call it whenever a service starts or is deployed: if the
// pool is lost, a new one without that wait has UIDs generated twice.
//
// Of the options, WithHorizon, WithFencing, WithSkew and WithFirstWorkerID are of the pool, and WithTimeout bounds the call if ctx has no
// deadline. The format is that of the first generator.
//
// If there is a pool, the error wraps ErrPoolExists. If there is none, but a slot, it wraps ErrPool: the pool was lost. After another error
// the pool may exist; call CreatePool again to know.
func CreatePool(ctx context.Context, s Store, opts ...Option) error {
	r := New(s, opts...)
	if err := r.usable(); err != nil {
		return err
	}
	ctx, cancel := backoff.WithTimeout(ctx, r.cfg.timeout)
	defer cancel()
	for retry := newSwapRetry(); ; {
		state, err := s.Read(ctx, Query{All: true})
		switch {
		case err != nil:
			return fmt.Errorf("recycled: cannot read the pool in %s: %w", s, err)
		case state.Pool.Revision != 0:
			used := fmt.Sprintf("for the format %q", state.Pool.Format)
			if state.Pool.Format == "" {
				used = "which no generator has used yet"
			}
			return fmt.Errorf("%w: %s has one with %d slots, %s; use it, or another store", ErrPoolExists, s, state.Pool.Slots, used)
		case len(state.Slots) != 0:
			return fmt.Errorf("%w: %s has no pool, but the slot of worker ID %d: the pool was lost: see doc/fleet.md, A slot or the pool is missing",
				ErrPool, s, state.Slots[0].WorkerID)
		case state.ReadOnly:
			return fmt.Errorf("recycled: cannot create the pool in %s: the server is read-only: it may be a replica: use the primary", s)
		}
		p := r.cfg.pool(state)
		ok, err := s.Write(ctx, Write{History: state.History, Pool: &p})
		if err != nil {
			return fmt.Errorf("recycled: cannot create the pool in %s: %w", s, err)
		}
		if ok {
			return nil
		}
		if err := retry.wait(ctx); err != nil {
			return fmt.Errorf("recycled: cannot create the pool in %s: %w", s, err)
		}
	}
}

// pool returns a pool without a floor and without a format, for a store in state s.
func (c *config) pool(s State) Pool {
	return Pool{
		Revision: 1, First: c.firstWorkerID, History: s.History, Since: s.nowUp(),
		Horizon: millis.UpDuration(c.horizon), Fencing: millis.UpDuration(c.fencing), Skew: millis.UpDuration(c.skew),
	}
}

// found records that the pool exists, with the greatest durations that were found: a failover may lose that an operator has raised one,
// and grants of the raised one remain. If the durations are impossible, those that were found before remain.
func (r *Assigner) found(p Pool) {
	if p.checkDurations() != nil {
		r.seen.CompareAndSwap(nil, &Pool{})
		return
	}
	for swapped := false; !swapped; {
		next := p
		seen := r.seen.Load()
		if seen != nil && seen.Revision > 0 {
			next.Horizon, next.Fencing, next.Skew = max(p.Horizon, seen.Horizon), max(p.Fencing, seen.Fencing), max(p.Skew, seen.Skew)
		}
		swapped = r.seen.CompareAndSwap(seen, &next)
	}
}

// createMissing creates the pool. It begins with a floor if it may have been lost (R7): always if this process has used
// it before. It returns false if the pool was created by another process.
func (a *slotAssign) createMissing(ctx context.Context, s State) (written bool, err error) {
	p := a.recycled.cfg.pool(s)
	p.Format = a.req.Format
	seen := a.recycled.seen.Load()
	if seen == nil && s.NoLoss {
		return a.recycled.store.Write(ctx, Write{History: s.History, Pool: &p})
	}
	p.Revision = 0
	if seen != nil && seen.Revision > 0 { // which covers has compared with the options
		p.Horizon, p.Fencing, p.Skew = seen.Horizon, seen.Fencing, seen.Skew
	}
	p, written, err = a.recycled.notePool(ctx, s, p)
	if written {
		a.floorLogged = true
		attrs := []any{"store", a.recycled.store.String(), "history", p.History, "floor", p.Floor, "wait", p.Floor.Sub(p.Since)}
		if seen != nil {
			a.log.Log(slog.LevelWarn, "recycled: the pool is missing, although this process has used it; it is created with a floor, "+
				"before which no lease begins: see doc/fleet.md", attrs...)
		} else {
			a.log.Log(slog.LevelWarn, "recycled: the pool is missing, and is created with a floor, because it may have been lost; UIDs begin at the floor, after the wait. "+
				"Before the first start of a fleet, \"ringuid pool create\" (recycled.CreatePool) avoids the wait: see doc/fleet.md", attrs...)
		}
	}
	return written, err
}

// checkPool checks whether the pool is for generators such as this one.
func (a *slotAssign) checkPool(p Pool) error {
	if p.Format != a.req.Format {
		return fmt.Errorf("%w: the pool's format is %q, and this generator's is %q; for another format, use another pool as doc/time.md says", ErrPoolFormat, p.Format, a.req.Format)
	}
	if first := a.recycled.cfg.firstWorkerID; p.First != first {
		return fmt.Errorf("%w: the pool's first worker ID is %d, and this assigner's is %d; must be equal (WithFirstWorkerID)", ErrPoolFormat, p.First, first)
	}
	if err := p.checkDurations(); err != nil {
		return err
	}
	if err := a.recycled.cfg.covers(p); err != nil {
		return err
	}
	if bound := a.recycled.cfg.clockBound; p.Horizon <= bound {
		return fmt.Errorf("%w: the clock bound is %v; must be less than the horizon of the pool, %v", workerassign.ErrOption, bound, p.Horizon)
	}
	return nil
}

// covers returns an error if the assigner declares a smaller H, F or M than the pool has: if the pool is lost, and this assigner creates
// it again, its floor must be behind everything that was granted (R7).
func (c *config) covers(p Pool) error {
	for _, d := range []struct {
		name, option string
		own, pools   time.Duration
	}{
		{"horizon", "WithHorizon", c.horizon, p.Horizon},
		{"fencing time", "WithFencing", c.fencing, p.Fencing},
		{"skew", "WithSkew", c.skew, p.Skew},
	} {
		if millis.UpDuration(d.own) < d.pools {
			return fmt.Errorf("%w: the %s is %v; must be at least that of the pool, %v (%s), because the floor follows from it if the pool is lost",
				workerassign.ErrOption, d.name, d.own, d.pools, d.option)
		}
	}
	return nil
}

// checkDurations returns an error if H, F or M is impossible: a floor that follows from them could be too early, because their
// sum overflows.
func (p Pool) checkDurations() error {
	for name, d := range map[string]time.Duration{"horizon": p.Horizon, "fencing time": p.Fencing, "skew": p.Skew} {
		if d < 0 || d > millis.MaxDuration {
			return fmt.Errorf("%w: its %s is %v; must be 0 to %v", ErrPool, name, d, millis.MaxDuration)
		}
	}
	return nil
}

// addCount is how many times in a row slots were not added although the pool's revision has not changed.
type addCount struct {
	refused  int
	revision int64
}

// maxRefusedAdds is how many refused additions show that the pool is damaged. It is more than a few because a store may read an older
// state for a moment.
const maxRefusedAdds = 6

// checkAdds is called when the slots of w were not added to s. It returns an error if that is so again and again, and
// not because another process has changed the pool, but because one of the slots exists.
func (a *slotAssign) checkAdds(ctx context.Context, s State, w Write) error {
	if s.Pool.Revision != a.adds.revision {
		a.adds = addCount{revision: s.Pool.Revision}
	}
	if a.adds.refused++; a.adds.refused < maxRefusedAdds {
		return nil
	}
	q := Query{}
	for _, slot := range w.Slots {
		q.WorkerIDs = append(q.WorkerIDs, slot.WorkerID)
	}
	now, err := a.recycled.store.Read(ctx, q)
	if err != nil || now.Pool.Revision != s.Pool.Revision || len(now.Slots) == 0 {
		return temporary(err)
	}
	first := slices.MinFunc(now.Slots, func(a, b Slot) int { return cmp.Compare(a.WorkerID, b.WorkerID) })
	return fmt.Errorf("%w: the slot of worker ID %d exists, although the pool has %d slots: somebody deleted the pool's record; see doc/fleet.md",
		ErrPool, first.WorkerID, s.Pool.Slots)
}

// addition returns the write that adds slots. The pool's record is written too, so that the write is
// compared with every other that adds slots or raises the floor. Nothing was granted of a new slot, so it is free at once
// (R5), also before a floor: others of a crowd take it, and need not add slots of their own. Its leases begin at the
// floor nevertheless, because each one does (R3).
func (a *slotAssign) addition(s State, count int64) Write {
	p := s.Pool
	begin := s.nowUp()
	w := Write{History: s.History, Pool: &p, ReplacedPool: &s.Pool}
	for n := range count {
		slot := Slot{WorkerID: p.First + p.Slots + n, From: begin, Until: begin, History: p.leaseHistory()}
		w.Slots = append(w.Slots, a.recycled.cfg.completed(s, Slot{}, slot))
		w.Replaced = append(w.Replaced, Slot{})
	}
	p.Revision++
	p.Slots += count
	return w
}

// missingSlot returns the worker ID of a slot that the pool should have, if s, which has all slots, has not.
func missingSlot(s State) (workerID int64, ok bool) {
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

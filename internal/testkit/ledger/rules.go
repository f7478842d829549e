package ledger

import (
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A try checks whether a write was allowed, if it is based on a read.
type try struct {
	*checker
	w      *write
	r      *read
	pool   recycled.Pool // that the write leaves
	news   int64         // new slots
	broken []Violation
}

// newTry returns what a write that is based on a read violates.
func newTry(c *checker, w *write, r *read) *try {
	t := &try{checker: c, w: w, r: r, pool: r.State.Pool}
	if w.Write.Pool != nil {
		t.pool = *w.Write.Pool
		t.written()
	}
	for i, s := range w.Write.Slots {
		t.slot(w.Write.Replaced[i], s)
	}
	t.must(t.pool.Slots == r.State.Pool.Slots+t.news, "R7", "the pool has %d slots, and %d are added", t.pool.Slots, t.news)
	return t
}

// must adds a violation if something does not hold that must.
func (t *try) must(holds bool, rule, format string, args ...any) {
	if !holds {
		text := fmt.Sprintf("%s: %s; the read: now %v, pool %+v", fmt.Sprintf(format, args...), describe(t.w), t.r.State.Now, t.r.State.Pool)
		t.broken = append(t.broken, Violation{rule, text})
	}
}

// clock returns the latest time that the store's clock can show when the write is made. Its servers' clocks differ by M.
func (t *try) clock() time.Time {
	end := t.w.End
	if t.w.Unknown { // it may be made at any time, but was decided on before its call
		end = t.w.Call
	}
	return t.r.State.Now.Add(end - t.r.Call + t.r.State.Pool.Skew + time.Millisecond)
}

// written checks the pool that the write writes (R2, R7).
func (t *try) written() {
	old, p, now := t.r.State.Pool, t.pool, t.r.State.Now
	isNew := old.Revision == 0
	had := old // if it is lost: as the process has read it before
	for _, before := range t.reads[t.w.client] {
		if isNew && before.State.Pool.Revision > 0 && before.End <= t.r.Call {
			had = before.State.Pool
		}
	}
	t.must(p.Revision == old.Revision+1, "R2", "the pool's revision becomes %d after %d", p.Revision, old.Revision)
	t.must(isNew || p.First == old.First && (p.Format == old.Format || old.Format == ""), "R7", "the pool's first worker ID or its format changes")
	t.must(!p.Floor.Before(old.Floor), "R7", "the pool's floor falls")
	t.must(p.Horizon >= had.Horizon && p.Fencing >= had.Fencing && p.Skew >= had.Skew, "R7", "the pool's H, F or M fall")
	if !isNew && termOf(p) == termOf(old) {
		return
	}
	t.must(p.History == t.r.State.History, "R7", "the pool takes the history %s, and the store's is %s", p.History, t.r.State.History)
	t.must(!p.Since.Before(now) && !p.Since.After(t.clock()), "R7", "the pool has a history since %v, which was read at %v", p.Since, now)
	reach := now.Add(p.Fencing + p.Horizon + p.Skew)
	mayLack := had.Revision == 0 && len(t.r.State.Slots) == 0 && (t.r.State.NoLoss || t.w.client.isOperator)
	t.must(mayLack || !p.Floor.Before(reach), "R7", "the floor is %v; must not be before the store's clock + F + H + M, %v", p.Floor, reach)
	t.must(!t.r.State.ReadOnly, "R7", "a floor is calculated from a server that is read-only")
}

// slot checks a write of one slot, which replaces old.
func (t *try) slot(old, s recycled.Slot) {
	before := t.tokens[old.Token]
	isOwn := before != nil && before.client == t.w.client && (before.Made || before.Unknown)
	t.must(s.Revision == old.Revision+1, "R2", "the slot's revision becomes %d after %d", s.Revision, old.Revision)
	t.must(!s.Until.Before(s.From), "R3", "until is before from")
	t.must(!s.Written.Before(t.r.State.Now) && !s.Written.After(t.clock()), "R5", "the slot is written at %v by its record", s.Written)
	switch {
	case old.Revision == 0:
		t.news++
		t.added(s)
	case s.Token == "":
		t.released(old, s, isOwn)
	case isOwn && t.began[s.Token] == t.began[old.Token]:
		t.extended(old, s)
	default:
		t.taken(old, s)
	}
}

// added checks a new slot (R2, R3).
func (t *try) added(s recycled.Slot) {
	p, first := t.pool, t.pool.First+t.r.State.Pool.Slots
	t.must(s.WorkerID >= first && s.WorkerID < p.First+p.Slots, "R2", "the slot of worker ID %d is added to the pool of %d to %d", s.WorkerID, first, p.First+p.Slots-1)
	t.must(!s.From.Before(t.r.State.Now), "R3", "a new slot begins before the store's clock")
	t.must(!s.From.After(millis.Later(t.clock(), p.Floor)), "R3", "a new slot begins after the floor and the store's clock")
	t.must(s.Token != "" || s.Until.Equal(s.From), "R3", "a new slot has a span that was granted to nobody")
	if s.Token != "" {
		t.begun(s)
	}
}

// callTime is how long one call of a store may take (R5).
const callTime = 10 * time.Second

// taken checks a lease that begins in a slot that is not new (R3, R5).
func (t *try) taken(old, s recycled.Slot) {
	w, p, now, begin := t.w, t.pool, t.r.State.Now, millis.Later(old.Until, t.pool.Floor)
	t.must(s.From.Equal(begin), "R3", "a lease begins at %v; must begin at %v, the later of until and the floor", s.From, begin)
	grace := w.client.bound + p.Skew
	ahead := min(w.ReserveAhead, old.Until.Sub(old.Written)*2/3) // the latter is what the last grant shows
	hasName := s.Holder.Name != "" && s.Holder.Name == old.Holder.Name && old.Until.After(old.From) && ahead*9/8 > grace+callTime
	switch {
	case old.Token != "" && !hasName:
		free := millis.Later(millis.Later(old.Until, old.Written), p.Since).Add(grace) // Since: after a change of history
		t.must(!now.Before(free), "R5", "the slot is not free before %v", free)
	case old.Token != "" || p.Floor.Before(old.Until):
		t.must(!now.Before(old.Until), "R5", "the slot is not free before %v", old.Until)
		wasTaken := old.Token == "" && old.Revision > 1
		t.must(!wasTaken || !w.Received.Before(old.Until), "R5", "the claimant's clock shows %v, before until", w.Received)
	}
	t.begun(s)
}

// begun checks a lease that begins, also in a new slot (R7, R8).
func (t *try) begun(s recycled.Slot) {
	now, bound, floor := t.r.State.Now, t.w.client.bound, t.floor(t.pool)
	isNear := !now.Before(t.r.Sent.Add(-bound-time.Millisecond)) && !now.After(t.r.Received.Add(bound+time.Millisecond))
	t.must(isNear || t.r.State.HostClock, "R8", "the store's clock shows %v, and the host's %v to %v", now, t.r.Sent, t.r.Received)
	t.must(!s.From.Before(floor), "R7", "a lease begins before the floor %v, which was written before its pool was read", floor)
	t.granted(s, s.From, t.pool)
}

// granted checks a grant by a pool: not beyond its horizon, unless the lease had reached that before (R6), and under its history (R7).
func (t *try) granted(s recycled.Slot, reached time.Time, p recycled.Pool) {
	limit := t.r.State.Now.Add(p.Horizon + time.Millisecond) // times are rounded to milliseconds
	t.must(!s.Until.After(millis.Later(reached, limit)), "R6", "a lease is granted beyond the horizon, %v", limit)
	known, found := t.under[s.History]
	t.must(!found || known == termOf(p), "R7", "the slot's history %q stands for %v and %v", s.History, known, termOf(p))
	t.must(p.History == t.w.Write.History, "R7", "the lease is of the history %q, and the pool has %q", t.w.Write.History, p.History)
}

// extended checks an extension (R1, R7), by the pool that was read: the write may change that too.
func (t *try) extended(old, s recycled.Slot) {
	floor := t.floor(t.r.State.Pool)
	t.must(!s.Until.Before(t.reached(old)), "R1", "an extension lowers until")
	t.must(!s.From.Before(floor) || !s.Until.After(millis.Later(old.Until, floor)), "R7", "a lease that begins before the floor is extended beyond it")
	t.must(s.History == old.History, "R7", "a lease of another history is extended")
	t.granted(s, old.Until, t.r.State.Pool)
}

// reached returns how far the process's lease reached, also if the store has lost its last extension.
func (t *try) reached(old recycled.Slot) time.Time {
	return millis.Later(old.Until, t.acked[t.began[old.Token]])
}

// released checks the end of a lease, or a floor that is raised (R1, R5).
func (t *try) released(old, s recycled.Slot, isOwn bool) {
	t.must(s.From.Equal(old.From), "R1", "a release, or a raised floor, changes from")
	t.must(!t.isHeld(old, s), "R1", "it releases a lease before the end of what it has used, or that its generator holds")
	isReturned := isOwn && !s.Until.After(t.reached(old)) // by its holder, which may have used less
	t.must(isReturned || !s.Until.Before(old.Until), "R1", "until falls, and not by the holder")
	t.must(isReturned || !s.Until.After(millis.Later(old.Until, t.pool.Floor)), "R1", "until rises without a lease, and beyond the floor")
	t.must(isOwn || old.Token == "" || t.w.client.isOperator || !s.Until.After(t.pool.Floor), "R5", "a process that is no operator ends the lease of another")
}

// isHeld reports whether a write releases a lease that its generator holds, or has used for longer.
func (t *try) isHeld(old, s recycled.Slot) bool {
	first := t.tokens[t.began[old.Token]]
	for _, l := range t.w.client.byWorker[s.WorkerID] {
		if first != nil && s.From.Equal(l.NotBefore) && l.Call <= first.Call && first.Call <= l.End {
			return !l.released || s.Until.Before(l.until())
		}
	}
	return false
}

// floor returns the latest floor of a pool's term of those that it has and that were acknowledged before the read.
func (t *try) floor(p recycled.Pool) time.Time {
	floor := p.Floor
	for _, f := range t.floors[termOf(p)] {
		if f.Made && f.End <= t.r.Call {
			floor = millis.Later(floor, f.Write.Pool.Floor)
		}
	}
	return floor
}

package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/ringuid/ringuid/internal/millis"
)

// order checks that the acknowledged writes of each record come one after the other (R2): in one history of the store and of the
// pool, each revision is written once, and not after a later one; and that all reads show the same record of it, which was written.
func (c *checker) order(made []version, reads []*read) {
	slices.SortStableFunc(made, func(a, b version) int { return cmp.Compare(a.number, b.number) })
	latest, calls := map[record]version{}, map[record]time.Duration{} // of the revisions before, and their latest calls
	content := map[revision]any{}                                     // also of writes of unknown outcome that reads show
	for _, v := range made {
		last, isLater := latest[v.record]
		switch {
		case isLater && v.number <= last.number+1 && v.old != last.content: // also if one revision was written twice
			c.fail("R2", "revision %d of %+v replaces what was not there: %s; revision %d: %s", v.number, v.record, describe(v.by), last.number, describe(last.by))
		case v.by.End < calls[v.record]:
			c.fail("R2", "revision %d of %+v was written before the one that it replaces", v.number, v.record)
		}
		latest[v.record], calls[v.record] = v, max(calls[v.record], v.by.Call)
		content[v.revision] = v.content
	}
	for _, r := range reads {
		for _, v := range versions(shown(r.State)) {
			if call, known := c.wrote[v.content]; !known || call > r.End {
				c.fail("store", "a read of process %d returned what nobody has written: %+v", r.client.number, v.content)
			}
			if other, known := content[v.revision]; known && other != v.content {
				c.fail("R2", "a read of process %d shows revision %d of %+v as %+v, and another call as %+v", r.client.number, v.number, v.record, v.content, other)
			}
			content[v.revision] = v.content
		}
	}
}

// grants checks the leases: that what they grant was acknowledged (R2), that those of one worker ID are disjoint (R3), and that a
// generator stamps only what it was granted, and did not give back.
func (c *checker) grants(l *Log) {
	last := &lease{}
	for _, l := range slices.SortedStableFunc(slices.Values(l.leases), func(a, b *lease) int {
		return cmp.Or(cmp.Compare(a.WorkerID, b.WorkerID), a.NotBefore.Compare(b.NotBefore))
	}) {
		c.Grants += len(l.granted)
		c.Stamps += len(l.stamps)
		for _, g := range append([]grant{{span: span{End: l.End}, Until: l.NotBefore}}, l.granted...) {
			if !c.isBacked(l, g) {
				c.fail("R2", "process %d has a lease of worker ID %d from %v until %v, which no write has acknowledged", l.client.number, l.WorkerID, l.NotBefore, g.Until)
			}
		}
		c.stamps(l)
		if l.WorkerID == last.WorkerID && l.NotBefore.Before(last.until()) && l.NotBefore.Before(l.until()) {
			c.fail("R3", "worker ID %d was granted to process %d from %v until %v, and to process %d from %v on", l.WorkerID, last.client.number, last.NotBefore, last.until(), l.client.number, l.NotBefore)
		}
		if l.WorkerID != last.WorkerID || l.until().After(last.until()) {
			last = l
		}
	}
}

// isBacked reports whether a write had acknowledged a grant of a lease when it was returned. A grant of nothing, with which a lease
// begins, may be of a write whose reply was lost, if a read shows it (R4).
func (c *checker) isBacked(l *lease, g grant) bool {
	for _, w := range c.writes[l.client] {
		for _, s := range w.Write.Slots {
			isShown := func(r *read) bool { return r.Call >= w.Call && r.End <= l.End && slices.Contains(r.State.Slots, s) }
			grants := s.WorkerID == l.WorkerID && s.Token != "" && s.From.Equal(l.NotBefore) && !s.Until.Before(g.Until) && w.End <= g.End
			if grants && (w.Made || !g.Until.After(l.NotBefore) && slices.ContainsFunc(c.reads[l.client], isShown)) {
				return true
			}
		}
	}
	return false
}

// until returns the end of what a lease was granted, and has not given back.
func (l *lease) until() time.Time {
	until := l.NotBefore
	for _, g := range l.granted {
		until = millis.Later(until, g.Until)
	}
	if l.released && l.used.Before(until) {
		return millis.Later(l.used, l.NotBefore)
	}
	return until
}

// stamps checks what a process has stamped with a lease.
func (c *checker) stamps(l *lease) {
	for unit, when := range l.stamps {
		at := time.UnixMicro(unit)
		granted := slices.ContainsFunc(l.granted, func(g grant) bool { return g.End <= when && at.Before(g.Until) })
		if at.Before(l.NotBefore) || !granted || l.released && !at.Before(l.used) {
			c.fail("grants", "process %d stamped %v with worker ID %d, which it was not granted then, or has given back (released: %v, used until %v)", l.client.number, at, l.WorkerID, l.released, l.used)
		}
	}
}

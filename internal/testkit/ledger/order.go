package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// order checks that the acknowledged writes of each record come one after the other (R2): in one history of the store and of the
// pool, each revision is written once, and not after a later one; and all reads show the same record of it.
func (c *checker) order(writes []*write, reads []*read) {
	type record struct {
		worker  int64 // -1: the pool
		history string
		term    term
	}
	type revision struct {
		number   int64
		old, new any // a slotKey or a poolKey
		*write
	}
	records := map[record][]revision{}
	for _, w := range writes {
		if !w.Made {
			continue
		}
		old := replaced(w.Write)
		for i, v := range versions(w.Write.Pool, w.Write.Slots) {
			r := record{v.worker, w.Write.History, w.term}
			records[r] = append(records[r], revision{v.revision, old[i], v.key, w})
		}
	}
	for r, list := range records {
		slices.SortStableFunc(list, func(a, b revision) int { return cmp.Compare(a.number, b.number) })
		call := time.Duration(-1) // the latest one of the revisions before
		for i, v := range list {
			switch {
			case i > 0 && v.number == list[i-1].number:
				c.fail("R2", "revision %d of %+v was written twice: by process %d, %s; and by process %d, %s", v.number, r, list[i-1].client.number, describe(list[i-1].write), v.client.number, describe(v.write))
			case i > 0 && v.number == list[i-1].number+1 && v.old != list[i-1].new:
				c.fail("R2", "revision %d of %+v replaces what was not there: process %d, %s; revision %d: process %d, %s", v.number, r, v.client.number, describe(v.write), list[i-1].number, list[i-1].client.number, describe(list[i-1].write))
			case v.End < call:
				c.fail("R2", "revision %d of %+v was written before the one that it replaces", v.number, r)
			}
			call = max(call, v.Call)
		}
	}
	type revisionOf struct {
		record
		number int64
	}
	content := map[revisionOf]any{} // also of writes of unknown outcome that reads show
	for r, list := range records {
		for _, v := range list {
			content[revisionOf{r, v.number}] = v.new
		}
	}
	for _, r := range reads {
		for _, v := range versions(&r.State.Pool, r.State.Slots) {
			key := revisionOf{record{v.worker, r.State.History, termOf(r.State.Pool)}, v.revision}
			if other, known := content[key]; known && other != v.key {
				c.fail("R2", "a read of process %d shows revision %d of %+v as %+v, and another call as %+v", r.client.number, v.revision, key.record, v.key, other)
			}
			content[key] = v.key
		}
	}
}

// replaced returns the keys of what the versions of a write replace.
func replaced(w recycled.Write) (list []any) {
	switch {
	case w.ReplacedPool != nil:
		list = append(list, poolKeyOf(*w.ReplacedPool))
	case w.Pool != nil:
		list = append(list, poolKeyOf(recycled.Pool{}))
	}
	for _, s := range w.Replaced {
		list = append(list, keyOf(s))
	}
	return list
}

// grants checks that what a lease grants was acknowledged (R2), that leases of one worker ID are disjoint (R3), and that a generator
// stamps only what it was granted, and did not give back.
func (c *checker) grants(l *Log) {
	byWorker := map[int64][]*lease{}
	written := map[*Client]map[int64][]*write{} // of a slot, by its worker ID
	for _, w := range l.writes {
		for _, s := range w.Write.Slots {
			if (w.Made || w.Unknown) && s.Token != "" {
				if written[w.client] == nil {
					written[w.client] = map[int64][]*write{}
				}
				written[w.client][s.WorkerID] = append(written[w.client][s.WorkerID], w)
			}
		}
	}
	// A lease may begin with a write whose reply was lost, if a read shows its token (R4). Only acknowledged writes grant time.
	backed := func(l *lease, until time.Time, end time.Duration) bool {
		return slices.ContainsFunc(written[l.client][l.WorkerID], func(w *write) bool {
			return (w.Made || w.Unknown && until.Equal(l.NotBefore) && c.shown(w, l)) && w.End <= end && slices.ContainsFunc(w.Write.Slots, func(s recycled.Slot) bool {
				return s.WorkerID == l.WorkerID && s.From.Equal(l.NotBefore) && !s.Until.Before(until)
			})
		})
	}
	for _, l := range l.leases {
		if l.until().After(l.NotBefore) {
			byWorker[l.WorkerID] = append(byWorker[l.WorkerID], l)
		}
		c.Grants += len(l.granted)
		c.Stamps += len(l.stamps)
		if !backed(l, l.NotBefore, l.End) {
			c.fail("R2", "process %d has a lease of worker ID %d from %v on, which no write has acknowledged", l.client.number, l.WorkerID, l.NotBefore)
		}
		for _, g := range l.granted {
			if g.Until.After(l.NotBefore) && !backed(l, g.Until, g.End) {
				c.fail("R2", "process %d was granted worker ID %d until %v, which no write has acknowledged", l.client.number, l.WorkerID, g.Until)
			}
		}
		c.stamps(l)
	}
	for _, w := range l.writes {
		for i, s := range w.Write.Slots {
			taken := c.taker(w.Write.Replaced[i].Token)
			isOf := func(l *lease) bool {
				return s.From.Equal(l.NotBefore) && taken != nil && l.Call <= taken.Call && taken.Call <= l.End
			}
			isRight := func(l *lease) bool { return isOf(l) && l.released && !s.Until.Before(l.until()) }
			list := w.client.byWorker[s.WorkerID]
			if (w.Made || w.Unknown) && s.Token == "" && s.Revision > 1 && slices.ContainsFunc(list, isOf) && !slices.ContainsFunc(list, isRight) {
				c.fail("R1", "process %d releases a lease before the end of what it has used, or that its generator holds: %s", w.client.number, describe(w))
			}
		}
	}
	for _, worker := range slices.Sorted(maps.Keys(byWorker)) {
		list := byWorker[worker]
		slices.SortStableFunc(list, func(a, b *lease) int { return a.NotBefore.Compare(b.NotBefore) })
		last := list[0]
		for _, l := range list[1:] {
			if l.NotBefore.Before(last.until()) {
				c.fail("R3", "worker ID %d was granted to process %d from %v until %v, and to process %d from %v on", worker, last.client.number, last.NotBefore, last.until(), l.client.number, l.NotBefore)
			}
			if !l.until().Before(last.until()) {
				last = l
			}
		}
	}
}

// taker returns the write that has begun the lease which has a token: a process may have had several leases that begin at one time.
func (c *checker) taker(token string) *write {
	w := c.tokens[token]
	for token != "" && w != nil {
		i := slices.IndexFunc(w.Write.Slots, func(s recycled.Slot) bool { return s.Token == token })
		s, old := w.Write.Slots[i], w.Write.Replaced[i]
		before := c.tokens[old.Token]
		if old.Token == "" || before == nil || before.client != w.client || before.Call >= w.Call || !s.From.Equal(old.From) || !s.Holder.Since.Equal(old.Holder.Since) {
			return w
		}
		w, token = before, old.Token
	}
	return nil
}

// shown reports whether a read of the process has shown a token of a write before a lease was returned.
func (c *checker) shown(w *write, l *lease) bool {
	return slices.ContainsFunc(c.reads[l.client], func(r *read) bool {
		return r.Call >= w.Call && r.End <= l.End && slices.ContainsFunc(r.State.Slots, func(s recycled.Slot) bool { return s.Token != "" && c.tokens[s.Token] == w })
	})
}

// until returns the end of what a lease was granted, and has not given back.
func (l *lease) until() time.Time {
	until := l.NotBefore
	for _, g := range l.granted {
		until = later(until, g.Until)
	}
	if l.released && l.used.Before(until) {
		return later(l.used, l.NotBefore)
	}
	return until
}

// stamps checks what a process has stamped with a lease.
func (c *checker) stamps(l *lease) {
	for unit, when := range l.stamps {
		at := time.UnixMicro(unit)
		granted := slices.ContainsFunc(l.granted, func(g grant) bool { return g.End <= when && at.Before(g.Until) })
		switch {
		case at.Before(l.NotBefore) || !granted:
			c.fail("grants", "process %d stamped %v with worker ID %d, which it was not granted then", l.client.number, at, l.WorkerID)
		case l.released && !at.Before(l.used):
			c.fail("grants", "process %d stamped %v with worker ID %d, and gave it back with %v as the end of what was used", l.client.number, at, l.WorkerID, l.used)
		}
	}
}

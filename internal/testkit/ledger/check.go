package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A Violation is something that the rules do not allow.
type Violation struct {
	Rule string // R1 to R8; "store" if the store broke its contract; "grants" if a generator stamped what it was not granted
	Text string
}

// A Report is the result of Check.
type Report struct {
	Reads, Writes, Unknown, Refused int // Writes were acknowledged; of Unknown it is not known whether they were made
	Leases, Grants, Stamps          int
	Violations                      []Violation
}

// String describes the report in one line, and the first violations.
func (r Report) String() string {
	text := fmt.Sprintf("%d reads, %d writes, %d of unknown outcome, %d refused; %d leases, %d grants, %d time units stamped; %d violations",
		r.Reads, r.Writes, r.Unknown, r.Refused, r.Leases, r.Grants, r.Stamps, len(r.Violations))
	for _, v := range r.Violations[:min(len(r.Violations), 5)] {
		text += "\n" + v.Rule + ": " + v.Text
	}
	return text
}

// A checker has a log by what a rule asks for.
type checker struct {
	Report
	reads  map[*Client][]*read   // in the order of their returns
	writes map[*Client][]*write  // that were not refused
	wrote  map[any]time.Duration // the first call that wrote a record
	tokens map[string]*write     // the try that had a token
	began  map[string]string     // for each token that was tried: that of the write which began its lease
	acked  map[string]time.Time  // the greatest until that was acknowledged of the lease that began with a token
	under  map[string]term       // the pool's term under which slots of a history are leased, by Slot.History
	floors map[term][]*write     // the writes of the pool's floor
}

// A term is a time in which the pool has one history.
type term struct {
	history string
	since   time.Time
}

func termOf(p recycled.Pool) term { return term{p.History, p.Since} }

// A record is a slot or the pool, in one history of the store and in one term of the pool.
type record struct {
	worker  int64 // -1: the pool
	history string
	term    term
}

// A revision is the key of one version of a record.
type revision struct {
	record
	number int64
}

// A version is one version of a record, and what it replaces: a recycled.Slot or recycled.Pool.
type version struct {
	revision
	by           *write // that writes it
	content, old any
}

// versions returns the versions that a write writes.
func versions(w *write) (list []version) {
	if p := w.Write.Pool; p != nil && p.Revision > 0 {
		list = append(list, version{revision{record{-1, w.Write.History, w.term}, p.Revision}, w, *p, *w.Write.ReplacedPool})
	}
	for i, s := range w.Write.Slots {
		list = append(list, version{revision{record{s.WorkerID, w.Write.History, w.term}, s.Revision}, w, s, w.Write.Replaced[i]})
	}
	return list
}

// shown returns what a state shows as a write of no process, as if all of it was new.
func shown(s recycled.State) *write {
	w := recycled.Write{History: s.History, Pool: &s.Pool, ReplacedPool: new(recycled.Pool), Slots: s.Slots, Replaced: make([]recycled.Slot, len(s.Slots))}
	return &write{client: &Client{}, Write: w, Made: true, term: termOf(s.Pool)}
}

// Check checks a run that has ended.
func (l *Log) Check() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &checker{Report: Report{Reads: len(l.reads), Leases: len(l.leases), Violations: l.foreign},
		reads: map[*Client][]*read{}, writes: map[*Client][]*write{}, wrote: map[any]time.Duration{}, tokens: map[string]*write{}, began: map[string]string{},
		acked: map[string]time.Time{}, under: map[string]term{}, floors: map[term][]*write{}}
	slices.SortStableFunc(l.reads, func(a, b *read) int { return cmp.Compare(a.End, b.End) })
	slices.SortStableFunc(l.writes, func(a, b *write) int { return cmp.Compare(a.Call, b.Call) })
	for _, r := range l.reads {
		c.reads[r.client] = append(c.reads[r.client], r)
	}
	before := shown(l.before)
	for _, w := range slices.Concat(l.late, []*write{before}, l.writes) {
		c.enter(w)
	}
	made := versions(before)
	c.kept(l, made)
	for _, w := range l.writes {
		switch {
		case w.Made:
			c.Writes++
		case w.Unknown:
			c.Unknown++
		default:
			c.Refused++
			continue
		}
		c.writes[w.client] = append(c.writes[w.client], w)
		c.write(w)
		if w.Made {
			made = append(made, versions(w)...)
		}
	}
	c.order(made, l.reads)
	c.grants(l)
	return c.Report
}

// fail adds a violation.
func (c *checker) fail(rule, format string, args ...any) {
	c.Violations = append(c.Violations, Violation{rule, fmt.Sprintf(format, args...)})
}

// enter notes what a write may have written, and checks that no other try has its tokens (R4).
func (c *checker) enter(w *write) {
	for i, s := range w.Write.Slots {
		if s.Token == "" {
			continue
		}
		if other := c.tokens[s.Token]; other != nil && w.client.number > 0 {
			c.fail("R4", "processes %d and %d have tried to write the token %s: each try must have a fresh one", other.client.number, w.client.number, s.Token)
		}
		c.tokens[s.Token], c.began[s.Token] = w, s.Token
		old := w.Write.Replaced[i]
		if before := c.tokens[old.Token]; before != nil && before.client == w.client && s.From.Equal(old.From) && s.Holder.Since.Equal(old.Holder.Since) {
			c.began[s.Token] = c.began[old.Token]
		}
	}
	if !w.Made && !w.Unknown {
		return
	}
	for _, v := range versions(w) {
		if _, known := c.wrote[v.content]; !known {
			c.wrote[v.content] = w.Call
		}
	}
	if w.Write.Pool != nil {
		c.floors[termOf(*w.Write.Pool)] = append(c.floors[termOf(*w.Write.Pool)], w)
	}
}

// kept checks that the store had what a log before has acknowledged, if it still had the history of these writes.
func (c *checker) kept(l *Log, now []version) {
	had := termOf(l.before.Pool)
	for _, w := range l.late {
		isLost := w.term.since.After(had.since) || w.term == had && slices.ContainsFunc(versions(w), func(v version) bool {
			return !slices.ContainsFunc(now, func(n version) bool { return n.worker == v.worker && (n.number > v.number || n.content == v.content) })
		})
		if w.Made && w.Write.History == l.before.History && isLost {
			c.fail("store", "a write that was acknowledged before is lost: %s", describe(w))
		}
	}
}

// write checks that a write was allowed, given one of the reads of its process that returned the records that it replaces, however old
// that read is. If none allows it, what is wrong with the last one is reported.
func (c *checker) write(w *write) {
	var base *try
	for _, r := range slices.Backward(c.reads[w.client]) {
		if r.End > w.Call || !isBase(r, w) {
			continue
		}
		if t := newTry(c, w, r); base == nil || len(t.broken) == 0 {
			base = t
		}
		if len(base.broken) == 0 {
			break
		}
	}
	if base == nil {
		c.fail("R2", "a process replaces what it has not read, or is not in the store's history %s: %s", w.Write.History, describe(w))
		return
	}
	w.term = termOf(base.pool)
	if c.Violations = append(c.Violations, base.broken...); len(base.broken) > 0 {
		return
	}
	for _, s := range w.Write.Slots {
		if _, known := c.under[s.History]; !known && s.Token != "" {
			c.under[s.History] = w.term
		}
		if first := c.began[s.Token]; w.Made && s.Token != "" {
			c.acked[first] = millis.Later(c.acked[first], s.Until)
		}
	}
}

// isBase reports whether a write may be based on a read: it returned what the write replaces.
func isBase(r *read, w *write) bool {
	for i, old := range w.Write.Replaced {
		if w.Write.Slots[i].Revision != 1 && !slices.Contains(r.State.Slots, old) {
			return false
		}
	}
	return r.State.History == w.Write.History && (w.Write.Pool == nil || *w.Write.ReplacedPool == r.State.Pool)
}

// describe describes a write.
func describe(w *write) string {
	return fmt.Sprintf("process %d, [%v, %v]: pool %+v for %+v, slots %+v for %+v",
		w.client.number, w.Call, w.End, w.Write.Pool, w.Write.ReplacedPool, w.Write.Slots, w.Write.Replaced)
}

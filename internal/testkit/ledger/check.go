package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

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
	reads  map[*Client][]*read      // in the order of their returns
	wrote  map[any]time.Duration    // the first call that wrote a record: a slotKey or a poolKey
	tokens map[string]*write        // the try that had a token
	under  map[string]recycled.Pool // the pool under which slots of a history are leased, by Slot.History
	acked  map[leaseKey]time.Time   // the greatest until of a lease that was acknowledged
	floors map[term][]*write        // the writes of the pool's floor, by the pool's term
}

// A term is a time in which the pool has one history.
type term struct {
	history string
	since   int64
}

func termOf(p recycled.Pool) term { return term{p.History, p.Since.UnixMicro()} }

// slotKey is a Slot that can be compared.
type slotKey struct {
	worker, revision, from, until, written, free, since int64
	token, history, name, host, process                 string
}

func keyOf(s recycled.Slot) slotKey {
	return slotKey{s.WorkerID, s.Revision, s.From.UnixMicro(), s.Until.UnixMicro(), s.Written.UnixMicro(), s.FreeAt.UnixMicro(), s.Holder.Since.UnixMicro(),
		s.Token, s.History, s.Holder.Name, s.Holder.Host, s.Holder.Process}
}

// leaseKey is a lease, by what its writes have in common.
type leaseKey struct {
	client              *Client
	worker, from, since int64
}

func leaseKeyOf(c *Client, s recycled.Slot) leaseKey {
	return leaseKey{c, s.WorkerID, s.From.UnixMicro(), s.Holder.Since.UnixMicro()}
}

// poolKey is a Pool that can be compared.
type poolKey struct {
	revision, first, slots, floor int64
	format                        string
	term                          term
	h, f, m                       time.Duration
}

func poolKeyOf(p recycled.Pool) poolKey {
	return poolKey{p.Revision, p.First, p.Slots, p.Floor.UnixMicro(), p.Format, termOf(p), p.Horizon, p.Fencing, p.Skew}
}

// A version is one revision of a record. Its key is a slotKey or a poolKey.
type version struct {
	worker, revision int64 // worker is -1 for the pool
	key              any
}

// versions returns the records of a read or a write.
func versions(p *recycled.Pool, slots []recycled.Slot) (list []version) {
	if p != nil && p.Revision > 0 {
		list = append(list, version{-1, p.Revision, poolKeyOf(*p)})
	}
	for _, s := range slots {
		list = append(list, version{s.WorkerID, s.Revision, keyOf(s)})
	}
	return list
}

// Check checks a run that has ended.
func (l *Log) Check() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &checker{reads: map[*Client][]*read{}, wrote: map[any]time.Duration{}, tokens: map[string]*write{}, under: map[string]recycled.Pool{}, floors: map[term][]*write{}, acked: map[leaseKey]time.Time{}}
	c.Violations = l.foreign
	c.Reads, c.Leases = len(l.reads), len(l.leases)
	slices.SortStableFunc(l.reads, func(a, b *read) int { return cmp.Compare(a.End, b.End) })
	for _, r := range l.reads {
		c.reads[r.client] = append(c.reads[r.client], r)
	}
	before := l.beforehand()
	for _, w := range slices.Concat(l.late, before) {
		c.enter(w)
	}
	c.kept(l)
	slices.SortStableFunc(l.writes, func(a, b *write) int { return cmp.Compare(a.Call, b.Call) })
	for _, w := range l.writes {
		switch {
		case w.Made:
			c.Writes++
		case w.Unknown:
			c.Unknown++
		default:
			c.Refused++
		}
		c.enter(w)
	}
	for _, w := range l.writes {
		if w.Made || w.Unknown {
			c.write(w)
		}
	}
	for _, r := range l.reads {
		c.read(r)
	}
	c.order(slices.Concat(before, l.writes), l.reads)
	c.grants(l)
	return c.Report
}

// fail adds a violation.
func (c *checker) fail(rule, format string, args ...any) {
	c.Violations = append(c.Violations, Violation{rule, fmt.Sprintf(format, args...)})
}

// enter notes what a write may have written, and checks that no other try has its tokens (R4).
func (c *checker) enter(w *write) {
	for _, s := range w.Write.Slots {
		if other := c.tokens[s.Token]; s.Token != "" && other != nil && w.client.number > 0 {
			c.fail("R4", "processes %d and %d have tried to write the token %s: each try must have a fresh one", other.client.number, w.client.number, s.Token)
		}
		c.tokens[s.Token] = w
	}
	if !w.Made && !w.Unknown {
		return
	}
	for _, v := range versions(w.Write.Pool, w.Write.Slots) {
		if _, known := c.wrote[v.key]; !known {
			c.wrote[v.key] = w.Call
		}
	}
	if w.Write.Pool != nil {
		c.floors[termOf(*w.Write.Pool)] = append(c.floors[termOf(*w.Write.Pool)], w)
	}
}

// kept checks that the store had what a log before has acknowledged, if it still had the history of these writes.
func (c *checker) kept(l *Log) {
	had, shown := termOf(l.before.Pool), map[int64]version{}
	for _, v := range versions(&l.before.Pool, l.before.Slots) {
		shown[v.worker] = v
	}
	isLost := func(w *write) bool {
		return w.term.since > had.since || w.term == had && slices.ContainsFunc(versions(w.Write.Pool, w.Write.Slots), func(v version) bool {
			now := shown[v.worker]
			return now.revision < v.revision || now.revision == v.revision && now != v
		})
	}
	for _, w := range l.late {
		if w.Made && w.Write.History == l.before.History && isLost(w) {
			c.fail("store", "a write that was acknowledged before is lost: %s", describe(w))
		}
	}
}

// read checks that a store returned only what was written before.
func (c *checker) read(r *read) {
	for _, v := range versions(&r.State.Pool, r.State.Slots) {
		if call, known := c.wrote[v.key]; !known || call > r.End {
			c.fail("store", "a read of process %d returned what nobody has written: %+v", r.client.number, v)
		}
	}
}

// mostBases is how many reads are tried as the one that a write is based on.
const mostBases = 64

// write checks that a write was allowed, given one of the reads of its process that returned the records that it replaces.
func (c *checker) write(w *write) {
	reads := c.reads[w.client]
	var first []Violation
	tried := 0
	for i := len(reads) - 1; i >= 0 && tried < mostBases; i-- {
		if r := reads[i]; r.End <= w.Call && isBase(r, w) {
			if tried == 0 {
				w.term = termOf(left(w, r))
			}
			v := c.allowed(w, r)
			if len(v) == 0 {
				c.begin(w, r)
				return
			}
			if tried++; first == nil {
				first = v
			}
		}
	}
	if tried == 0 {
		c.fail("R2", "process %d replaces what it has not read, or is not in the store's history %s: %s", w.client.number, w.Write.History, describe(w))
	}
	c.Violations = append(c.Violations, first...)
}

// left returns the pool that a write leaves.
func left(w *write, r *read) recycled.Pool {
	if w.Write.Pool != nil {
		return *w.Write.Pool
	}
	return r.State.Pool
}

// begin notes the pool of a write that is allowed, and of the leases that begin with it.
func (c *checker) begin(w *write, r *read) {
	p := left(w, r)
	w.term = termOf(p)
	for _, s := range w.Write.Slots {
		if _, known := c.under[s.History]; !known && s.Token != "" {
			c.under[s.History] = p
		}
		if key := leaseKeyOf(w.client, s); w.Made {
			c.acked[key] = later(c.acked[key], s.Until)
		}
	}
}

// isBase reports whether a write may be based on a read: it returned what the write replaces.
func isBase(r *read, w *write) bool {
	if r.State.History != w.Write.History || w.Write.ReplacedPool != nil && poolKeyOf(*w.Write.ReplacedPool) != poolKeyOf(r.State.Pool) || w.Write.Pool != nil && w.Write.ReplacedPool == nil && r.State.Pool.Revision != 0 {
		return false
	}
	for i, old := range w.Write.Replaced {
		if w.Write.Slots[i].Revision != 1 && !slices.ContainsFunc(r.State.Slots, func(s recycled.Slot) bool { return keyOf(s) == keyOf(old) }) {
			return false
		}
	}
	return true
}

// describe describes what a write writes.
func describe(w *write) string {
	text := fmt.Sprintf("[%v, %v]", w.Call, w.End)
	if w.Write.Pool != nil {
		text += fmt.Sprintf(" pool %+v for %+v", *w.Write.Pool, w.Write.ReplacedPool)
	}
	for i, s := range w.Write.Slots {
		text += fmt.Sprintf(" slot %+v for %+v", s, w.Write.Replaced[i])
	}
	return text
}

// allowed returns what a write violates if it is based on a read.
func (c *checker) allowed(w *write, r *read) (violations []Violation) {
	sub := *c
	sub.Violations = nil
	if w.Write.Pool != nil {
		sub.pool(w, r)
	}
	for i, s := range w.Write.Slots {
		sub.slot(w, r, left(w, r), w.Write.Replaced[i], s)
	}
	for i, v := range sub.Violations {
		sub.Violations[i].Text = fmt.Sprintf("process %d, %s: %s; the read: now %v, pool %+v", w.client.number, v.Text, describe(w), r.State.Now, r.State.Pool)
	}
	return sub.Violations
}

// clock returns the latest time that the store's clock can show when a write is made which is based on a read. Its servers' clocks
// differ by M.
func clock(w *write, r *read) time.Time {
	end := w.End
	if w.Unknown { // it may be made at any time, but was decided on before its call
		end = w.Call
	}
	return r.State.Now.Add(end - r.Call + r.State.Pool.Skew + time.Millisecond)
}

// horizon returns how far a grant may reach that is based on a read (R6). Times are rounded to milliseconds.
func horizon(r *read, p recycled.Pool) time.Time {
	return r.State.Now.Add(p.Horizon + time.Millisecond)
}

// pool checks a write of the pool (R2, R7).
func (c *checker) pool(w *write, r *read) {
	old, p, now := r.State.Pool, *w.Write.Pool, r.State.Now
	isNew := old.Revision == 0
	reach := now.Add(p.Fencing + p.Horizon + p.Skew)
	had, wasUsed := old, len(r.State.Slots) > 0 // as the process has read it before, if it is lost
	for _, before := range c.reads[w.client] {
		if isNew && before.State.Pool.Revision > 0 && before.End <= r.Call {
			had, wasUsed = before.State.Pool, true
		}
	}
	switch {
	case p.Revision != old.Revision+1:
		c.fail("R2", "the pool's revision becomes %d after %d", p.Revision, old.Revision)
	case !isNew && (p.Floor.Before(old.Floor) || p.First != old.First || old.Format != "" && p.Format != old.Format),
		p.Horizon < had.Horizon || p.Fencing < had.Fencing || p.Skew < had.Skew:
		c.fail("R7", "the pool's floor, H, F or M fall, or its format changes")
	case p.Slots != old.Slots+newSlots(w.Write):
		c.fail("R7", "the pool has %d slots after %d, and %d are added", p.Slots, old.Slots, newSlots(w.Write))
	case !isNew && termOf(p) == termOf(old):
	case p.History != r.State.History:
		c.fail("R7", "the pool takes the history %s, and the store's is %s", p.History, r.State.History)
	case p.Since.Before(now), p.Since.After(clock(w, r)):
		c.fail("R7", "the pool has a history since %v, which was read at %v", p.Since, now)
	case (!isNew || wasUsed || !r.State.NoLoss && !w.client.isOperator) && p.Floor.Before(reach):
		c.fail("R7", "the floor is %v; must not be before the store's clock + F + H + M, %v", p.Floor, reach)
	case r.State.ReadOnly:
		c.fail("R7", "a floor is calculated from a server that is read-only")
	}
}

// newSlots returns how many slots a write adds.
func newSlots(w recycled.Write) (n int64) {
	for _, s := range w.Slots {
		if s.Revision == 1 {
			n++
		}
	}
	return n
}

// slot checks a write of one slot, which replaces old. p is the pool that the write leaves.
func (c *checker) slot(w *write, r *read, p recycled.Pool, old, s recycled.Slot) {
	try := c.tokens[old.Token]
	isOwn := old.Token != "" && try != nil && try.client == w.client && (try.Made || try.Unknown)
	switch {
	case s.Revision != old.Revision+1:
		c.fail("R2", "the slot's revision becomes %d after %d", s.Revision, old.Revision)
	case s.Until.Before(s.From):
		c.fail("R3", "until is before from")
	case old.Revision == 0:
		c.added(w, r, p, s)
	case s.From.Equal(old.From) && s.Token != "" && old.Token != "" && !isOwn && old.Until.After(old.From):
		c.fail("R4", "the lease of another process is extended, or one whose token was refused")
	case isOwn && s.From.Equal(old.From) && s.Token != "" && s.Holder.Since.Equal(old.Holder.Since): // otherwise it is another lease
		c.extended(w, r, old, s)
	case s.Token != "":
		c.taken(w, r, p, old, s)
	case !s.From.Equal(old.From):
		c.fail("R1", "a release, or a raised floor, changes from")
	case isOwn && !s.Until.After(later(old.Until, c.acked[leaseKeyOf(w.client, s)])): // a release; the store may have lost the last extension
	case s.Until.Before(old.Until):
		c.fail("R1", "until falls, and not by the holder")
	case !isOwn && old.Token != "" && !w.client.isOperator && s.Until.After(p.Floor):
		c.fail("R5", "a process that is no operator ends the lease of another")
	case s.Until.After(old.Until) && s.Until.After(p.Floor):
		c.fail("R1", "until rises without a lease, and beyond the floor")
	}
}

// added checks a new slot (R3, R7).
func (c *checker) added(w *write, r *read, p recycled.Pool, s recycled.Slot) {
	switch first := p.First + r.State.Pool.Slots; {
	case w.Write.Pool == nil:
		c.fail("R7", "a slot is added without a comparison of the pool")
	case s.WorkerID < first, s.WorkerID >= p.First+p.Slots:
		c.fail("R2", "the slot of worker ID %d is added to the pool of %d to %d", s.WorkerID, first, p.First+p.Slots-1)
	case s.From.Before(r.State.Now), s.Token != "" && s.From.Before(p.Floor): // its first lease begins at the floor
		c.fail("R3", "a new slot begins before the floor or the store's clock")
	case s.From.After(later(clock(w, r), p.Floor)):
		c.fail("R3", "a new slot begins after the floor and the store's clock")
	case !s.Until.Equal(s.From) && s.Until.After(horizon(r, p)):
		c.fail("R6", "a new slot is granted beyond the horizon")
	}
	if s.Token != "" {
		c.begun(w, r, p, s)
	}
}

// callTime is how long one call of a store may take (R5).
const callTime = 10 * time.Second

// taken checks a lease that begins (R3, R5).
func (c *checker) taken(w *write, r *read, p recycled.Pool, old, s recycled.Slot) {
	grace := w.client.bound + p.Skew
	ahead := min(w.ReserveAhead, old.Until.Sub(old.Written)*2/3) // the latter is what the last grant shows
	hasName := s.Holder.Name != "" && s.Holder.Name == old.Holder.Name && old.Until.After(old.From) && ahead*9/8 > grace+callTime
	now, free := r.State.Now, old.Until
	if old.Token != "" && !hasName {
		free = later(later(old.Until, old.Written), p.Since).Add(grace) // Since: after a change of history
	}
	switch begin := later(old.Until, p.Floor); {
	case !s.From.Equal(begin):
		c.fail("R3", "a lease begins at %v; must begin at %v, the later of until and the floor", s.From, begin)
	case !s.Until.Equal(s.From) && s.Until.After(horizon(r, p)):
		c.fail("R6", "a lease is granted beyond the horizon")
	case now.Before(free) && !(old.Token == "" && !p.Floor.Before(old.Until)):
		c.fail("R5", "the slot is not free before %v", free)
	case old.Token == "" && old.Revision > 1 && w.Received.Before(old.Until) && p.Floor.Before(old.Until): // revision 1 was never taken
		c.fail("R5", "the claimant's clock shows %v, before until", w.Received)
	}
	if floor := c.floor(r, p); s.From.Before(floor) {
		c.fail("R7", "a lease begins before the floor %v, which was written before its pool was read", floor)
	}
	c.begun(w, r, p, s)
}

// floor returns the latest floor of a pool's term of those that it has and that were acknowledged before a read.
func (c *checker) floor(r *read, p recycled.Pool) time.Time {
	floor := p.Floor
	for _, f := range c.floors[termOf(p)] {
		if f.Made && f.End <= r.Call {
			floor = later(floor, f.Write.Pool.Floor)
		}
	}
	return floor
}

// begun checks what all leases that begin have in common (R7, R8).
func (c *checker) begun(w *write, r *read, p recycled.Pool, s recycled.Slot) {
	if known, found := c.under[s.History]; found && termOf(known) != termOf(p) {
		c.fail("R7", "the slot's history %q stands for %v and %v", s.History, termOf(known), termOf(p))
	}
	if p.History != w.Write.History {
		c.fail("R7", "a lease begins in the history %q, and the pool has %q", w.Write.History, p.History)
	}
	now, bound := r.State.Now, w.client.bound
	if !r.State.HostClock && (now.Before(r.Sent.Add(-bound-time.Millisecond)) || now.After(r.Received.Add(bound+time.Millisecond))) {
		c.fail("R8", "the store's clock shows %v, and the host's %v to %v", now, r.Sent, r.Received)
	}
}

// extended checks an extension (R1, R6, R7).
func (c *checker) extended(w *write, r *read, old, s recycled.Slot) {
	p := r.State.Pool
	floor := c.floor(r, p)
	switch known, found := c.under[s.History]; {
	case s.Until.Before(later(old.Until, c.acked[leaseKeyOf(w.client, s)])): // the store may have lost the last one
		c.fail("R1", "an extension lowers until")
	case s.Until.After(old.Until) && s.Until.After(horizon(r, p)):
		c.fail("R6", "an extension reaches beyond the horizon")
	case s.Until.After(old.Until) && s.From.Before(floor) && s.Until.After(floor):
		c.fail("R7", "a lease that begins before the floor is extended beyond it")
	case s.History != old.History, found && termOf(known) != termOf(p), p.History != w.Write.History:
		c.fail("R7", "a lease of another history is extended")
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

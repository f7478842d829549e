package ledger

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A run is a history that the rules allow: two processes use one slot after the other, the store fails over, and an operator
// raises the floor. Each step is a read and a write that is based on it.
type run struct {
	*Log
	operator, a, b *Client
	state          recycled.State // of the store
	clock          time.Duration
}

var (
	begin = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	base  = recycled.Pool{Horizon: 10 * time.Second, Fencing: time.Second, Skew: 100 * time.Millisecond}
)

const bound = time.Second

// The steps of a run, in the order of its writes.
const (
	created = iota // the pool
	formatted
	added // slots 0 and 1
	aTakes
	aExtends
	aReleases
	bTakes
	bExtends
	bExtendsAgain
	noted // the new history
	aTakesOther
	raised // the floor of the pool
	ended  // the lease of a
)

// newRun returns the history.
func newRun() *run {
	r := &run{Log: New(func() time.Duration { return 0 }), state: recycled.State{Now: begin, History: "h"}}
	r.operator, r.a, r.b = r.Operator(nil), r.Client(nil, bound), r.Client(nil, bound)
	r.step(r.operator, func(p *recycled.Pool) {
		*p = base
		p.History, p.Since = "h", r.state.Now
	})
	r.step(r.a, func(p *recycled.Pool) { p.Format = "f" })
	now := r.state.Now
	r.step(r.a, func(p *recycled.Pool) { p.Slots = 2 }, recycled.Slot{From: now, Until: now}, recycled.Slot{WorkerID: 1, From: now.Add(base.Skew), Until: now.Add(base.Skew)}) // by a server whose clock is ahead
	l := r.lease(r.a, 0, "a1", now)
	r.extend(r.a, l, "a2", 3*time.Second)
	l.stamps[l.NotBefore.UnixMicro()] = r.clock
	l.released, l.used = true, l.NotBefore.Add(time.Second)
	r.change(r.a, 0, func(s *recycled.Slot) { s.Token, s.Until = "", l.used })
	r.pass(2 * time.Second)
	l = r.lease(r.b, 0, "b1", l.used)
	r.extend(r.b, l, "b2", 3*time.Second)
	r.extend(r.b, l, "b3", 5*time.Second)
	l.stamps[l.NotBefore.UnixMicro()] = r.clock
	r.pass(2 * time.Second)
	r.state.History = "i" // a failover that loses nothing
	floor := r.state.Now.Add(base.Horizon + base.Fencing + base.Skew)
	r.step(r.a, func(p *recycled.Pool) { p.History, p.Since, p.Floor = "i", r.state.Now, floor })
	r.lease(r.a, 1, "a3", floor)
	r.step(r.operator, func(p *recycled.Pool) { p.Floor = floor.Add(time.Hour) })
	r.change(r.operator, 1, func(s *recycled.Slot) { s.Token, s.Until = "", r.state.Pool.Floor })
	return r
}

// pass lets time pass.
func (r *run) pass(d time.Duration) {
	r.clock += d
	r.state.Now = r.state.Now.Add(d)
}

// step reads, and writes the pool as change leaves it, unless that is nil, and slots.
func (r *run) step(c *Client, change func(*recycled.Pool), slots ...recycled.Slot) {
	now := r.state.Now
	read := &read{client: c, span: span{r.clock, r.clock + 1}, State: r.state, Sent: now, Received: now}
	read.State.Slots = slices.Clone(r.state.Slots)
	r.reads = append(r.reads, read)
	w := &write{client: c, span: span{r.clock + 2, r.clock + 3}, Made: true, Received: now, Write: recycled.Write{History: r.state.History}}
	if change != nil {
		old, p := r.state.Pool, r.state.Pool
		change(&p)
		p.Revision++
		w.Write.Pool, w.Write.ReplacedPool = &p, &old
		r.state.Pool = p
	}
	for _, s := range slots {
		s.Revision++
		s.Written = now
		w.Write.Slots = append(w.Write.Slots, s)
		if i := slices.IndexFunc(r.state.Slots, func(old recycled.Slot) bool { return old.WorkerID == s.WorkerID }); i >= 0 {
			w.Write.Replaced = append(w.Write.Replaced, r.state.Slots[i])
			r.state.Slots[i] = s
		} else {
			w.Write.Replaced = append(w.Write.Replaced, recycled.Slot{})
			r.state.Slots = append(r.state.Slots, s)
		}
	}
	r.writes = append(r.writes, w)
	r.pass(10 * time.Millisecond)
}

// change writes a slot.
func (r *run) change(c *Client, worker int, change func(*recycled.Slot)) {
	s := r.state.Slots[worker]
	change(&s)
	r.step(c, nil, s)
}

// lease takes a slot.
func (r *run) lease(c *Client, worker int, token string, from time.Time) *lease {
	call := r.clock
	r.change(c, worker, func(s *recycled.Slot) {
		s.Token, s.From, s.Until, s.History, s.Holder.Since = token, from, from, r.state.Pool.History, r.state.Now
	})
	l := &lease{client: c, WorkerID: int64(worker), NotBefore: from, span: span{call, r.clock}, stamps: map[int64]time.Duration{}}
	r.leases = append(r.leases, l)
	c.byWorker[l.WorkerID] = append(c.byWorker[l.WorkerID], l)
	return l
}

// extend extends a lease.
func (r *run) extend(c *Client, l *lease, token string, by time.Duration) {
	until := l.NotBefore.Add(by)
	r.change(c, int(l.WorkerID), func(s *recycled.Slot) { s.Token, s.Until = token, until })
	l.granted = append(l.granted, grant{span{r.clock - 10, r.clock}, until})
}

// slot returns the first slot that a step writes.
func (r *run) slot(step int) *recycled.Slot { return &r.writes[step].Write.Slots[0] }

// unknown makes the outcome of a step's write unknown.
func (r *run) unknown(step int) { r.writes[step].Made, r.writes[step].Unknown = false, true }

// show adds a read that shows slots.
func (r *run) show(c *Client, slots ...recycled.Slot) *read {
	read := &read{client: c, span: span{r.clock, r.clock + 1}, State: r.state, Sent: r.state.Now, Received: r.state.Now}
	read.State.Slots = slots
	r.reads = append(r.reads, read)
	return read
}

// lose loses the pool and the slots, and lets a process create a pool like p.
func (r *run) lose(c *Client, p recycled.Pool) *write {
	r.state.Pool, r.state.Slots, r.state.NoLoss = recycled.Pool{}, nil, true
	p.Format, p.History, p.Since, p.Horizon, p.Fencing, p.Skew = "f", "i", r.state.Now, base.Horizon, base.Fencing, base.Skew
	r.step(c, func(lost *recycled.Pool) { *lost = p })
	return r.writes[len(r.writes)-1]
}

// sameName lets b take slot 0 from a holder of its name that is alive, whose grant reached shown beyond its last write, and began before
// it by since.
func (r *run) sameName(ahead, shown, since time.Duration) {
	old, s := &r.reads[bTakes].State.Slots[0], r.slot(bTakes)
	old.Token, old.Holder.Name, s.Holder.Name = "a5", "n", "n"
	old.Until = r.reads[bTakes].State.Now
	old.Written, old.From, s.From, s.Until = old.Until.Add(-shown), old.Until.Add(-since), old.Until, old.Until
	r.writes[bTakes].Write.Replaced[0], r.writes[bTakes].ReserveAhead = *old, ahead
}

// follow lets the run come after another one.
func (r *run) follow(before *run) {
	before.Check()
	r.Begin(before.state)
	r.Follow(before.Log)
}

// formerPrimary lets b extend its lease on the former primary, some time after the pool has taken the new history.
func (r *run) formerPrimary() {
	noted := r.writes[noted]
	r.state = r.reads[bExtendsAgain].State
	r.state.Slots = []recycled.Slot{*r.slot(bExtendsAgain)}
	r.clock = noted.End + time.Second
	r.state.Now = begin.Add(r.clock)
	r.extend(r.b, r.leases[1], "b4", 6*time.Second)
}

// again adds another write like that of a step, by another process, which has read the same.
func (r *run) again(step int, c *Client) *write {
	again, other := *r.writes[step], *r.reads[step]
	w, read := &again, &other
	w.client, read.client = c, c
	w.Write.Slots, w.Write.Replaced = slices.Clone(w.Write.Slots), slices.Clone(w.Write.Replaced)
	if w.Write.Pool != nil {
		p := *w.Write.Pool
		w.Write.Pool = &p
	}
	r.reads, r.writes = append(r.reads, read), append(r.writes, w)
	return w
}

// A run may follow others: reads may show writes of unknown outcome of all of them, and older records of the last one.
func TestFollow(t *testing.T) {
	first, second, third := newRun(), New(nil), New(nil)
	first.Check()
	first.unknown(ended)
	first.state.Slots[1] = *first.slot(aTakesOther)
	show := func(l *Log, slots ...recycled.Slot) {
		l.reads = append(l.reads, &read{client: l.Client(nil, bound), State: recycled.State{History: "i", Pool: first.state.Pool, Slots: slots}})
	}
	for _, l := range []*Log{second, third} {
		l.Begin(first.state)
		show(l, first.state.Slots...)
		show(l, *first.slot(ended))
	}
	show(second, first.reads[aTakesOther].State.Slots...)
	second.Follow(first.Log)
	third.Follow(second)
	lossy := New(nil) // the store loses writes of first, and has another history
	state := first.state
	state.History, state.Slots = "j", first.reads[bTakes].State.Slots
	lossy.Begin(state)
	lossy.Follow(first.Log)
	for i, l := range []*Log{second, third, lossy} {
		if report := l.Check(); len(report.Violations) > 0 {
			t.Errorf("run %d: %v", i+2, report)
		}
	}
}

// What the rules allow has no violations.
func TestCheckAllows(t *testing.T) {
	for name, change := range map[string]func(*run){
		"a former primary still acknowledges": (*run).formerPrimary,
		"a process takes again what it has released unused": func(r *run) {
			r.pass(2 * time.Hour)
			from := r.state.Slots[1].Until
			l := r.lease(r.b, 1, "b4", from)
			r.extend(r.b, l, "b5", 2*time.Second)
			l.released, l.used = true, from
			r.change(r.b, 1, func(s *recycled.Slot) { s.Token, s.Until = "", from })
			r.extend(r.b, r.lease(r.b, 1, "b6", from), "b7", time.Second)
		},
		"many other reads show what a write replaces": func(r *run) {
			first := r.reads[added]
			for n := range 60 {
				again := *first
				again.span, again.State.Now = span{first.Call + 1, first.End + 1}, first.State.Now.Add(time.Duration(n+1)*time.Millisecond)
				again.Sent, again.Received = again.State.Now, again.State.Now
				r.reads = append(r.reads, &again)
			}
		},
		"a process creates the pool without a floor, in a store that loses nothing": func(r *run) {
			r.operator.isOperator, r.reads[created].State.NoLoss = false, true
			r.writes[raised].client, r.reads[raised].client = r.Operator(nil), r.operator
			r.reads[raised].client, r.reads[ended].client, r.writes[ended].client = r.writes[raised].client, r.writes[raised].client, r.writes[raised].client
		},
		"a host whose clock is behind takes a new slot": func(r *run) { r.writes[aTakes].Received = begin },
		"the store has no clock": func(r *run) {
			r.reads[bTakes].State.HostClock, r.reads[bTakes].Sent = true, r.reads[bTakes].Sent.Add(2*bound)
		},
		"a slot that is free before a floor is taken at it": func(r *run) { r.lease(r.b, 1, "b4", r.state.Pool.Floor) },
		"a read shows a write of unknown outcome, which took a slot": func(r *run) {
			r.unknown(bTakes)
			read := r.show(r.b, *r.slot(bTakes))
			read.span = span{r.writes[bTakes].End, r.writes[bTakes].End + 1}
			read.State.History, read.State.Pool = "h", r.reads[bTakes].State.Pool
		},
		"a process that is no operator ends the lease of another, to raise the floor": func(r *run) { r.reads[ended].client, r.writes[ended].client = r.b, r.b },
		"a process writes a slot again that it had, and that has no lease":            func(r *run) { r.change(r.a, 1, func(*recycled.Slot) {}) },
		"an operator ends a lease that reaches beyond the floor": func(r *run) {
			r.pass(time.Hour + 12*time.Second)
			l := r.lease(r.b, 1, "b4", r.state.Pool.Floor)
			r.extend(r.b, l, "b5", 5*time.Second)
			r.change(r.operator, 1, func(s *recycled.Slot) { s.Token = "" })
			l.released, l.used = true, l.until() // it is over
		},
		"a slot is taken whose last lease was granted nothing": func(r *run) {
			r.pass(2 * time.Hour)
			from := r.state.Slots[1].Until
			r.lease(r.b, 1, "b4", from)
			r.pass(1200 * time.Millisecond)
			r.lease(r.a, 1, "a4", from)
		},
		"a floor of unknown outcome is not in the store": func(r *run) {
			r.reads, r.writes = r.reads[:ended], r.writes[:ended]
			r.unknown(raised)
			r.state.Slots[1], r.state.Pool = *r.slot(aTakesOther), *r.writes[noted].Write.Pool
			r.pass(time.Hour + 12*time.Second)
			r.extend(r.a, r.leases[2], "a4", time.Hour+time.Second)
		},
		"a lease that reaches beyond floor and horizon is written again, and gives back nothing": func(r *run) {
			r.pass(time.Hour + 12*time.Second)
			floor := r.state.Pool.Floor
			l := r.lease(r.b, 1, "b4", floor)
			r.extend(r.b, l, "b5", r.state.Now.Add(base.Horizon).Sub(floor))
			r.step(r.operator, func(p *recycled.Pool) { p.Floor = floor.Add(time.Second) })
			r.state.Now = r.state.Now.Add(-base.Skew) // by another server
			r.extend(r.b, l, "b6", l.until().Sub(floor))
			l.released, l.used = true, floor.Add(time.Hour)
			r.change(r.b, 1, func(s *recycled.Slot) { s.Token = "" })
		},
		"a new slot is leased at once": func(r *run) {
			r.pass(2 * time.Hour)
			now := r.state.Now
			l := &lease{client: r.b, WorkerID: 2, NotBefore: now, span: span{Call: r.clock}, stamps: map[int64]time.Duration{}}
			r.step(r.b, func(p *recycled.Pool) { p.Slots++ }, recycled.Slot{WorkerID: 2, Token: "b4", From: now, Until: now.Add(time.Second), History: "i"})
			l.End = r.clock
			l.granted = []grant{{span{l.Call, l.End}, now.Add(time.Second)}}
			r.leases = append(r.leases, l)
		},
		"a store loses an extension, and the lease reached beyond the floor": func(r *run) {
			r.pass(2 * time.Hour)
			l := r.lease(r.b, 1, "b4", r.state.Slots[1].Until)
			r.extend(r.b, l, "b5", time.Second)
			kept := r.state.Slots[1]
			r.extend(r.b, l, "b6", 2*time.Second)
			r.state.History, r.state.Slots[1] = "j", kept
			l.released, l.used = true, l.until()
			r.change(r.b, 1, func(s *recycled.Slot) { s.Token, s.Until = "", l.used })
		},
		"a store loses writes": func(r *run) { // and the pool notices it at the end
			r.state.History = "j"
			r.state.Slots[0], r.state.Slots[1] = *r.slot(bExtends), *r.slot(aTakesOther)
			l, s := r.leases[1], r.slot(bExtendsAgain)
			l.released, l.used = true, s.Until
			r.change(r.b, 0, func(s *recycled.Slot) { s.Token, s.Until = "", l.used })
			r.change(r.operator, 1, func(s *recycled.Slot) { s.Token, s.Until = "", r.state.Pool.Floor })
			r.state.Pool = *r.writes[noted].Write.Pool
			r.step(r.a, func(p *recycled.Pool) {
				p.History, p.Since, p.Floor = "j", r.state.Now, r.writes[raised].Write.Pool.Floor
			})
		},
		"a store loses writes, and that the pool had another history": func(r *run) {
			r.pass(2 * time.Second)
			r.state.History, r.state.Pool, r.state.Slots[0] = "j", r.reads[bExtendsAgain].State.Pool, *r.slot(bExtendsAgain)
			l := r.leases[1]
			l.released, l.used = true, l.until()
			r.change(r.b, 0, func(s *recycled.Slot) { s.Token = "" })
		},
		"two servers take over within M": func(r *run) { // the clock of the later one is behind
			r.state.History = "j"
			r.step(r.a, func(p *recycled.Pool) { p.History, p.Since = "j", r.state.Now })
			r.state.Now = r.state.Now.Add(-base.Skew)
			r.state.History = "k"
			r.step(r.a, func(p *recycled.Pool) { p.History, p.Since = "k", r.state.Now })
			r.pass(2 * time.Second)
			r.change(r.operator, 0, func(s *recycled.Slot) { s.Token, s.Until = "", r.state.Pool.Floor })
		},
		"a former primary is the primary again": func(r *run) { // it has lost writes
			r.state.History = "h"
			r.step(r.a, func(p *recycled.Pool) { p.History, p.Since = "h", r.state.Now })
			r.state.Slots[0] = *r.slot(bExtends)
			l, s := r.leases[1], r.slot(bExtendsAgain)
			l.released, l.used = true, s.Until
			r.change(r.b, 0, func(s *recycled.Slot) { s.Token, s.Until = "", l.used })
		},
	} {
		r := newRun()
		change(r)
		if report := r.Check(); len(report.Violations) > 0 {
			t.Errorf("%s: %v", name, report)
		}
	}
	r := newRun()
	r.sameName(9867*time.Millisecond, 14801*time.Millisecond, time.Hour)
	if report := r.Check().String(); strings.Contains(report, "R5") {
		t.Errorf("a claimant of the same name does without grace: %v", report)
	}
}

// A history that the rules allow has no violations, and each way to break a rule is one.
func TestCheck(t *testing.T) {
	if report := newRun().Check(); len(report.Violations) > 0 || report.Writes != ended+1 || report.Reads != ended+1 || report.Grants != 3 || report.Stamps != 2 {
		t.Fatalf("a history that the rules allow: %v", report)
	}
	for _, tt := range []struct {
		rule, text string
		change     func(*run)
	}{
		{"R1", "an extension lowers until", func(r *run) { r.slot(bExtendsAgain).Until = begin.Add(2 * time.Second) }},
		{"R1", "until falls, and not by the holder", func(r *run) { r.writes[aReleases].client, r.reads[aReleases].client = r.b, r.b }},
		{"R1", "beyond the floor", func(r *run) { r.slot(aReleases).Until = begin.Add(time.Hour) }},
		{"R1", "changes from", func(r *run) { r.slot(aReleases).From = begin }},
		{"R1", "before the end of what it has used", func(r *run) { r.leases[0].used = r.leases[0].used.Add(time.Millisecond) }},
		{"R1", "or that its generator holds", func(r *run) { r.leases[0].released = false }},
		{"R1", "or that its generator holds", func(r *run) {
			r.leases[0].released, r.slot(aReleases).Until = false, r.writes[aReleases].Write.Replaced[0].Until
		}},
		{"R1", "or that its generator holds", func(r *run) { // but released one that began at the same time, and was granted nothing
			r.pass(2 * time.Hour)
			from := r.state.Slots[1].Until
			l := r.lease(r.b, 1, "b4", from)
			l.released, l.used = true, from
			r.pass(1200 * time.Millisecond)
			r.extend(r.b, r.lease(r.b, 1, "b5", from), "b6", time.Hour)
			r.change(r.b, 1, func(s *recycled.Slot) { s.Token, s.Until = "", from })
		}},
		{"R2", "replaces what was not there", func(r *run) { r.again(bTakes, r.a).Write.Slots[0].Token = "a4" }},
		{"R2", "replaces what was not there", func(r *run) { r.again(noted, r.b) }},
		{"R2", "and another call as", func(r *run) { // both of unknown outcome
			r.again(bTakes, r.a).Write.Slots[0].Token = "a4"
			r.unknown(bTakes)
			r.unknown(ended + 1)
			read := r.show(r.a, *r.slot(ended + 1))
			read.State.History, read.State.Pool = "h", r.reads[bExtends].State.Pool
		}},
		{"R2", "and another call as", func(r *run) { // and the pool
			r.again(raised, r.operator).Write.Pool.Floor = r.state.Pool.Floor.Add(time.Hour)
			r.unknown(raised)
			r.unknown(ended + 1)
			read := r.show(r.a, r.state.Slots...)
			read.State.Pool = *r.writes[ended+1].Write.Pool
		}},
		{"R2", "and another call as", func(r *run) { // one that was acknowledged
			r.again(ended, r.operator).Write.Slots[0].Holder.Name = "n"
			r.unknown(ended + 1)
			r.show(r.a, *r.slot(ended + 1))
		}},
		{"R2", "before the one that it replaces", func(r *run) { r.writes[bExtends].span = span{time.Hour, time.Hour} }},
		{"R2", "replaces what was not there", func(r *run) {
			r.slot(bExtends).Until = r.slot(bExtends).Until.Add(time.Millisecond)
		}},
		{"R1", "an extension lowers until", func(r *run) { // the store has lost the last one
			old, s := r.writes[bExtends].Write.Replaced[0], r.slot(bExtendsAgain)
			r.writes[bExtendsAgain].Write.Replaced[0], r.reads[bExtendsAgain].State.Slots[0] = old, old
			s.Revision, s.Until = old.Revision+1, old.From.Add(2*time.Second)
		}},
		{"R2", "no write has acknowledged", func(r *run) { r.writes[bExtendsAgain].Made, r.writes[bExtendsAgain].Unknown = false, true }},
		{"R2", "which no write has acknowledged", func(r *run) { // and no read shows it before the lease is returned
			r.unknown(bTakes)
			r.show(r.b, *r.slot(bTakes))
		}},
		{"R2", "which no write has acknowledged", func(r *run) { // and a read shows it, but it grants time
			r.unknown(bTakes)
			l, s := r.leases[1], r.slot(bTakes)
			s.Until = s.From.Add(time.Second)
			r.show(r.b, *s).span = span{r.writes[bTakes].End, l.End}
			l.granted = []grant{{span{l.Call, l.End}, s.Until}}
		}},
		{"R2", "no write has acknowledged", func(r *run) { r.leases[1].granted[1].Until = begin.Add(time.Hour) }},
		{"R2", "replaces what it has not read", func(r *run) { r.writes[bTakes].Write.Replaced[0].Token = "x" }},
		{"R2", "is not in the store's history", func(r *run) { r.writes[bExtends].Write.History = "i" }},
		{"R2", "revision becomes", func(r *run) { r.slot(bExtends).Revision++ }},
		{"R2", "the pool's revision becomes", func(r *run) { r.writes[noted].Write.Pool.Revision++ }},
		{"R2", "is added to the pool", func(r *run) { r.writes[added].Write.Pool.Slots = 1 }},
		{"R2", "is added to the pool", func(r *run) { r.slot(added).WorkerID = -1 }},
		{"R2", "replaces what it has not read", func(r *run) { r.writes[raised].Write.ReplacedPool.Floor = begin }},
		{"R2", "replaces what it has not read", func(r *run) { r.writes[formatted].Write.ReplacedPool = new(recycled.Pool) }},
		{"R2", "replaces what it has not read", func(r *run) { r.reads[bExtends].End = r.writes[bExtends].Call + 1 }},
		{"R2", "before the one that it replaces", func(r *run) {
			r.writes[bTakes].span = span{time.Hour + 10, time.Hour + 20}
			r.writes[bExtends].span = span{time.Hour + 5, time.Hour + 15}
			r.writes[bExtendsAgain].span = span{time.Hour + 7, time.Hour + 9}
		}},
		{"R2", "has a lease of worker ID 0", func(r *run) { r.leases[1].granted[0].End = 1 }},
		{"R2", "has a lease of worker ID 0", func(r *run) {
			l := *r.leases[0]
			l.NotBefore = l.NotBefore.Add(time.Millisecond)
			r.leases = append(r.leases, &l)
		}},
		{"R2", "has a lease of worker ID 0", func(r *run) {
			l := *r.leases[0]
			l.NotBefore = l.NotBefore.Add(-time.Millisecond)
			r.leases = append(r.leases, &l)
		}},
		{"R2", "has a lease of worker ID 1", func(r *run) { r.leases[1].WorkerID = 1 }},
		{"R3", "must begin at", func(r *run) { r.slot(bExtends).From = r.slot(bExtends).From.Add(time.Millisecond) }},
		{"R3", "must begin at", func(r *run) { r.slot(bTakes).From = r.slot(bTakes).From.Add(-time.Millisecond) }},
		{"R3", "must begin at", func(r *run) {
			r.slot(aTakesOther).From = begin.Add(20 * time.Millisecond)
			r.slot(aTakesOther).Until = r.slot(aTakesOther).From
		}},
		{"R3", "until is before from", func(r *run) { r.slot(bTakes).Until = begin }},
		{"R3", "a new slot begins before", func(r *run) { r.slot(added).From = begin }},
		{"R7", "a lease begins before the floor", func(r *run) { // of a new slot
			r.reads[added].State.Pool.Floor, r.writes[added].Write.ReplacedPool.Floor, r.writes[added].Write.Pool.Floor = begin.Add(time.Second), begin.Add(time.Second), begin.Add(time.Second)
			r.slot(added).Token = "a4"
			r.reads, r.writes, r.leases = r.reads[:added+1], r.writes[:added+1], nil
		}},
		{"R3", "a new slot begins after", func(r *run) {
			r.slot(added).From = begin.Add(time.Hour)
			r.slot(added).Until = r.slot(added).From
		}},
		{"R3", "and to process", func(r *run) { r.leases[0].released = false }},
		{"R3", "and to process", func(r *run) { r.leases[0].used = r.leases[0].used.Add(time.Millisecond) }},
		{"R4", "must have a fresh one", func(r *run) { r.slot(bExtendsAgain).Token = "b2" }},
		{"R4", "must have a fresh one", func(r *run) { r.slot(bTakes).Token = "a1" }},
		{"R3", "must begin at", func(r *run) { r.writes[bExtendsAgain].client, r.reads[bExtendsAgain].client = r.a, r.a }},
		{"R3", "must begin at", func(r *run) { r.writes[bExtends].Made = false }},
		{"R5", "is not free before", func(r *run) { r.reads[bTakes].State.Now = begin }},
		{"R5", "is not free before", func(r *run) { // not released
			r.slot(aReleases).Token, r.writes[bTakes].Write.Replaced[0].Token, r.reads[bTakes].State.Slots[0].Token = "a5", "a5", "a5"
			r.reads[bTakes].State.Now = begin.Add(2110 * time.Millisecond) // the grace is over at 2120 ms
		}},
		{"R5", "is not free before", func(r *run) { // not released, and written 1 s ago
			old := &r.reads[bTakes].State.Slots[0]
			old.Token, old.Written = "a5", r.reads[bTakes].State.Now.Add(-time.Second)
			r.writes[bTakes].Write.Replaced[0] = *old
		}},
		{"R5", "is not free before", func(r *run) { // not released, and the history has changed
			r.writes[aTakesOther].Write.Replaced[0].Token, r.reads[aTakesOther].State.Slots[1].Token = "a6", "a6"
		}},
		{"R5", "is not free before", func(r *run) { r.sameName(9*time.Second, time.Minute, time.Hour) }},
		{"R5", "is not free before", func(r *run) { r.sameName(9866*time.Millisecond, time.Minute, time.Hour) }}, // 1.125 times that is 1 ms too little
		{"R5", "is not free before", func(r *run) { r.sameName(time.Hour, 14799*time.Millisecond, time.Hour) }},
		{"R5", "is not free before", func(r *run) { r.sameName(time.Hour, time.Minute, 0) }},
		{"R5", "is not free before", func(r *run) { r.lease(r.b, 0, "b4", r.state.Pool.Floor) }}, // its own, which is not released
		{"R5", "ends the lease of another", func(r *run) {
			s := r.slot(bExtendsAgain)
			s.Token, s.Until = "", r.writes[bExtendsAgain].Write.Replaced[0].Until
			r.writes[bExtendsAgain].client, r.reads[bExtendsAgain].client = r.a, r.a
		}},
		{"R5", "the claimant's clock", func(r *run) { r.writes[bTakes].Received = begin }},
		{"R6", "granted beyond the horizon", func(r *run) { r.slot(bExtendsAgain).Until = begin.Add(12150 * time.Millisecond) }}, // read at 2080 ms
		{"R6", "granted beyond the horizon", func(r *run) { r.slot(bTakes).Until = begin.Add(13 * time.Second) }},
		{"R6", "granted beyond the horizon", func(r *run) { r.reads[bExtends].State.Now = begin.Add(-8 * time.Second) }},
		{"R3", "granted to nobody", func(r *run) { r.slot(added).Until = begin.Add(10022 * time.Millisecond) }},
		{"R6", "granted beyond the horizon", func(r *run) { // of a new slot
			r.slot(added).Token, r.slot(added).Until = "a4", begin.Add(10022*time.Millisecond)
		}},
		{"R6", "granted beyond the horizon", func(r *run) { // by the horizon that was read: the write raises it
			p, w := r.reads[bExtendsAgain].State.Pool, &r.writes[bExtendsAgain].Write
			old := p
			p.Revision, p.Horizon = p.Revision+1, 10*time.Hour
			w.Pool, w.ReplacedPool = &p, &old
			r.slot(bExtendsAgain).Until = begin.Add(time.Hour)
		}},
		{"R6", "granted beyond the horizon", func(r *run) { // of unknown outcome
			r.unknown(bExtendsAgain)
			r.slot(bExtendsAgain).Until = begin.Add(time.Hour)
		}},
		{"R7", "the floor is", func(r *run) {
			r.writes[noted].Write.Pool.Floor = r.writes[noted].Write.Pool.Floor.Add(-time.Millisecond)
		}},
		{"R7", "the floor is", func(r *run) { r.operator.isOperator = false }},
		{"R7", "the floor is", func(r *run) { r.lose(r.a, recycled.Pool{}) }}, // which has used the pool
		{"R7", "the floor is", func(r *run) { // there are slots
			slots := r.state.Slots
			r.lose(r.Operator(nil), recycled.Pool{})
			r.reads[ended+1].State.Slots = slots
		}},
		{"R7", "H, F or M fall", func(r *run) { // as the process has read them
			r.lose(r.a, recycled.Pool{Floor: r.state.Now.Add(time.Hour)}).Write.Pool.Fencing--
		}},
		{"R5", "is written at", func(r *run) { r.slot(bExtends).Written = begin }},
		{"R5", "is written at", func(r *run) { r.slot(aTakesOther).Written = begin.Add(10 * time.Hour) }},
		{"R7", "floor falls", func(r *run) { r.writes[raised].Write.Pool.Floor = begin }},
		{"R7", "fall", func(r *run) { r.writes[raised].Write.Pool.Horizon-- }},
		{"R7", "fall", func(r *run) { r.writes[raised].Write.Pool.Fencing-- }},
		{"R7", "fall", func(r *run) { r.writes[raised].Write.Pool.Skew-- }},
		{"R7", "its format changes", func(r *run) { r.writes[raised].Write.Pool.First++ }},
		{"R7", "its format changes", func(r *run) { r.writes[raised].Write.Pool.Format = "g" }},
		{"R7", "which was read at", func(r *run) { r.writes[noted].Write.Pool.Since = r.reads[noted].State.Now.Add(102 * time.Millisecond) }},
		{"R7", "which was read at", func(r *run) { // a write of unknown outcome is decided on before its call
			r.unknown(noted)
			r.writes[noted].End, r.writes[noted].Write.Pool.Since = time.Hour, begin.Add(time.Minute)
		}},
		{"R7", "are added", func(r *run) { r.writes[raised].Write.Pool.Slots++ }},
		{"R7", "are added", func(r *run) { r.writes[raised].Write.Pool.Slots-- }},
		{"R7", "and the store's is", func(r *run) { r.writes[noted].Write.Pool.History = "j" }},
		{"R7", "which was read at", func(r *run) { r.writes[noted].Write.Pool.Since = begin }},
		{"R7", "read-only", func(r *run) { r.reads[noted].State.ReadOnly = true }},
		{"R7", "and the pool has", func(r *run) { r.writes[bTakes].Write.History, r.reads[bTakes].State.History = "i", "i" }},
		{"R7", "of another history is extended", func(r *run) { r.slot(bExtendsAgain).History = "i" }},
		{"R7", "and the pool has", func(r *run) { r.writes[bExtends].Write.History, r.reads[bExtends].State.History = "i", "i" }},
		{"R7", "is extended beyond it", func(r *run) { r.reads[bExtendsAgain].State.Pool.Floor = begin.Add(3 * time.Second) }},
		{"R7", "is extended beyond it", func(r *run) { // the read shows the pool as it was
			old, pool := r.slot(aTakesOther), r.writes[noted].Write.Pool
			r.state.Slots[1], r.state.Pool = *old, *pool
			r.pass(time.Hour + 12*time.Second)
			r.extend(r.a, r.leases[2], "a9", time.Hour+time.Millisecond)
		}},
		{"R7", "stands for", func(r *run) { r.slot(aTakesOther).History = "h" }},
		{"R7", "and 2 are added", func(r *run) { r.writes[added].Write.Pool = nil }},
		{"R7", "which was written before its pool was read", func(r *run) {
			s := r.slot(aTakesOther)
			s.From = r.writes[aTakesOther].Write.Replaced[0].Until
			s.Until, r.reads[aTakesOther].State.Pool.Floor = s.From, s.From
		}},
		{"R8", "the host's", func(r *run) { r.reads[bTakes].Sent = r.reads[bTakes].Sent.Add(2 * bound) }},
		{"R8", "the host's", func(r *run) { r.reads[aTakes].Received = r.reads[aTakes].Received.Add(-2 * bound) }},
		{"R2", "replaces what was not there", func(r *run) { // when the run began
			r.Begin(recycled.State{History: "h", Pool: r.reads[added].State.Pool, Slots: r.reads[aTakes].State.Slots})
		}},
		{"R2", "before the one that it replaces", func(r *run) {
			r.Begin(recycled.State{History: "h", Pool: r.reads[added].State.Pool, Slots: []recycled.Slot{{Revision: 9}}})
		}},
		{"R4", "must have a fresh one", func(r *run) { // of what there was when the run began
			r.Begin(recycled.State{Slots: []recycled.Slot{{WorkerID: 7, Token: "b2"}}})
		}},
		{"R4", "must have a fresh one", func(r *run) {
			before := newRun()
			before.unknown(bTakes)
			r.follow(before)
		}},
		{"store", "acknowledged before is lost", func(r *run) { // the last write of slot 1
			before := newRun()
			before.state.Slots = slices.Clone(before.reads[ended].State.Slots)
			r.follow(before)
		}},
		{"store", "acknowledged before is lost", func(r *run) { // another record of its revision
			before := newRun()
			before.state.Slots[1].Until = begin
			r.follow(before)
		}},
		{"store", "acknowledged before is lost", func(r *run) { // slot 1
			before := newRun()
			before.state.Slots = before.state.Slots[:1]
			r.follow(before)
		}},
		{"store", "acknowledged before is lost", func(r *run) { // the floor
			before := newRun()
			before.state.Pool = *before.writes[noted].Write.Pool
			r.follow(before)
		}},
		{"store", "acknowledged before is lost", func(r *run) { // another pool of its revision
			before := newRun()
			before.state.Pool.Slots++
			r.follow(before)
		}},
		{"store", "acknowledged before is lost", func(r *run) { // all
			before := newRun()
			before.state.Pool, before.state.Slots = recycled.Pool{}, nil
			r.follow(before)
		}},
		{"store", "what nobody has written", func(r *run) { r.reads[ended].State.Pool.Slots++ }},
		{"store", "what nobody has written", func(r *run) { r.reads[ended].State.Slots[1].Until = begin }},
		{"store", "what nobody has written", func(r *run) { r.reads[bExtends].span = span{0, 1} }}, // yet
		{"store", "what nobody has written", func(r *run) { r.writes[aReleases].Made = false }},
		{"grants", "was not granted then", func(r *run) { r.leases[1].stamps[begin.Add(time.Hour).UnixMicro()] = time.Hour }},
		{"grants", "was not granted then", func(r *run) { r.leases[1].stamps[begin.UnixMicro()] = time.Hour }},
		{"grants", "was not granted then", func(r *run) { r.leases[1].stamps[r.leases[1].NotBefore.UnixMicro()] = 0 }},
		{"grants", "of which it had no lease", func(r *run) { r.a.Stamp(5, begin) }},
		{"grants", "has given back (released: true", func(r *run) { r.leases[0].stamps[r.leases[0].used.UnixMicro()] = time.Hour }},
	} {
		r := newRun()
		tt.change(r)
		report := r.Check()
		if !slices.ContainsFunc(report.Violations, func(v Violation) bool { return v.Rule == tt.rule && strings.Contains(v.Text, tt.text) }) {
			t.Errorf("%s, %q is broken: %v", tt.rule, tt.text, report)
		}
	}
}

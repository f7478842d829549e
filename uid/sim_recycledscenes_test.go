package uid

import (
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Scenarios that chance alone seldom brings about. Each of them is likely to show a rule that is broken, and leaves
// to chance how.

// scenario plays a scenario with a host that has a process.
func (f *slotFleet) scenario(h *slotHost) {
	f.down = false
	if f.lossy && f.chance(2) {
		f.failOverInCall(h)
	} else {
		f.handOver(h)
	}
}

// failOverInCall lets the store fail over between the Read and the Write of one call of a host. The replica lacks
// everything since before the host's process took its slot. The call is one that extends or releases the slot
// shortly after the grant, or the one that takes it.
func (f *slotFleet) failOverInCall(h *slotHost) {
	f.stop(h)
	if f.former != nil && f.clock.Before(f.fencedAt) {
		f.fencedAt = f.clock // so that there may be another failover
	}
	f.replicate()
	f.isBehind = true
	defer func() { f.isBehind, f.inCall = false, nil }()
	if f.chance(5) {
		f.inCall = h
	}
	if f.start(h, f.chance(3)) != nil {
		return
	}
	for range 1 + f.rnd.IntN(4) {
		f.take(h.process, 1+f.rnd.IntN(3))
		h.process.runTasks(2)
		f.clock = f.clock.Add(f.millis(1000))
	}
	f.inCall = h
	if f.chance(3) {
		f.take(h.process, 1+f.rnd.IntN(30))
		h.process.runTasks(4)
	} else {
		f.stop(h)
	}
	if h.process == nil {
		f.startAndTake(h)
	}
	f.startSome(2)
	f.burst()
}

// pauseInCall is called between the Read and the Write of a call, and lets the store fail over. The caller is paused
// meanwhile, and the others live on with the new primary. The write arrives when the new primary has the revision
// that it expects, although another has used the slot. If that does not happen, it arrives too late or after some time.
func (f *slotFleet) pauseInCall(caller *slotHost, w recycled.Write) {
	f.inCall, f.isBehind = nil, false
	// A limit of this scenario: the server that the caller has read from does not become the primary again, without a
	// restart, before the write arrives. It would make the write, because it has the same history as before.
	f.notAgain = w.History
	if !f.failover() {
		return
	}
	f.record(caller, "is paused in a call; failover to history %q", f.primary.history)
	defer func(isNested bool) { f.isNested = isNested }(f.isNested)
	f.isNested = true // nobody else is paused in a call
	end := f.clock.Add(f.fencing + f.skew + f.horizon + f.millis(30_000))
	for f.clock.Before(end) && f.err == nil && !f.isTooLate(w) && !(f.expects(w) && f.chance(2)) {
		f.clock = f.clock.Add(f.millis(3000))
		for _, h := range f.hosts {
			switch {
			case h == caller || h.paused > 0:
			case h.process != nil:
				h.process.runTasks(2)
				f.take(h.process, 1+f.rnd.IntN(3))
			case f.chance(4):
				f.start(h, f.chance(3))
			}
		}
	}
	if f.expects(w) {
		f.staleWrites++
	}
	f.record(caller, "continues its call")
}

// expects reports whether the primary has the revision that precedes the one of a write, of a slot that is granted
// to another than the writer knows.
func (f *slotFleet) expects(w recycled.Write) bool {
	if len(w.Slots) != 1 {
		return false
	}
	written, slot := w.Slots[0], f.slotOf(w.Slots[0].WorkerID)
	return slot.Revision == written.Revision-1 && slot.From.Before(slot.Until) && slot.Until.After(written.Until)
}

// isTooLate reports whether the primary has already the revision of a write, or a later one.
func (f *slotFleet) isTooLate(w recycled.Write) bool {
	return len(w.Slots) == 1 && f.slotOf(w.Slots[0].WorkerID).Revision >= w.Slots[0].Revision
}

// slotOf returns the slot of a worker ID on the primary, or the zero Slot.
func (f *slotFleet) slotOf(workerID int64) recycled.Slot {
	n := workerID - f.primary.pool.First
	if n < 0 || n >= int64(len(f.primary.slots)) {
		return recycled.Slot{}
	}
	return f.primary.slots[n]
}

// handOver lets a process stop or crash when it has just used its lease. As soon as the grant has ended, the host
// starts its successor, or others start.
func (f *slotFleet) handOver(h *slotHost) {
	f.take(h.process, 1+f.rnd.IntN(60))
	workerID := h.process.workerID()
	if f.chance(2) {
		f.stop(h)
	} else {
		f.crash(h)
	}
	until := f.slotOf(workerID).Until
	wait := max(until.Sub(f.primary.clock()), until.Sub(f.clock.Add(h.offset)), 0)
	if wait > 5*time.Minute {
		return
	}
	f.clock = f.clock.Add(wait + f.millis(50))
	f.handOvers++
	if f.chance(2) {
		f.startAndTake(h)
	}
	f.startSome(2)
	f.burst()
}

// startSome starts processes on n hosts, some of which have a process that crashes.
func (f *slotFleet) startSome(n int) {
	for range n {
		h := f.hosts[f.rnd.IntN(len(f.hosts))]
		switch {
		case h.paused > 0 || h.process != nil && !f.chance(3):
			continue
		case h.process != nil:
			f.crash(h)
		}
		f.startAndTake(h)
	}
}

// startAndTake starts a process on a host, which stamps at once.
func (f *slotFleet) startAndTake(h *slotHost) {
	if f.start(h, f.chance(3)) != nil {
		return
	}
	f.take(h.process, 1)
	h.process.runTasks(2)
	f.take(h.process, 1+f.rnd.IntN(3))
}

// burst lets all processes use up what they are granted.
func (f *slotFleet) burst() {
	for _, h := range f.hosts {
		if h.process != nil && h.paused == 0 {
			f.take(h.process, 1+f.rnd.IntN(80))
		}
	}
}

// workerID returns the worker ID that a process stamps with.
func (p *slotProcess) workerID() int64 {
	if p.plain != nil {
		return p.plain.lease.Load().held.WorkerID()
	}
	return p.runs.current.Load().held.WorkerID()
}

package uid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// What is broken on purpose in a simulation of recycled worker IDs, and what that violates.
const (
	brokenUntil    = "R1: an extension is acknowledged, and the slot's until stays"
	brokenSwap     = "R2: a write does not compare revisions"
	brokenFrom     = "R3: a lease begins at the store's clock"
	brokenReply    = "R4: an ambiguous reply is taken for success"
	brokenGrace    = "R5: a slot is taken from its holder without grace"
	brokenHorizon  = "R6: grants reach beyond the horizon"
	brokenHistory  = "R7: a failover that loses writes keeps the history"
	brokenFloor    = "R7: a new history has no floor"
	brokenAtomic   = "R7: a write does not compare the history"
	brokenExtend   = "R7: a lease of another history is extended"
	brokenSkew     = "R8: hosts of any clock get a lease"
	brokenRelease  = "used: a lease is released with one unit less than was used"
	brokenFencing  = "F: an old primary is not fenced in time"
	brokenHostTime = "a generator stamps units that are not granted"
)

var (
	errSimSlotsDown = errors.New("the slot store is down")
	errSimSlotsLost = errors.New("the reply of the slot store was lost")
)

// delayedWrite is a write that reaches its server later.
type delayedWrite struct {
	server *slotServer
	write  recycled.Write
}

// fleetConnection is a host's connection to the slot store of a fleet: to its primary, or to a former one
// that still acknowledges writes. It implements recycled.Store.
type fleetConnection struct {
	fleet  *slotFleet
	host   *slotHost
	giveUp context.CancelFunc // ends Assign, which would sleep before its next try
}

// String implements recycled.Store.
func (c *fleetConnection) String() string { return "the simulated slot store" }

// Read implements recycled.Store.
func (c *fleetConnection) Read(_ context.Context, q recycled.Query) (recycled.State, error) {
	f := c.fleet
	if q.All || len(q.WorkerIDs) > 0 {
		c.giveUp()
	}
	if f.down || !f.isCalm && f.chance(40) {
		c.giveUp()
		return recycled.State{}, errSimSlotsDown
	}
	server := f.server()
	server.scanFrom = 0
	if len(server.slots) > 0 {
		server.scanFrom = f.rnd.IntN(len(server.slots))
	}
	state := server.read(q)
	f.breakRead(&state, q)
	f.interfere(c.host) // so that the result is not the latest any more
	return state, nil
}

// breakRead changes what was read, if the simulation is broken on purpose.
func (f *slotFleet) breakRead(state *recycled.State, q recycled.Query) {
	byHolder := len(q.WorkerIDs) > 0 && q.Free == 0
	switch f.broken {
	case brokenFrom:
		for n := range state.Slots {
			if slot := &state.Slots[n]; !byHolder && slot.Until.After(state.Now.Add(-time.Minute)) {
				slot.Until = state.Now.Add(-time.Minute)
			}
		}
	case brokenGrace:
		for n := range state.Slots {
			if !byHolder {
				state.Slots[n].Token = ""
			}
		}
	case brokenHorizon:
		state.Pool.Horizon *= 20
	case brokenExtend:
		for n := range state.Slots {
			if slot := &state.Slots[n]; strings.Contains(slot.History, " since ") {
				slot.History = fmt.Sprintf("%s since %d", state.Pool.History, state.Pool.Since.UnixMilli())
			} else {
				slot.History = state.History
			}
		}
	}
}

// Write implements recycled.Store.
func (c *fleetConnection) Write(_ context.Context, w recycled.Write) (bool, error) {
	if f := c.fleet; f.broken == brokenHorizon && w.Pool != nil { // the floor is that of the true horizon
		p := *w.Pool
		p.Horizon = f.horizon
		if floor := f.clock.Add(f.fencing + f.horizon + 2*f.skew); p.Floor.After(floor) {
			p.Floor = floor
		}
		w.Pool = &p
	}
	written, err := c.write(w)
	if !written || err != nil {
		c.giveUp()
	}
	return written, err
}

func (c *fleetConnection) write(w recycled.Write) (bool, error) {
	f := c.fleet
	if f.inCall == c.host {
		f.pauseInCall(c.host, w)
		defer func() { f.notAgain = "" }()
	}
	f.interfere(c.host)
	if f.down {
		return false, errSimSlotsDown
	}
	server := f.server()
	w.Slots = slices.Clone(w.Slots)
	if w.Pool != nil {
		p := *w.Pool
		w.Pool = &p
	}
	if f.isCalm {
		return f.apply(server, w), nil
	}
	switch f.rnd.IntN(24) {
	case 0: // the request is lost
	case 1: // the request arrives later
		f.delayed = append(f.delayed, delayedWrite{server, w})
	case 2: // the reply is lost
		f.apply(server, w)
	default:
		return f.apply(server, w), nil
	}
	f.lost++
	if f.broken == brokenReply {
		return true, nil
	}
	return false, errSimSlotsLost
}

// server returns the server that the next request reaches.
func (f *slotFleet) server() *slotServer {
	if f.former != nil && f.clock.Before(f.fencedAt) && f.chance(2) {
		return f.former
	}
	return f.primary
}

// apply makes a write at a server, and checks the rules that can be seen there.
func (f *slotFleet) apply(s *slotServer, w recycled.Write) bool {
	if s != f.primary && (s != f.former || !f.clock.Before(f.fencedAt)) {
		return false // it is fenced
	}
	var before []recycled.Slot
	for _, slot := range w.Slots {
		n, old := slot.WorkerID-s.pool.First, recycled.Slot{}
		if n >= 0 && n < int64(len(s.slots)) {
			old = s.slots[n]
		}
		before = append(before, old)
	}
	if f.broken == brokenFrom || f.broken == brokenGrace {
		w.Replaced = before // it had what breakRead has changed
	}
	if !s.write(w) {
		f.failedSwaps++
		return false
	}
	f.mostSlots = max(f.mostSlots, s.pool.Slots)
	f.since[s.pool.History] = later2(f.since[s.pool.History], s.pool.Since)
	if f.broken == "" || f.broken == brokenGrace {
		for n, old := range before {
			f.checkWrite(s, old, w.Slots[n])
		}
	}
	return true
}

// checkWrite checks the rules that can be seen in one write of a slot.
func (f *slotFleet) checkWrite(s *slotServer, old, slot recycled.Slot) {
	now := s.clock()
	taken := slot.Token != "" && leaseOf(slot.Token) != leaseOf(old.Token)
	sameName := slot.Holder.Name != "" && slot.Holder.Name == old.Holder.Name
	switch {
	case old.Revision == 0:
	case slot.Until.Before(old.Until) && slot.Token != "", slot.Until.Before(old.From):
		f.fail("R1", "the until of worker ID %d fell from %v to %v", slot.WorkerID, old.Until, slot.Until)
	case taken && slot.From.Before(old.Until):
		f.fail("R3", "a lease of worker ID %d begins at %v, before %v", slot.WorkerID, slot.From, old.Until)
	case taken && old.Token != "" && !sameName && now.Add(f.skew).Before(later2(old.Until, old.Written).Add(f.bound+f.skew)):
		f.fail("R5", "worker ID %d, granted until %v, was taken at %v", slot.WorkerID, old.Until, now)
	case taken && old.Token != "" && sameName && now.Add(f.skew).Before(old.Until):
		f.fail("R5", "worker ID %d of %q, granted until %v, was taken at %v", slot.WorkerID, slot.Holder.Name, old.Until, now)
	case !taken && slot.Until.After(old.Until) && slot.Until.After(now.Add(f.horizon+f.skew)):
		f.fail("R6", "worker ID %d was granted until %v at %v", slot.WorkerID, slot.Until, now)
	}
}

// leaseOf returns the token with which the lease began that has a token.
func leaseOf(token string) string {
	lease, _, _ := strings.Cut(token, ".")
	return lease
}

// later2 returns the later of two times.
func later2(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// replicate lets the replica receive everything that the primary has written, unless it is to stay behind.
func (f *slotFleet) replicate() {
	if !f.isBehind {
		f.replica = f.primary.clone()
	}
}

// failover makes the replica the primary: what it has not received is lost. The former primary acknowledges
// writes until it is fenced. Until then failover does nothing and returns false.
func (f *slotFleet) failover() bool {
	if f.former != nil && f.clock.Before(f.fencedAt) {
		return false
	}
	f.failovers++
	f.former, f.fencedAt = f.primary, f.clock.Add(time.Duration(f.rnd.Int64N(int64(f.fencing)+1)))
	if f.broken == brokenFencing {
		f.fencedAt = f.clock.Add(3*f.fencing + 3*f.horizon)
	}
	f.primary = f.replica.clone()
	f.primary.offset = f.randomSkew()
	f.primary.history = f.newHistory()
	f.replica = f.primary.clone()
	return true
}

// newHistory returns the history of a server that becomes the primary: a new one, or that of a server that
// was the primary before and was synchronized anew without a restart. It is never the pool's, because the
// history must be another one when writes may have been lost. To become the primary again takes longer than a millisecond, because
// nothing tells two pools of the same history and the same time apart.
func (f *slotFleet) newHistory() string {
	if f.broken == brokenHistory {
		return f.former.history
	}
	if f.chance(2) {
		for _, h := range []string{"a", "b", "c"} {
			if h != f.former.history && h != f.primary.pool.History && h != f.notAgain && f.primary.clock().After(f.since[h]) {
				return h
			}
		}
	}
	f.histories++
	return fmt.Sprintf("h%d", f.histories)
}

// restart restarts the primary. It loses nothing, but has another history.
func (f *slotFleet) restart() {
	if f.lossy && f.broken != brokenHistory {
		f.histories++
		f.primary.history = fmt.Sprintf("h%d", f.histories)
	}
	f.primary.offset = f.randomSkew()
}

// randomSkew returns the offset of a server's clock.
func (f *slotFleet) randomSkew() time.Duration { return time.Duration(f.rnd.Int64N(int64(f.skew) + 1)) }

// deliver lets one of the delayed writes arrive.
func (f *slotFleet) deliver() {
	if len(f.delayed) == 0 {
		return
	}
	n := f.rnd.IntN(len(f.delayed))
	d := f.delayed[n]
	f.delayed = slices.Delete(f.delayed, n, n+1)
	if f.apply(d.server, d.write) {
		f.lateWrites++
	}
}

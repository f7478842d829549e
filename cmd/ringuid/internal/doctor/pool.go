package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// maxHolders is how many holders of slots are named.
const maxHolders = 10

// pool examines the pool of recycled worker IDs.
func (e *examination) pool() {
	sent := e.options.Now()
	s, err := e.store.Slots().Read(e.ctx, recycled.Query{All: true})
	received := e.options.Now()
	if err != nil {
		e.failed("pool", err)
		return
	}
	e.poolState(s, sent, received)
}

// poolState examines the state of a pool that was read between sent and received.
func (e *examination) poolState(s recycled.State, sent, received time.Time) {
	if s.HostClock {
		e.info("clock", "the store has no clock: the clocks of all hosts must be synchronized")
	} else {
		e.clock(s.Now, sent, received)
	}
	if s.ReadOnly {
		e.fault("writable", "make the address lead to the primary", "the server is read-only: it may be a replica")
	}
	p := s.Pool
	if p.Revision == 0 {
		e.info("pool", "there is no pool of recycled worker IDs yet")
		if !s.NoLoss {
			e.info("first start", "the store can lose acknowledged writes, so the first leases begin %v later, unless \"ringuid pool create\" is run before the first start",
				e.store.Options().FloorWait(p))
		}
		return
	}
	e.history(s)
	e.poolFormat(p)
	e.slots(s)
}

// history examines the history and the floor.
func (e *examination) history(s recycled.State) {
	p := s.Pool
	horizon, fencing, skew := e.store.Options().Durations(p)
	wait := horizon + fencing + skew
	switch {
	case p.History != s.History:
		e.warn("history", "wait for the floor; make sure that the former server accepts no writes",
			"the server was restarted or replaced since the pool was used last: the next process sets a floor, and leases begin %v later", wait)
	case s.NoLoss:
		e.ok("history", "the store loses no acknowledged writes, so leases continue after a failover")
	default:
		e.info("history", "the store can lose acknowledged writes: after each restart or failover, new leases begin %v later:"+
			" %v until the former server accepts no writes (fencing), %v that it may have granted ahead (horizon), and %v for the difference of the clocks (skew)",
			wait, fencing, horizon, skew)
	}
	if p.Floor.After(s.Now) {
		e.warn("floor", "wait: generators continue at that time",
			"no lease begins before %s, in %v", p.Floor.UTC().Format(time.RFC3339), p.Floor.Sub(s.Now).Round(time.Second))
	}
}

// wrapper finds the bits that Divide and Prefix use in a workerassign.Request's Format.
var wrapper = regexp.MustCompile(`; divided by ([0-9]+) bits|; prefix [0-9]+ in ([0-9]+) bits`)

// wrapBits returns how many of the worker bits Divide and Prefix use.
func wrapBits(wrappers string) (bits int) {
	for _, m := range wrapper.FindAllStringSubmatch(wrappers, -1) {
		if n, err := strconv.Atoi(m[1] + m[2]); err == nil && n <= 62 {
			bits += n
		}
	}
	return min(bits, 62)
}

// describeWrappers returns what Prefix and Divide do, in words.
func describeWrappers(wrappers string) string {
	if wrappers == "" {
		return "no prefix and no division"
	}
	return strings.TrimPrefix(wrappers, "; ")
}

// poolFormat examines the format of a pool.
func (e *examination) poolFormat(p recycled.Pool) {
	text, wrappers, hasWrappers := strings.Cut(p.Format, ";")
	if hasWrappers {
		wrappers = ";" + wrappers
	}
	e.wrapBits = wrapBits(wrappers)
	if ofFlags := e.options.Wrappers; ofFlags != "" && ofFlags != wrappers {
		e.fault("format", "use the prefix and the division of the pool, or another pool: generators with others are refused",
			"the pool has %s, and the flags %s", describeWrappers(wrappers), describeWrappers(ofFlags))
	}
	if p.Format == "" {
		e.info("format", "no generator has used the pool yet: the format is that of the first one")
		return
	}
	f, err := uid.ParseFormat(text)
	if err != nil {
		e.info("format", "the pool's format is %q", p.Format)
		return
	}
	switch {
	case f == e.options.Format:
		e.ok("format", "the pool's format is %s", p.Format)
	case e.options.FormatSet:
		e.fault("format", "use the pool's format, or another pool: generators of another format are refused",
			"the pool's format is %s, and the one of the flags is %s", p.Format, e.options.Format)
	default:
		e.info("format", "the pool's format is %s", p.Format)
	}
	e.options.Format = f
	e.end(f)
}

// slots examines the slots of a pool.
func (e *examination) slots(s recycled.State) {
	p := s.Pool
	if int64(len(s.Slots)) != p.Slots {
		e.fault("slots", "see doc/fleet.md, A slot or the pool is missing", "the pool has %d slots, and %d were found", p.Slots, len(s.Slots))
	}
	count := CountSlots(s)
	var holders []string
	slices.SortFunc(s.Slots, func(a, b recycled.Slot) int { return int(a.WorkerID - b.WorkerID) })
	for _, slot := range s.Slots {
		if StateOf(slot, s.Now) == Held {
			holders = append(holders, describeHolder(slot))
		}
	}
	e.info("slots", "%d slots from worker ID %d: %d held, %d free, %d not free yet", p.Slots, p.First, count[Held], count[Free], count[NotFreeYet])
	for i, h := range holders {
		if i == maxHolders {
			e.info("held", "and %d more", len(holders)-maxHolders)
			break
		}
		e.info("held", "%s", h)
	}
	// Worker IDs from First to the greatest one of the layout can become slots.
	supply := e.maxWorkerID() - p.First + 1
	if supply < 1 {
		e.fault("worker IDs", "use a smaller first worker ID, or more worker bits", "the first worker ID of the pool is %d, beyond the layout", p.First)
		return
	}
	e.left(p.Slots-count[Free], supply, 0)
}

// describeHolder says who holds a slot.
func describeHolder(s recycled.Slot) string {
	return fmt.Sprintf("worker ID %d by %s since %s, granted until %s", s.WorkerID, Holder(s), s.Holder.Since.UTC().Format(time.RFC3339), s.Until.UTC().Format(time.RFC3339))
}

// Holder says who has leased a slot last.
func Holder(s recycled.Slot) string {
	who := fmt.Sprintf("host %s, process %s", printable(s.Holder.Host), printable(s.Holder.Process))
	if s.Holder.Name != "" {
		who = printable(s.Holder.Name) + " (" + who + ")"
	}
	return who
}

// printable returns a text without what a terminal would execute.
func printable(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// A SlotState says whether a lease can take a slot.
type SlotState string

// The values of SlotState.
const (
	Free       SlotState = "free"
	Held       SlotState = "held"
	NotFreeYet SlotState = "not free yet" // it was released, and the clock has not passed what was granted
)

// CountSlots returns how many slots are in each state.
func CountSlots(s recycled.State) map[SlotState]int64 {
	count := map[SlotState]int64{}
	for _, slot := range s.Slots {
		count[StateOf(slot, s.Now)]++
	}
	return count
}

// StateOf returns the state of a slot at a time of the store's clock.
func StateOf(s recycled.Slot, now time.Time) SlotState {
	switch {
	case s.FreeAt.Before(now):
		return Free
	case s.Token != "":
		return Held
	}
	return NotFreeYet
}

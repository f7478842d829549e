package uid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/random"
	"github.com/ringuid/ringuid/internal/testkit/ledger"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slotFleet is a simulation of generators whose leases come from the real recycled.Assigner on a
// simulated slot store: with servers that fail over and lose writes, clocks that differ, replies that are
// lost and writes that arrive later, pauses, crashes, names and fixed worker IDs. It runs in one goroutine,
// without a wall clock and without sleeping. All chance comes from one seed, but for one choice of Recycled's
// own: among the free slots of a pool that seemed to be full. A seed with such a pool may have more than one
// outcome.
type slotFleet struct {
	rnd    *rand.Rand
	broken string
	clock  time.Time // the true time
	opts   []any
	format Format

	lossy                          bool // the store can lose writes that it acknowledged, in a failover
	horizon, fencing, skew, bound  time.Duration
	primary, former, replica       *slotServer
	fencedAt                       time.Time // when the former primary no longer acknowledges
	histories                      int
	since                          map[string]time.Time // of each history, the latest one that a pool had
	isBehind                       bool                 // the replica receives nothing
	inCall                         *slotHost            // if not nil: in its next Write the store fails over
	notAgain                       string               // the history of the paused caller, which no new primary has
	scenarios                      bool                 // whether the fleet meets the scenarios
	down                           bool
	delayed                        []delayedWrite
	hosts                          []*slotHost
	isNested                       bool
	isCalm                         bool                      // the store has no faults
	lastUnits                      map[int64]int64           // if not nil, instead of owners: the last unit of each worker ID
	owners                         map[[2]int64]*slotProcess // by time unit and worker ID: invariants 1 and 2
	ended                          context.Context           // for calls that must not wait
	trace                          simTrace
	ledger                         *ledger.Log   // nil: nothing is recorded
	only                           string        // "ledger" or "simulation": only that one looks for faults
	calls                          time.Duration // of the ledger's clock, so that no two calls are at the same time
	err                            error
	units, starts, refusals        int64
	lost, lateWrites, failedSwaps  int64
	failovers, lostLeases, changes int64
	fullPools, heldSlots           int64
	handOvers, staleWrites         int64
	mostSlots                      int64
	report                         ledger.Report
}

// slotHost is a host. Its clock outlives its processes.
type slotHost struct {
	number  int
	name    string        // of WithName
	fixed   int64         // of WithWorkerID; -1: any
	offset  time.Duration // of its wall clock from the true time
	isOff   bool          // its clock is days off
	paused  int           // for so many events no code runs, as after SIGSTOP
	process *slotProcess
	lastID  ID // the greatest UID of its processes
}

// slotProcess is a process with one generator.
type slotProcess struct {
	host  *slotHost
	core  *core
	log   *ledger.Client
	runs  *runProvider // of a Cached generator
	plain *Default     // or a Default generator
	tasks []func()     // that its lease manager has started in the background
	last  ID
}

// slotClock is a host's clock.
type slotClock struct {
	fleet *slotFleet
	host  *slotHost
}

func (c slotClock) Now() time.Time           { return c.fleet.clock.Add(c.host.offset) }
func (c slotClock) Monotonic() time.Duration { return c.fleet.clock.Sub(fleetStart) }

// fleetStart is when a simulation starts.
var fleetStart = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// chance is true once in n times.
func (f *slotFleet) chance(n int) bool { return f.rnd.IntN(n) == 0 }

// millis returns a random duration of less than n milliseconds.
func (f *slotFleet) millis(n int) time.Duration {
	return time.Duration(f.rnd.IntN(n)) * time.Millisecond
}

// fail records what was found.
func (f *slotFleet) fail(rule, format string, args ...any) {
	if f.err == nil && (f.only == "" || (f.only == "ledger") == (rule == "ledger")) {
		f.err = fmt.Errorf("%s: %s\n%s", rule, fmt.Sprintf(format, args...), f.trace.last(25))
	}
}

// record records an event.
func (f *slotFleet) record(h *slotHost, format string, args ...any) {
	f.trace.add(f.clock, h.number, format, args)
}

// newSlotFleet returns a fleet that the seed determines.
func newSlotFleet(seed uint64, broken string) *slotFleet {
	f := &slotFleet{
		rnd:    rand.New(rand.NewPCG(seed, 0x6a09e667f3bcc908)),
		broken: broken,
		clock:  fleetStart,
		owners: make(map[[2]int64]*slotProcess),
		bound:  5 * time.Second,
	}
	f.lossy = f.chance(2) || strings.HasPrefix(broken, "R6") || strings.HasPrefix(broken, "R7") || broken == brokenFencing
	f.scenarios = !f.chance(3)
	unit := []time.Duration{time.Second, 100 * time.Millisecond}[f.rnd.IntN(2)]
	reserve := []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second}[f.rnd.IntN(3)]
	f.horizon = f.bound + reserve*3/2 + unit + time.Duration(f.rnd.IntN(60))*time.Second
	f.fencing = time.Duration(f.rnd.IntN(3)) * 10 * time.Second
	f.skew = time.Duration(f.rnd.IntN(3)) * 2 * time.Second
	l, err := bitsalloc.New(40, 2+f.rnd.IntN(6), 3)
	if err != nil {
		panic(err)
	}
	f.init(l, unit, WithReserveAhead(reserve), WithBoostPower(0), WithMaxBorrow(2*unit+time.Duration(f.rnd.IntN(90))*time.Second),
		WithRollover(!f.chance(4)))
	for n := range 1 + f.rnd.IntN(int(l.MaxWorkerID())+2) {
		h := f.addHost(n)
		h.offset = f.millis(4000) - 2*time.Second
		switch f.rnd.IntN(6) {
		case 0, 1:
			h.name = fmt.Sprintf("orders-%d", n)
		case 2:
			h.fixed = int64(f.rnd.IntN(4)) // of which some are wanted twice
		}
		if f.chance(12) {
			h.isOff = true
			h.offset = time.Duration(1+f.rnd.IntN(5)) * 24 * time.Hour * time.Duration(1-2*f.rnd.IntN(2))
		}
		if len(f.hosts) == 40 {
			break
		}
	}
	if f.chance(2) {
		f.createPool()
	}
	return f
}

// createPool creates the pool, as an operator does. Without it, the pool of a store that can lose writes begins with a floor.
func (f *slotFleet) createPool() {
	f.isNested = true
	c := f.ledger.Operator(&fleetConnection{fleet: f, host: &slotHost{number: -1, fixed: -1}, giveUp: func() {}})
	for f.primary.pool.Revision == 0 {
		if err := recycled.CreatePool(context.Background(), c, f.poolOptions()...); err != nil {
			f.clock = f.clock.Add(time.Millisecond)
		}
	}
	f.replicate()
	f.isNested = false
}

// poolOptions returns the options of the pool, and the bound of the clocks.
func (f *slotFleet) poolOptions() []recycled.Option {
	bound := f.bound
	if f.broken == brokenSkew {
		bound = 1000 * time.Hour
	}
	horizon := max(f.horizon, bound+1)
	if f.broken == brokenHorizon {
		horizon *= 20 // as the pool seems to have
	}
	return []recycled.Option{recycled.WithHorizon(horizon), recycled.WithFencing(f.fencing),
		recycled.WithSkew(f.skew), recycled.WithClockBound(bound)}
}

// init sets what all fleets have.
func (f *slotFleet) init(l bitsalloc.Layout, unit time.Duration, opts ...any) {
	f.since = map[string]time.Time{}
	f.ledger = ledger.New(func() time.Duration {
		f.calls++
		return f.clock.Sub(fleetStart) + f.calls
	})
	var end context.CancelFunc
	f.ended, end = context.WithCancel(context.Background())
	end()
	f.opts = append([]any{WithLogger(slog.New(slog.DiscardHandler)), WithLayout(l), WithTimeUnit(unit),
		WithEpoch(fleetStart.Add(-240 * time.Hour)), WithTakePolicy(Fail)}, opts...)
	var err error
	if f.format, err = NewFormat(accepted[FormatOption](f.opts)...); err != nil {
		panic(err)
	}
	f.primary = &slotServer{now: func() time.Time { return f.clock }, history: "a", noLoss: !f.lossy, mostFree: 1,
		comparesNothing: f.broken == brokenSwap, dropsFloor: f.broken == brokenFloor, ignoresHistory: f.broken == brokenAtomic, losesExtension: f.broken == brokenUntil}
	f.replicate()
}

// addHost adds a host.
func (f *slotFleet) addHost(number int) *slotHost {
	h := &slotHost{number: number, fixed: -1, lastID: -1}
	f.hosts = append(f.hosts, h)
	return h
}

// assigner returns the assigner of a host, which does not sleep, and the ledger of its process.
func (f *slotFleet) assigner(h *slotHost) (workerassign.Assigner, *ledger.Client) {
	opts := f.poolOptions()
	switch {
	case h.fixed >= 0:
		opts = append(opts, recycled.WithWorkerID(h.fixed))
	case h.name != "":
		opts = append(opts, recycled.WithName(h.name))
	}
	c := &fleetConnection{fleet: f, host: h, giveUp: func() {}}
	if f.ledger == nil {
		return impatientAssigner{f, h, c, recycled.New(c, opts...)}, nil
	}
	log := f.ledger.Client(c, f.bound)
	return impatientAssigner{f, h, c, log.Assigner(recycled.New(log, opts...))}, log
}

// impatientAssigner is an assigner that does not wait.
type impatientAssigner struct {
	fleet      *slotFleet
	host       *slotHost
	connection *fleetConnection
	assigner   workerassign.Assigner
}

func (a impatientAssigner) Assign(_ context.Context, r workerassign.Request) (workerassign.Lease, error) {
	f := a.fleet
	isOff := func() bool {
		ahead := r.Now().Sub(f.clock)
		return ahead > f.bound+f.skew || ahead < -f.bound
	}
	wasOff, before := isOff(), f.clock
	ctx, cancel := context.WithCancel(random.WithSource(context.Background(), f.rnd.IntN))
	defer cancel()
	a.connection.giveUp = cancel
	lease, err := a.assigner.Assign(ctx, r)
	switch {
	case errors.Is(err, recycled.ErrPoolFull):
		f.fullPools++
	case errors.Is(err, recycled.ErrSlotHeld):
		f.heldSlots++
	case errors.Is(err, recycled.ErrClockSkew):
		f.refusals++
	case err == nil:
		// The generator's clock may have followed a step of its host's in between.
		if wasOff && isOff() && f.clock.Sub(before) < time.Minute {
			f.fail("R8", "host %d, whose clock is %v ahead, has a lease", a.host.number, r.Now().Sub(f.clock))
		}
		if f.broken == brokenRelease {
			lease = shortRelease{lease, f.format.Unit()}
		}
	}
	return lease, err
}

// shortRelease is a lease that is released with one unit less than was used.
type shortRelease struct {
	workerassign.Lease
	unit time.Duration
}

func (l shortRelease) Release(ctx context.Context, used time.Time) error {
	return l.Lease.Release(ctx, used.Add(-l.unit))
}

// start starts a process on a host, if the store and the clock allow it.
func (f *slotFleet) start(h *slotHost, isDefault bool) error {
	p := &slotProcess{host: h, last: -1}
	var err error
	for range 6 { // a try may create the pool, or note a history
		var a workerassign.Assigner
		a, p.log = f.assigner(h)
		if p.core, err = newTestCore(f.ended, a, append(f.opts, WithClock(slotClock{f, h}))...); err == nil || isHeldOrOff(err) {
			break
		}
	}
	if err != nil {
		f.record(h, "does not start: %s", elapsedTime.ReplaceAllString(err.Error(), ""))
		return err
	}
	p.core.leases.SetHooks(leasing.Hooks{
		Go:    func(task func()) { p.tasks = append(p.tasks, task) },
		Pause: func(context.Context, time.Duration) bool { return false },
		Delay: func(context.Context, time.Duration) bool { return true },
	})
	if isDefault {
		p.plain = newDefaultOn(p.core)
	} else {
		p.runs = newRunProvider(p.core)
	}
	h.process = p
	f.starts++
	f.record(h, "starts with worker ID %d, not before unit %d", p.core.first.WorkerID(), p.core.first.First())
	return nil
}

// elapsedTime is in errors of Assign, and depends on pauses, whose lengths are random.
var elapsedTime = regexp.MustCompile(` in \d+\.?\d*[mµn]?s\b`)

// isHeldOrOff reports whether another try makes no sense at the same time.
func isHeldOrOff(err error) bool {
	return errors.Is(err, recycled.ErrPoolFull) || errors.Is(err, recycled.ErrSlotHeld) || errors.Is(err, recycled.ErrClockSkew)
}

// crash ends a process at once: it releases nothing.
func (f *slotFleet) crash(h *slotHost) {
	f.record(h, "crashes")
	f.end(h)
	h.process.core.leases.Cancel()
	h.process = nil
}

// stop ends a process in order: it releases its leases. The ring of a Cached generator may have runs that no taker has reached.
func (f *slotFleet) stop(h *slotHost) {
	p := h.process
	f.record(h, "stops")
	if p.runs != nil {
		for n := f.rnd.IntN(4); n > 0; n-- {
			p.runs.readClock()
			p.runs.NextRun(f.ended)
		}
	}
	p.runTasks(1 << 20)
	f.end(h)
	leases := p.core.leases
	if next := leases.Next(); next != nil { // not concurrently with the one in use
		leases.Use()
		leases.Retire(next, next.First())
		p.runTasks(1 << 20)
	}
	if p.plain != nil {
		l := p.plain.leaseChanger.seal()
		leases.Close(l.held, l.used())
	} else {
		l := p.runs.current.Load()
		leases.Close(l.held, l.usedAtClose(int64(p.last), p.last >= 0, f.format.layout))
	}
	h.process = nil
}

// end adds the statistics of a process that ends.
func (f *slotFleet) end(h *slotHost) {
	p := h.process
	h.lastID = max(h.lastID, p.last)
	f.lostLeases += int64(p.core.leases.Losses())
	if p.plain != nil {
		f.changes += int64(p.plain.leaseChanger.changes.Load())
	} else {
		f.changes += int64(p.runs.changes.Load())
	}
}

// runTasks runs so many background tasks of a process.
func (p *slotProcess) runTasks(n int) {
	for ; n > 0 && len(p.tasks) > 0; n-- {
		task := p.tasks[0]
		p.tasks = p.tasks[1:]
		task()
	}
}

// interfere lets something happen while a call of a host's process is under way.
func (f *slotFleet) interfere(caller *slotHost) {
	if f.isNested || f.err != nil {
		return
	}
	f.isNested = true
	defer func() { f.isNested = false }()
	switch f.rnd.IntN(12) {
	case 0:
		f.deliver()
	case 1:
		f.clock = f.clock.Add(f.millis(2000))
	case 2, 3, 4:
		if h := f.hosts[f.rnd.IntN(len(f.hosts))]; h != caller && h.paused == 0 {
			if h.process != nil {
				h.process.runTasks(1)
				f.take(h.process, 1+f.rnd.IntN(3))
			} else {
				f.start(h, f.chance(3))
			}
		}
	case 5:
		if f.lossy && f.chance(4) {
			f.failover()
		}
	case 6:
		f.replicate()
	}
}

// event lets something happen to a host.
func (f *slotFleet) event(h *slotHost) {
	f.clock = f.clock.Add(f.millis(max(3000/len(f.hosts), 20)))
	if h.paused > 0 {
		h.paused--
		return
	}
	if h.process == nil {
		if f.chance(3) {
			f.start(h, f.chance(3))
		}
		return
	}
	if f.scenarios && f.chance(15) {
		f.scenario(h)
		return
	}
	switch k := f.rnd.IntN(64); {
	case k < 4: // a burst
		f.take(h.process, 1+f.rnd.IntN(100))
	case k < 26:
		f.take(h.process, 1+f.rnd.IntN(3))
	case k < 40:
		if d := h.process.plain; d != nil {
			d.keep() // its goroutine
		}
		h.process.runTasks(1 + f.rnd.IntN(3))
	case k < 43:
		f.clock = f.clock.Add(f.millis(20_000))
	case k < 44: // all are idle
		f.clock = f.clock.Add(f.millis(600_000))
	case k < 46:
		f.crash(h)
	case k < 48:
		f.stop(h)
	case k < 49:
		h.paused = 1 + f.rnd.IntN(8)
		f.record(h, "is paused")
		f.clock = f.clock.Add(f.millis(120_000))
	case k < 50:
		by := f.millis(4000) - 2*time.Second
		if f.chance(4) {
			by = time.Duration(f.rnd.Int64N(int64(96*time.Hour))) - 48*time.Hour
		}
		if !h.isOff {
			h.offset = by
		}
		f.record(h, "its clock is now %v off", h.offset)
	case k < 51:
		h.offset = min(max(h.offset, -2*time.Second), 2*time.Second)
		h.isOff = false
	case k < 53:
		f.down = !f.down
		f.record(h, "the store is down: %v", f.down)
	case k < 55:
		f.down = false
	case k < 57:
		f.deliver()
	case k < 60:
		f.replicate()
	case k < 61:
		if f.lossy {
			f.failover()
			f.record(h, "failover to history %q, skew %v", f.primary.history, f.primary.offset)
		}
	case k < 62:
		f.restart()
		f.record(h, "the store restarts with history %q", f.primary.history)
	default:
		f.primary.offset = f.randomSkew()
	}
}

// take takes UIDs of a process: of a Cached generator n time units, or of a Default generator about as many UIDs.
func (f *slotFleet) take(p *slotProcess, n int) {
	for ; n > 0 && f.err == nil; n-- {
		if p.plain != nil {
			id, err := p.plain.NextContext(f.ended) // ended where it would wait
			if err != nil {
				return
			}
			f.stamp(p, id, 1)
			continue
		}
		p.runs.readClock()
		run, err := p.runs.NextRun(f.ended)
		if f.broken == brokenHostTime && err != nil && f.chance(4) {
			l := p.runs.current.Load()
			unit := max(l.stamped.Load()+1, p.runs.nowUnit())
			l.stamped.Store(unit)
			run.First, run.Length, err = f.format.layout.AllocateUnchecked(unit, l.held.WorkerID(), 0), f.format.layout.MaxSequence()+1, nil
		}
		if err != nil {
			return
		}
		f.stamp(p, ID(run.First), run.Length)
	}
}

// stamp checks UIDs that a process has stamped: all of one time unit.
func (f *slotFleet) stamp(p *slotProcess, first ID, n int64) {
	delta, workerID, _ := f.format.layout.Split(int64(first))
	f.units++
	if p.log != nil {
		p.log.Stamp(workerID, f.format.Epoch().Add(time.Duration(delta)*f.format.Unit()))
	}
	if f.lastUnits != nil {
		if last, used := f.lastUnits[workerID]; used && delta <= last {
			f.fail("invariant 1", "unit %d of worker ID %d was stamped after %d", delta, workerID, last)
		}
		f.lastUnits[workerID] = delta
		p.last = first + ID(n) - 1
		return
	}
	key := [2]int64{delta, workerID}
	if other := f.owners[key]; other != nil && (other != p || p.plain == nil) {
		f.fail("invariant 1", "unit %d of worker ID %d was stamped by hosts %d and %d", delta, workerID, other.host.number, p.host.number)
	}
	f.owners[key] = p
	if _, lastWorker, _ := f.format.layout.Split(int64(p.last)); first <= p.last && lastWorker == workerID {
		f.fail("invariant 4", "%v comes after %v", f.format.Parse(first), f.format.Parse(p.last))
	}
	p.last = first + ID(n) - 1
}

// run lets the fleet live. Then everything is repaired, and all generators must recover.
func (f *slotFleet) run(events int) error {
	for range events {
		f.event(f.hosts[f.rnd.IntN(len(f.hosts))])
		if f.err != nil {
			return f.err
		}
	}
	if f.broken == "" {
		f.recover()
	}
	for _, h := range f.hosts {
		if h.process != nil {
			f.crash(h)
		}
	}
	if f.err == nil && f.only != "simulation" {
		f.report = f.ledger.Check()
		if len(f.report.Violations) > 0 {
			f.fail("ledger", "%v", f.report)
		}
	}
	return f.err
}

// recover repairs everything. A generator whose own clock is off is restarted. Then each must give UIDs within
// the time that a change of history costs at most, unless another holds its fixed worker ID or the pool is full.
func (f *slotFleet) recover() {
	f.down = false
	f.isNested = true // nothing interferes
	for len(f.delayed) > 0 {
		f.deliver()
	}
	f.fencedAt = f.clock
	waiting := map[*slotHost]bool{}
	for _, h := range f.hosts {
		h.offset, h.isOff, h.paused = 0, false, 0
		if h.process == nil {
			continue
		}
		if ahead := h.process.core.clock.Now().Sub(f.clock); ahead > time.Second || ahead < -time.Second {
			f.crash(h)
			continue
		}
		waiting[h] = true
	}
	for deadline := f.clock.Add(f.fencing + 2*f.horizon + f.skew + f.bound + time.Minute); len(waiting) > 0 && f.clock.Before(deadline); {
		f.clock = f.clock.Add(time.Second)
		for _, h := range f.hosts {
			if !waiting[h] {
				continue
			}
			stamped := f.units
			f.take(h.process, 1)
			h.process.runTasks(1 << 20)
			if f.units > stamped {
				delete(waiting, h)
			}
		}
	}
	for h := range waiting {
		// Which error it is, its manager knows.
		health := f.healthOf(h.process)
		if !errors.Is(health.Err, recycled.ErrPoolFull) && !errors.Is(health.Err, recycled.ErrSlotHeld) && h.fixed < 0 && f.fullPools == 0 {
			f.fail("recovery", "host %d gives no UIDs: %+v", h.number, health)
		}
	}
}

// healthOf returns the health of a process's generator.
func (f *slotFleet) healthOf(p *slotProcess) Health {
	if p.plain != nil {
		return p.plain.Health()
	}
	p.runs.readClock()
	_, err := p.runs.NextRun(f.ended)
	return Health{Err: err}
}

const slotFleetEvents = 500

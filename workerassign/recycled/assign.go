package recycled

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/workerassign"
)

const (
	minWindow  = 16   // how many free slots are read at first; one of them is chosen at random
	maxWindow  = 1024 // and at most: the window doubles with each lost race
	crowdRaces = 4    // after so many lost races slots are added although a few are free
	maxBatch   = 32   // how many slots are added in one write at most: etcd has a limit of 128 operations

	minRaceWindow = 10 * time.Millisecond // the greatest pause before the second try
	maxRaceWindow = 30 * time.Second
)

// describeProcess returns the host name and the process ID.
func describeProcess() (host, process string) {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return host, fmt.Sprint(os.Getpid())
}

// slotAssign is one call of Assign.
type slotAssign struct {
	recycled    *Assigner
	req         workerassign.Request
	log         *safelog.Queue
	beforeClaim func(Slot) error // nil: nothing
	tokens      []string         // of the claims of this call
	floorLogged bool             // whether this call has set a floor, and logged it

	lastLog time.Time // of logRetry

	search slotSearch
	races  raceCount
	adds   addCount
}

// leastHeldPause is the least pause shortly before the deadline of a slot that is held: a try takes some time, too.
const leastHeldPause = 100 * time.Millisecond

// run tries until it has a lease or ctx ends.
func (a *slotAssign) run(ctx context.Context) (workerassign.Lease, error) {
	pauses := backoff.Pauses{Initial: 10 * time.Millisecond, Maximum: time.Second}
	started := time.Now()
	var lastErr error
	for attempts := 1; ; attempts++ {
		lease, wait, err := a.try(ctx)
		switch {
		case lease != nil:
			return lease, nil
		case err != nil && !isTemporary(err):
			return nil, err
		case err != nil:
			if !isHeld(lastErr) || isHeld(err) || backoff.EndOf(ctx) == nil { // otherwise the end of ctx has ended a call
				lastErr = err
			}
			pause := pauses.After(min(attempts, 10))
			if deadline, ok := ctx.Deadline(); ok && isHeld(err) {
				left := time.Until(deadline)
				if wait > left {
					return nil, err // it would not become free in time
				}
				pause = max(min(pause, wait+rand.N(left-wait+1)), min(pause, leastHeldPause)) // another try comes in between
			}
			wait = max(wait, pause)
		}
		if isHeld(err) {
			wait = min(wait, time.Second) // a holder may release a slot earlier
		}
		if err != nil && ctx.Err() == nil { // otherwise it does not try again
			a.logRetry(attempts, err)
		}
		if wait > 0 && backoff.Sleep(ctx, wait) != nil || ctx.Err() != nil {
			if isHeld(lastErr) {
				return nil, lastErr
			}
			return nil, &workerassign.RetryError{Operation: "take a slot of the pool in " + a.recycled.store.String(), Attempts: attempts,
				Elapsed: time.Since(started), Cause: context.Cause(ctx), LastErr: lastErr,
				Advice: "check whether the store is up and accepts writes"}
		}
	}
}

// logRetry logs why there is no lease yet: the first time, and then at most every retryLogPeriod.
func (a *slotAssign) logRetry(attempts int, err error) {
	if now := time.Now(); a.lastLog.IsZero() || now.Sub(a.lastLog) >= retryLogPeriod {
		a.lastLog = now
		a.log.Log(slog.LevelWarn, "recycled: no slot was taken, trying again", "store", a.recycled.store.String(), "attempts", attempts, "err", err)
	}
}

// retryLogPeriod is the least time between two log records of one Assign that tries again.
const retryLogPeriod = 10 * time.Second

// try makes one attempt. Without a lease and without an error it is to be called again after wait.
func (a *slotAssign) try(ctx context.Context) (_ workerassign.Lease, wait time.Duration, err error) {
	a.races.begin()
	s, err := a.read(ctx)
	if err != nil {
		return nil, 0, err
	}
	if isReady, wait, err := a.preparePool(ctx, s); !isReady {
		return nil, wait, err
	}
	if a.recycled.cfg.workerID >= 0 {
		return a.takeFixed(ctx, s)
	}
	slot, free := a.choose(ctx, s)
	canAdd := s.Pool.First+s.Pool.Slots <= a.req.MaxWorkerID
	switch {
	case free > 0 && !(canAdd && a.isCrowded(s, free)):
		lease, err := a.take(ctx, s, slot)
		if lease == nil {
			a.search.widen(2)
		}
		return a.unlessLost(ctx, lease, err)
	case free == 0 && a.mayBeHidden(s):
		a.search.widen(8)
		return nil, 0, nil
	case canAdd:
		lease, err := a.add(ctx, s)
		return a.unlessLost(ctx, lease, err)
	}
	return a.waitForSlot(s)
}

// preparePool creates the pool if there is none, notes a new history of the store (R7), and checks whether the pool is for generators
// such as this one, which gives a pool of CreatePool its format. If it is not ready, try is to be called again after wait, or returns the error.
func (a *slotAssign) preparePool(ctx context.Context, s State) (isReady bool, wait time.Duration, err error) {
	isNoted := s.Pool.Revision != 0 && s.Pool.History == s.History
	if s.ReadOnly && !isNoted {
		return false, 0, temporary(fmt.Errorf("the server is read-only, and its history is not the one of the pool: it may be a replica: "+
			"make %s lead to the primary", a.recycled.store))
	}
	var written bool
	if s.Pool.Revision == 0 {
		if seen := a.recycled.seen.Load(); seen != nil {
			if err := a.recycled.cfg.covers(*seen); err != nil {
				return false, 0, err
			}
		}
		written, err = a.createMissing(ctx, s)
	} else {
		a.recycled.found(s.Pool)
		p := s.Pool
		p.Format = cmp.Or(p.Format, a.req.Format) // of CreatePool: the first generator's
		if err := a.checkPool(p); err != nil {
			return false, 0, err
		}
		switch {
		case !isNoted:
			written, err = a.recycled.noteHistory(ctx, a.log, s, p)
			a.floorLogged = written || a.floorLogged
		case p.Format != s.Pool.Format:
			p.Revision++
			written, err = a.recycled.store.Write(ctx, Write{History: s.History, Pool: &p, ReplacedPool: &s.Pool})
		default:
			return true, 0, nil
		}
	}
	if !written { // another process was faster, and the store may return an older state for a moment
		wait = a.races.pause(ctx, err)
	}
	return false, wait, temporary(err)
}

// unlessLost returns what try returns after a try to take or to add a slot: a pause if another was faster.
func (a *slotAssign) unlessLost(ctx context.Context, lease workerassign.Lease, err error) (workerassign.Lease, time.Duration, error) {
	if lease == nil {
		return nil, a.races.pause(ctx, err), err
	}
	return lease, 0, nil
}

// slotSearch is what an Assign knows of where free slots may be.
type slotSearch struct {
	window  int  // how many free slots to read; 0: minWindow
	readAll bool // whether to read all slots, because none seems to be free

	// The last error for a full pool, how many there were, and after how many tries to read all slots again.
	full  *PoolFullError
	reads int
	tries int
}

// free returns how many free slots to read.
func (f *slotSearch) free() int { return max(f.window, minWindow) }

// widen multiplies how many free slots are read, up to maxWindow.
func (f *slotSearch) widen(factor int) { f.window = min(factor*f.free(), maxWindow) }

// waitForSlot is called when no slot seems to be free, and none can be added. All slots are read before that is an error, but seldom:
// it costs a store as much as thousands of other reads, and many hosts may wait. A slot that was released meanwhile is found
// without it.
func (a *slotAssign) waitForSlot(s State) (_ workerassign.Lease, wait time.Duration, err error) {
	f := &a.search
	if !f.readAll {
		if f.tries--; f.tries >= 0 && f.full.NextFree.After(s.Now) {
			return nil, f.full.NextFree.Sub(s.Now), f.full
		}
		f.readAll = true // the store may not have found a free one
		return nil, 0, nil
	}
	f.readAll = false
	if workerID, ok := missingSlot(s); ok {
		return nil, 0, missingSlotError(s.Pool, workerID)
	}
	f.full = a.fullError(s)
	f.tries = 1<<min(f.reads, 5) - 1
	f.reads++
	return nil, max(f.full.NextFree.Sub(s.Now), time.Millisecond), f.full
}

// mayBeHidden reports whether released slots may lie behind others: for a grace after a start of the store only
// released slots may be taken, and the store returns those first whose FreeAt is the earliest.
func (a *slotAssign) mayBeHidden(s State) bool {
	inGrace := s.Pool.Since.Add(a.recycled.cfg.grace(s.Pool)).After(s.Now)
	return inGrace && len(s.Slots) >= a.search.free() && a.search.free() < maxWindow
}

// isCrowded reports whether so many processes compete for the last free slots that it is better to add some. When the
// slots are added, fewer than minWindow are free, because others that add slots write the pool's record too. So a
// crowd adds at most minWindow + 2 × maxBatch slots more than it takes: the slots of a batch that was added a moment ago
// begin at the store's clock, rounded up, and are not free yet. The read must have asked for more than minWindow: a store
// may have left out free slots of a smaller number. It is not crowded if the store knows of more free slots.
func (a *slotAssign) isCrowded(s State, free int) bool {
	return a.races.lost >= crowdRaces && free < minWindow && a.search.free() > minWindow && len(s.Slots) < a.search.free() && !s.MoreFree
}

// raceCount is how many times another process was faster.
type raceCount struct {
	lost   int           // how many times another process took the slot, or added slots, first
	began  time.Time     // when the last try began
	window time.Duration // the greatest pause
}

// begin is called when a try begins.
func (r *raceCount) begin() { r.began = time.Now() }

// pause returns a random pause after another process was faster. Its maximum doubles with each lost race, so
// that many hosts which start at the same time spread over the time that the store requires for them.
//
// The maximum is also at least four times as long as the try took. If thousands of hosts start, their calls wait for
// each other at the server, so that each state is old when its write arrives, and only one write of a whole
// queue succeeds. A slow read or write shows that queue. The longer pauses empty it. The pause ends before the deadline,
// but not long before: short pauses of thousands of hosts, whose deadlines are the same, would fill the queue again.
//
// After an error of the store nobody was faster: run pauses then.
func (r *raceCount) pause(ctx context.Context, err error) time.Duration {
	if err != nil {
		return 0
	}
	r.lost++
	r.window = max(r.window, minRaceWindow<<min(r.lost, 7), min(4*time.Since(r.began), maxRaceWindow))
	window := r.window
	if deadline, ok := ctx.Deadline(); ok {
		window = min(window, max(time.Until(deadline)/8*7, minRaceWindow))
	}
	return rand.N(window)
}

// batch returns how many slots to add: more after each lost race, because others require some too. A long pause
// shows a crowd.
func (r *raceCount) batch() int64 {
	if r.window > maxBatch*minRaceWindow {
		return maxBatch
	}
	return min(int64(1)<<min(r.lost, 5), maxBatch)
}

// read reads the pool and the slots that matter, and compares the clocks (R8).
func (a *slotAssign) read(ctx context.Context) (State, error) {
	cfg := &a.recycled.cfg
	q := Query{Name: cfg.name, Free: a.search.free(), All: a.search.readAll}
	if cfg.workerID >= 0 {
		q = Query{WorkerIDs: []int64{cfg.workerID}}
	}
	sent := a.req.Time()
	s, err := a.recycled.store.Read(ctx, q)
	if err != nil {
		return s, temporary(err)
	}
	if s.HostClock && a.req.Renewal { // the store may be a file, which is copied with the machine
		return s, fmt.Errorf("%w: %s, which has no clock of its own, may have been copied with this process: close the generator, and create another one with a store that this machine has no copy of",
			workerassign.ErrRenewal, a.recycled.store)
	}
	return s, a.recycled.checkClock(s, sent, a.req.Time())
}

// checkClock compares the store's clock, in the answer to a read, with this host's at the time of the request and
// of the answer (R8).
func (r *Assigner) checkClock(s State, sent, received time.Time) error {
	bound := r.cfg.clockBound
	if !s.HostClock && (s.Now.Before(sent.Add(-bound)) || s.Now.After(received.Add(bound))) {
		return fmt.Errorf("%w: this host's clock shows %s, and the store's %s; must not differ by more than %v: set the clock of the host or of the store; if both are right, restart this process, whose clock was ahead",
			ErrClockSkew, received.UTC().Format(time.RFC3339Nano), s.Now.UTC().Format(time.RFC3339Nano), bound)
	}
	return nil
}

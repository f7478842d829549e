package leasing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/workerassign"
)

// HeldLease is a lease that a generator holds, counted in time units. The assigner keeps invariant 1.
// The generator's part of it is to stamp no unit before First, none that is not granted, and none
// twice. All methods are safe for concurrent use.
type HeldLease struct {
	lease    workerassign.Lease
	manager  *Manager
	workerID int64
	first    int64 // the first unit that the lease allows

	grant atomic.Pointer[grant] // what reserve has reached last; nil before

	group *leaseGroup // is dropped as a whole
	void  atomic.Bool // Reserve or Release has returned ErrVoid

	extending retryTask
	asked     atomic.Int64    // the unit for which extending was started last
	ctx       context.Context // ends when the lease is released
	cancel    context.CancelFunc
}

// A grant is the result of a call of Reserve. It is not changed: another call replaces it.
type grant struct {
	end     int64 // the first unit that is not granted; that of a later grant is not less
	askAt   int64 // the unit from which on more time must be reserved
	refused int64 // if not 0, the unit after the one that was requested and not granted
	denied  bool  // that unit had started
	waitFor int64 // the unit that the clock must reach before a bounded lease can grant more; 0: ask at once

	// How many units beyond the clock a grant can reach, if it is bounded (rule R6 of recycled leases).
	bounded bool
	horizon int64

	// How many worker IDs the assigner had left when it granted this one, of how many; 0 if that is
	// not known.
	remaining, total int64
}

// lastGrant returns the grant of the last call of Reserve, or one of nothing.
func (h *HeldLease) lastGrant() grant {
	if g := h.grant.Load(); g != nil {
		return *g
	}
	return grant{}
}

// NewHeldLease returns a lease that no assigner granted, for tests.
func NewHeldLease(workerID, first int64) *HeldLease {
	return &HeldLease{workerID: workerID, first: first, group: &leaseGroup{}}
}

// A leaseGroup is what a generator drops at once: all leases that it has taken since it dropped some last, because a copy of this
// process may have each of them. It has its own task, so that what an assigner does for a group that was dropped delays no other.
type leaseGroup struct {
	dropped atomic.Pointer[error] // why nothing may be stamped any more; nil: the leases are not dropped
	ctx     context.Context       // ends when they are dropped
	cancel  context.CancelFunc

	assigning retryTask   // takes the next lease
	isRenewal bool        // Renew has dropped the leases before these, and none was taken since
	taken     atomic.Bool // the next lease was taken, at least once
	void      atomic.Bool // a lease was found void before they were dropped
}

// WorkerID returns the worker ID.
func (h *HeldLease) WorkerID() int64 { return h.workerID }

// First returns the first unit that may be stamped.
func (h *HeldLease) First() int64 { return h.first }

// Granted returns the first unit that is not granted. It never decreases, but when the lease is dropped: then it is 0.
func (h *HeldLease) Granted() int64 {
	if h.IsDropped() {
		return 0
	}
	return h.lastGrant().end
}

// IsDropped reports whether nothing may be stamped with the lease any more, although time was granted.
func (h *HeldLease) IsDropped() bool { return h.group.dropped.Load() != nil }

// IsRenewed reports whether the lease was dropped by Renew, and not because it is void.
func (h *HeldLease) IsRenewed() bool {
	err := h.group.dropped.Load()
	return err != nil && *err == ErrRenewed
}

// Denied reports whether the assigner did not grant a unit that had started: the lease is lost, or the
// store's clock is behind.
func (h *HeldLease) Denied() bool { return h.lastGrant().denied }

// IsRefused reports whether a unit up to and including the given one was requested and not granted.
func (h *HeldLease) IsRefused(unit int64) bool {
	refused := h.lastGrant().refused
	return refused != 0 && refused <= unit+1
}

// IsAskedBefore reports whether the task that extends the lease was started for a unit before the given one.
func (h *HeldLease) IsAskedBefore(unit int64) bool { return h.asked.Load() < unit }

// MaxAhead returns how many units ahead of the clock may be stamped: limit, or fewer if the lease is
// bounded. Then what is requested for the last of these units (see reserve) can be granted: the horizon
// is at least the units ahead, 1.5 times what is reserved ahead of need, and one unit.
func (h *HeldLease) MaxAhead(limit int64) int64 {
	g := h.lastGrant()
	if !g.bounded {
		return limit
	}
	return min(limit, max(g.horizon-h.manager.unitsRequested(), 0))
}

// CoversReserve reports whether all that is requested for the present unit can be granted. If not, the time that is
// reserved ahead is shorter than configured.
func (h *HeldLease) CoversReserve() bool {
	g := h.lastGrant()
	return !g.bounded || g.horizon >= h.manager.unitsRequested()
}

// Horizon returns how many units beyond the clock a grant can reach. bounded is false if there is no such
// limit.
func (h *HeldLease) Horizon() (units int64, bounded bool) {
	g := h.lastGrant()
	return g.horizon, g.bounded
}

// Remaining returns how many worker IDs the assigner had left when it granted this one, of how many.
// A total of 0 means that this is not known.
func (h *HeldLease) Remaining() (remaining, total int64) {
	g := h.lastGrant()
	return g.remaining, g.total
}

// NextTry returns a channel that is closed after the next try to extend the lease.
func (h *HeldLease) NextTry() <-chan struct{} { return h.extending.nextTry() }

// request returns what a generator says about itself when it takes a lease of a group.
func (m *Manager) request(g *leaseGroup) workerassign.Request {
	return workerassign.Request{
		Now:          m.clock.Now,
		MaxWorkerID:  m.cfg.Layout.MaxWorkerID(),
		Format:       m.cfg.Format,
		ReserveAhead: m.cfg.ReserveAhead,
		Logger:       m.cfg.Logger,
		Renewal:      g.isRenewal && !g.taken.Load(),
	}
}

// assign takes a lease of a group, which is the current one before the call: a copy of this process that is made meanwhile has the
// lease too. It checks the lease against the layout, and releases one that does not fit.
func (m *Manager) assign(ctx context.Context, group *leaseGroup) (*HeldLease, error) {
	lease, err := m.assigner.Assign(ctx, m.request(group))
	if err != nil {
		if errors.Is(err, workerassign.ErrWidth) { // the next worker ID would be even greater
			return nil, fmt.Errorf("%w: %w", ErrWorkerID, m.cfg.Mask(err))
		}
		return nil, m.leaseError("no worker ID was assigned", err)
	}
	if lease == nil {
		return nil, m.leaseError("no worker ID was assigned", errors.New("the assigner returned neither a lease nor an error"))
	}
	h := &HeldLease{lease: lease, manager: m, workerID: lease.WorkerID(), group: group}
	layout := m.cfg.Layout
	if h.workerID < 0 || h.workerID > layout.MaxWorkerID() {
		err := fmt.Errorf("%w: worker ID is %d; must be 0 to %d for the %d worker bits of layout %v; no UID was issued; "+
			"choose a layout with more worker bits, and an epoch that keeps its UIDs apart from old ones",
			ErrWorkerID, h.workerID, layout.MaxWorkerID(), layout.WorkerBits(), layout)
		return nil, errors.Join(err, h.release(ctx, h.first))
	}
	if notBefore := lease.NotBefore(); !notBefore.IsZero() {
		h.first = m.clock.TimeBase().FirstDelta(notBefore, layout.MaxDelta())
		if h.first > layout.MaxDelta() {
			err := &tooLateError{workerID: h.workerID, notBefore: notBefore, layout: layout, base: m.clock.TimeBase()}
			return nil, errors.Join(err, h.release(ctx, h.first))
		}
	}
	return h, nil
}

// tooLateError reports a lease that begins after the end of the time bits. It is ErrLease and
// ErrTimeExhausted.
type tooLateError struct {
	workerID  int64
	notBefore time.Time
	layout    bitsalloc.Layout
	base      bitsalloc.TimeBase
}

// Error implements error.
func (e *tooLateError) Error() string {
	return fmt.Sprintf("%v: worker ID %d must not be used before %s: %v: layout %v ends at %s", ErrLease, e.workerID,
		e.notBefore.UTC().Format(time.RFC3339Nano), ErrTimeExhausted, e.layout, e.layout.End(e.base).Format(time.RFC3339))
}

// Is implements what errors.Is looks for.
func (e *tooLateError) Is(target error) bool { return target == ErrLease || target == ErrTimeExhausted }

// reserve requests that units from the given one on may be stamped: one and a half times as many as are
// to be reserved ahead of need. The grant may be less. More is requested when a quarter of the grant
// is used. If everything was granted, what then remains is the time to reserve ahead, and an eighth of
// it more for the pause before a try that succeeds when the store is up again.
//
// It is a failure if the unit is not granted although it has started: the store's clock is behind this
// host's, or another process holds the lease. Otherwise the generator waits for the clock.
func (h *HeldLease) reserve(ctx context.Context, unit int64, hasStarted bool) error {
	m := h.manager
	base := m.clock.TimeBase()
	requested := base.Time(min(unit+m.unitsRequested(), m.cfg.Layout.MaxDelta()+1))
	now := m.clock.Unit() // before the call, so that a wait is too short rather than too long
	granted, err := h.lease.Reserve(ctx, requested)
	if err != nil {
		return h.error(fmt.Sprintf("worker ID %d was not reserved up to %s", h.workerID, requested.Format(time.RFC3339Nano)), err)
	}
	end := m.cfg.Layout.MaxDelta() + 1
	if granted.Until.Before(workerassign.Unbounded()) { // the time bits may end later
		end = max(base.FirstDelta(granted.Until, m.cfg.Layout.MaxDelta()), h.lastGrant().end)
	}
	g := &grant{end: end, askAt: end - max(end-unit, 0)*3/4, bounded: granted.Horizon > 0, horizon: int64(granted.Horizon / base.Unit()),
		remaining: max(granted.Remaining, 0), total: granted.Total}
	if unit >= end {
		g.refused, g.denied = unit+1, hasStarted
		if g.bounded && !hasStarted {
			g.waitFor = max(unit+1-g.horizon, now+1+int64(retryBase/base.Unit()))
		}
	}
	h.grant.Store(g)
	if !g.denied {
		return nil
	}
	return fmt.Errorf("%w: worker ID %d is granted only up to %s, and it is %s already: check whether this host's clock is ahead of the store's, "+
		"and whether the lease was lost", ErrLease, h.workerID, granted.Until.UTC().Format(time.RFC3339Nano), base.Time(unit).Format(time.RFC3339Nano))
}

// error returns the generator's error for one that Reserve or Release has returned. If that says that what was granted is void,
// the generator drops its leases, unless it is being closed: then nothing is left to be dropped.
func (h *HeldLease) error(text string, cause error) error {
	m := h.manager
	err := m.leaseError(text, cause)
	if !errors.Is(cause, workerassign.ErrVoid) {
		return err
	}
	h.void.Store(true)
	if !h.IsDropped() && m.ctx.Err() == nil {
		if h.group.void.CompareAndSwap(false, true) { // two leases of a group may be found void at the same time
			m.voids.Add(1)
			m.cfg.Log.Log(slog.LevelError, "uid: the grant of a lease is void; all UIDs that were not taken are dropped, and another lease is taken",
				"worker_id", h.workerID, "err", err)
		}
		m.onVoid(h, err)
	}
	return err
}

// unitsRequested returns how many units are requested from the first one on that is required: that one,
// and one and a half times as many as are to be reserved ahead of need.
func (m *Manager) unitsRequested() int64 { return m.unitsAhead + (m.unitsAhead+1)/2 + 1 }

// awaitHorizon waits until a bounded lease can grant a unit that has not started, for a second at most,
// because the clock may step forward. It returns false if asking for the unit would be useless still.
func (h *HeldLease) awaitHorizon(ctx context.Context, unit, now int64) bool {
	m, waitFor := h.manager, h.lastGrant().waitFor
	if unit <= now || now >= waitFor {
		return true
	}
	if !m.cfg.Hooks.Pause(ctx, min(m.clock.Until(waitFor, m.clock.Elapsed()), maxHorizonWait-1)+1) {
		return false
	}
	now = m.clock.Unit()
	return unit <= now || now >= waitFor
}

// maxHorizonWait is the longest pause of awaitHorizon.
const maxHorizonWait = time.Second

// release releases the lease. used is the unit after the last one that was stamped, or First if none
// was.
//
// If the lease was dropped, a copy of this process may hold it, and nobody else may have it yet. So it is released only if the
// assigner has said that it is void: then Release changes nothing in the store.
func (h *HeldLease) release(ctx context.Context, used int64) error {
	if h.IsDropped() && !h.void.Load() {
		return nil
	}
	var until time.Time // nothing was stamped
	if used > h.first {
		until = h.manager.clock.TimeBase().Time(used)
	}
	if err := h.lease.Release(ctx, until); err != nil {
		return h.error(fmt.Sprintf("worker ID %d was not released", h.workerID), err)
	}
	return nil
}

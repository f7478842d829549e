// Package leasing is what a generator does about its leases: it takes them, extends them ahead of
// need, has the next one ready, and releases them. Calls of the assigner, which may block on a store,
// run in the background and are tried again when they fail. The package knows neither rings nor UIDs.
package leasing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/errmask"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/unitclock"
	"github.com/ringuid/ringuid/workerassign"
)

// Config is what a Manager needs to know about its generator. All fields but Hooks must be set.
type Config struct {
	Layout       bitsalloc.Layout
	Format       string        // layout, epoch and unit as text, for the assigner
	ReserveAhead time.Duration // how far ahead of need time is reserved
	Logger       *slog.Logger  // given to the assigner
	Log          *safelog.Queue

	// Mask returns an error in which errors.Is and errors.As find what they find in err, except for
	// the generator's own errors: an assigner may return one of those, which then has no meaning.
	Mask func(err error) error

	Hooks Hooks
}

// Hooks are how a Manager starts goroutines and pauses. A simulation replaces them.
type Hooks struct {
	Go    func(func())                                    // nil: a goroutine that Close waits for
	Pause func(ctx context.Context, d time.Duration) bool // after a try that failed; false ends the task; nil: Sleep
	Delay func(ctx context.Context, d time.Duration) bool // before the first try; nil: Sleep
}

// Manager holds the leases of one generator: the one in use and the next one. It makes one call for
// each lease at a time. Its methods are safe for concurrent use.
type Manager struct {
	cfg        Config
	clock      *unitclock.Clock
	assigner   workerassign.Assigner
	unitsAhead int64 // ReserveAhead in units
	notify     func()
	onVoid     func(*HeldLease, error)
	ctx        context.Context
	cancel     context.CancelFunc
	running    sync.WaitGroup

	next        atomic.Pointer[HeldLease] // taken in advance, not used yet
	dropping    sync.Mutex                // guards group; held while prepare compares it and stores next
	group       *leaseGroup               // of the lease in use, unless that was dropped, and of those that are taken
	shortLeases atomic.Int64              // the number of leases in a row that were lost soon after they were taken into use
	losses      atomic.Uint64             // the number of leases that were lost
	voids       atomic.Uint64             // the number of leases that were found void
}

// minHealthy is how long a lease must be held so that its loss does not count as the assigner's
// failure.
const minHealthy = time.Minute

// NewManager returns a manager that has no lease yet.
func NewManager(cfg Config, clock *unitclock.Clock, a workerassign.Assigner) *Manager {
	m := &Manager{
		cfg:        cfg,
		clock:      clock,
		assigner:   a,
		unitsAhead: int64(cfg.ReserveAhead / clock.TimeBase().Unit()),
		notify:     func() {},
		onVoid:     func(*HeldLease, error) {},
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.group = m.newGroup()
	m.SetHooks(cfg.Hooks)
	return m
}

// SetHooks replaces the hooks. No task may be running.
func (m *Manager) SetHooks(h Hooks) {
	if h.Go == nil {
		h.Go = m.running.Go
	}
	if h.Pause == nil {
		h.Pause = Sleep
	}
	if h.Delay == nil {
		h.Delay = Sleep
	}
	m.cfg.Hooks = h
}

// Go calls f in the background. Its ctx ends when Close begins, and Close waits for f to return.
func (m *Manager) Go(f func(ctx context.Context)) { m.cfg.Hooks.Go(func() { f(m.ctx) }) }

// OnChange sets a function that is called when a background task has changed something. It must be
// set before the first task starts.
func (m *Manager) OnChange(f func()) { m.notify = f }

// OnVoid sets a function that is called, in the background, when Reserve or Release of a lease h has returned an error that wraps
// workerassign.ErrVoid. h may be in use, the next one, or replaced already. err wraps ErrVoid and ErrLease. The function calls Drop,
// and drops what was generated. It must be set before the first task starts.
func (m *Manager) OnVoid(f func(h *HeldLease, err error)) { m.onVoid = f }

// Drop drops a lease and all others that were taken since the last Drop: from now on nothing is granted of the lease in use and
// the next one. A copy of this process may hold them, those that are being taken, and those that were replaced. So they are not
// released, and the store keeps them until they expire (see HeldLease.release). If h is dropped already, Drop does nothing, because
// the lease in use was taken later. For Renew, h is nil: whatever was taken is dropped, and err is ErrRenewed. The generator must not
// change its lease meanwhile. Drop does not block, and calls no user code.
func (m *Manager) Drop(h *HeldLease, err error) {
	m.dropping.Lock()
	defer m.dropping.Unlock()
	if h != nil && h.IsDropped() {
		return
	}
	was := m.group
	was.dropped.Store(&err)
	was.cancel()
	was.assigning.stop() // so that nobody who still has the group starts its task
	m.group = m.newGroup()
	m.group.isRenewal = h == nil || was.isRenewal && !was.taken.Load()
	if next := m.next.Swap(nil); next != nil {
		m.retireDropped(next)
	}
}

// newGroup returns the group of the leases that are taken from now on.
func (m *Manager) newGroup() *leaseGroup {
	g := &leaseGroup{}
	g.assigning.timeout = workerassign.DefaultTimeout // an assigner may make several tries of its own
	g.ctx, g.cancel = context.WithCancel(m.ctx)
	return g
}

// Dropped returns a channel that is closed at the next Drop, or when Close begins.
func (m *Manager) Dropped() <-chan struct{} { return m.currentGroup().ctx.Done() }

// currentGroup returns the group of a lease that is going to be taken.
func (m *Manager) currentGroup() *leaseGroup {
	m.dropping.Lock()
	defer m.dropping.Unlock()
	return m.group
}

// setNext stores a lease as the next one, unless it was dropped while it was being taken.
func (m *Manager) setNext(h *HeldLease) {
	m.dropping.Lock()
	defer m.dropping.Unlock()
	if h.IsDropped() {
		m.retireDropped(h)
		return
	}
	m.next.Store(h)
	h.group.taken.Store(true)
}

// retireDropped retires a lease that was dropped and never used.
func (m *Manager) retireDropped(h *HeldLease) {
	if !h.IsRenewed() {
		m.losses.Add(1)
	}
	m.Retire(h, h.first)
}

// Done returns a channel that is closed when Close begins.
func (m *Manager) Done() <-chan struct{} { return m.ctx.Done() }

// Cancel ends a manager that holds no lease.
func (m *Manager) Cancel() { m.cancel() }

// Acquire takes a lease and reserves what a generator needs of it at first. It blocks until that is
// done or failed, or ctx ends.
func (m *Manager) Acquire(ctx context.Context) (*HeldLease, error) {
	return m.acquire(ctx, m.currentGroup())
}

// acquire is Acquire for a group.
func (m *Manager) acquire(ctx context.Context, g *leaseGroup) (*HeldLease, error) {
	if unit, last := m.clock.Unit(), m.cfg.Layout.MaxDelta(); unit > last { // a worker ID would be used up for nothing
		return nil, fmt.Errorf("%w: it is time unit %d; must be at most %d for layout %v", ErrTimeExhausted, unit, last, m.cfg.Layout)
	}
	h, err := m.assign(ctx, g)
	if err != nil {
		return nil, err
	}
	h.ctx, h.cancel = context.WithCancel(h.group.ctx)
	h.extending.maxPause = func() time.Duration {
		if m.clock.Unit() < h.Granted() {
			return max(m.cfg.ReserveAhead/8, time.Millisecond) // see HeldLease.reserve
		}
		return MaxRetryPause
	}
	reserved := false
	defer func() {
		if !reserved { // also if the clock or the assigner panics
			m.release(h, h.first)
		}
	}()
	unit := m.clock.Unit()
	if err := h.reserve(ctx, max(unit, h.first), h.first <= unit); err != nil {
		return nil, err
	}
	reserved = true
	return h, nil
}

// RecordLoss records that a lease was lost, and how long it had been in use. If one lease after the
// other is lost, the pause before the next one is taken grows, because each may use up a worker ID.
func (m *Manager) RecordLoss(inUse time.Duration) {
	m.losses.Add(1)
	if inUse >= minHealthy {
		m.shortLeases.Store(0)
		return
	}
	m.shortLeases.Add(1)
}

// RecordRollover records that a lease was used until the borrow limit, so that no lease that is lost later counts as lost in a
// row with those before.
func (m *Manager) RecordRollover() { m.shortLeases.Store(0) }

// Losses returns how many leases were lost, including those that were lost before they were used.
func (m *Manager) Losses() uint64 { return m.losses.Load() }

// Voids returns how often a lease was found void, without those that were dropped before.
func (m *Manager) Voids() uint64 { return m.voids.Load() }

// Extend starts to extend a lease beyond a unit that is about to be stamped, if that is due. It does
// not block. It returns the error of the last try, if a task is running. If a bounded lease cannot grant
// the unit yet, the task waits for the clock and asks then.
func (m *Manager) Extend(h *HeldLease, unit int64) error {
	if err := h.group.dropped.Load(); err != nil {
		return *err
	}
	if unit < h.lastGrant().askAt || h.Granted() > m.cfg.Layout.MaxDelta() {
		return nil
	}
	if !h.extending.isRunning() {
		h.asked.Store(unit)
	}
	return m.run(h.ctx, &h.extending, "extend the lease", 0, func(ctx context.Context) (bool, error) {
		now := m.clock.Unit() // a unit that ended while tries failed is of no use any more
		if !h.awaitHorizon(ctx, unit, now) {
			return false, nil
		}
		now = m.clock.Unit()
		err := h.reserve(ctx, max(unit, now), unit <= now)
		return unit < h.Granted(), err
	})
}

// WhyNotGranted returns nil if a unit is granted, or if nothing is known that prevents it from being granted. Otherwise it returns why
// it is not, and whether the last try to extend the lease failed. It changes nothing.
func (m *Manager) WhyNotGranted(h *HeldLease, unit int64) (failed bool, err error) {
	if err := h.group.dropped.Load(); err != nil {
		return true, *err
	}
	extending, err := h.extending.state()
	switch {
	case unit < h.Granted():
		return false, nil
	case err != nil:
		return true, err
	case h.Denied():
		return true, errNotExtended
	case extending:
		return false, errNotExtended
	}
	return false, nil
}

// WhyNoNext returns the error of the last try to take the next lease, if one is being taken, or if that failed permanently.
func (m *Manager) WhyNoNext() error {
	_, err := m.currentGroup().assigning.state()
	return err
}

// errNotExtended is the error of WhyNotGranted for a lease that is being extended.
var errNotExtended = fmt.Errorf("%w: all of the granted time is used, and the assigner has not extended the lease yet", ErrLease)

// GrantedUntil returns the first unit that cannot be stamped without the assigner's store, and whether it
// would have to be granted: with the lease in use, and then with the next one, which may begin with the next unit.
func (m *Manager) GrantedUntil(h *HeldLease) (unit int64, bounded bool) {
	unit = h.Granted()
	if next := m.next.Load(); next != nil && !next.Denied() && next.first <= max(unit, m.clock.Unit()+1) {
		unit = max(unit, next.Granted())
	}
	return unit, unit <= m.cfg.Layout.MaxDelta()
}

// prepare starts to take the next lease, unless there is one. It returns the error of the last try, if
// a task is running or failed permanently.
func (m *Manager) prepare() error {
	return m.prepareUnless(m.currentGroup(), func() bool { return m.next.Load() != nil })
}

// prepareUnless starts to take the next lease, of a group, unless isThere reports that there is one.
func (m *Manager) prepareUnless(g *leaseGroup, isThere func() bool) error {
	t := &g.assigning
	t.mu.Lock()
	defer t.mu.Unlock()
	if isThere() { // under the lock, because the task before may just have taken it, and ended
		return nil
	}
	delay := retryPause(m.shortLeases.Load())
	if g.isRenewal && !g.taken.Load() {
		delay = 0
	}
	return m.runLocked(g.ctx, t, "take the next lease", delay, func(ctx context.Context) (bool, error) {
		h, err := m.acquire(ctx, g)
		switch {
		case err == nil:
			m.setNext(h)
		case errors.Is(err, ErrTimeExhausted): // the end of a lease, not of the generator
			err = fmt.Errorf("%w: no next lease: %w", ErrLease, m.cfg.Mask(err))
		case !errors.Is(err, ErrLease):
			err = fmt.Errorf("%w: no next lease: %w", ErrLease, err)
		}
		return true, err
	})
}

// AwaitTaken waits until a lease was taken since the last Drop. It has one taken if nobody has. It returns the error of the first try
// that fails, or of ctx if that ends first, or of the manager's if Close begins. In each case the task goes on until Close.
func (m *Manager) AwaitTaken(ctx context.Context) error {
	isEnded := ctx.Err() != nil // then nothing is awaited, and the error is that of ctx, however soon a try succeeds or fails
	for {
		g := m.currentGroup()
		tried := g.assigning.nextTry() // first, so that no try is missed
		if err := m.ctx.Err(); err != nil {
			return err
		}
		if err := m.prepareUnless(g, g.taken.Load); !isEnded && (err != nil || g.taken.Load()) {
			return err
		}
		select {
		case <-tried:
		case <-g.ctx.Done(): // dropped again
		case <-ctx.Done():
			return fmt.Errorf("uid: gave up waiting for another lease, which is still being taken: %w", m.cfg.Mask(errmask.Ended(ctx)))
		}
	}
}

// Next returns the next lease, or nil. Its first unit may not be granted yet.
func (m *Manager) Next() *HeldLease { return m.next.Load() }

// NextTry returns a channel that is closed after the next try to take a lease.
func (m *Manager) NextTry() <-chan struct{} { return m.currentGroup().assigning.nextTry() }

// Ready returns the next lease if the first unit to be stamped with it is granted; firstOf returns
// that unit. Otherwise it starts to take a lease, or to extend the one that was taken, and returns
// nil. It does not block. A next lease that is lost is released, and another one is taken.
//
// The error says why there is no lease. If a lease was taken and is being extended, tried is closed
// after the next try.
func (m *Manager) Ready(firstOf func(*HeldLease) int64) (h *HeldLease, tried <-chan struct{}, err error) {
	next := m.next.Load()
	if next == nil {
		return nil, nil, m.prepare()
	}
	first := firstOf(next)
	tried = next.NextTry()
	err = m.Extend(next, first)
	if first < next.Granted() {
		return next, nil, nil
	}
	if err != nil || next.Denied() {
		m.next.Store(nil)
		m.RecordLoss(0)
		m.Retire(next, next.first)
		return nil, nil, m.prepare()
	}
	return nil, tried, nil
}

// Use takes the next lease into use. Retire must be called for the one before.
func (m *Manager) Use() { m.next.Store(nil) }

// Retire releases, in the background, a lease that was replaced by another. used is the unit after the
// last one that was stamped with it.
func (m *Manager) Retire(h *HeldLease, used int64) {
	m.cfg.Hooks.Go(func() { m.release(h, used) })
}

// ReleaseTimeout is the longest time for which Close waits for a lease to be released.
const ReleaseTimeout = 5 * time.Second

// release ends the task of a lease and releases it. It logs a failure: the only consequence is a worker ID
// that is not used again.
func (m *Manager) release(h *HeldLease, used int64) error {
	h.cancel()
	h.extending.stopAndWait()
	_, err := within(context.Background(), ReleaseTimeout, func(ctx context.Context) (bool, error) {
		return true, h.release(ctx, used)
	})
	if err != nil {
		m.cfg.Log.Log(slog.LevelWarn, "uid: a lease was not released", "err", err)
	}
	return err
}

// Close stops all tasks and releases the lease in use and the next one. used is the unit after the
// last one that was stamped with h. No other method may be called any more. The error is that of
// releasing h.
func (m *Manager) Close(h *HeldLease, used int64) (err error) {
	m.cancel()
	var all sync.WaitGroup
	all.Go(func() { err = m.release(h, used) })
	all.Go(func() {
		m.currentGroup().assigning.stopAndWait()
		if next := m.next.Swap(nil); next != nil {
			m.release(next, next.first)
		}
	})
	all.Wait()
	m.running.Wait()
	m.cfg.Log.Flush(time.Second)
	return err
}

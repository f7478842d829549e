package uid

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// tenure is a generator's hold on one lease. With invariant 1 kept by the assigner, the
// generator's part is to stamp no unit below the floor, none that was not granted, and none
// twice.
type tenure struct {
	lease    workerassign.Lease
	format   Format
	workerID int64
	floor    int64 // the first unit that the lease allows
	left     int64 // how many worker IDs the assigner had left when it granted this one,
	all      int64 // of how many in all; 0 where that is not known

	granted atomic.Int64 // the first unit that may not be stamped; it only grows
	askAt   atomic.Int64 // the unit from which on more is to be asked for
	refused atomic.Int64 // if not 0, the unit after the last that was asked for and not granted
	denied  atomic.Bool  // a unit that had begun was asked for and not granted

	extending errand
	ctx       context.Context // ends with the tenure
	cancel    context.CancelFunc
}

// request is what a generator says of itself when it asks for a lease.
func (t *timeline) request(cfg config) workerassign.Request {
	return workerassign.Request{
		Now:         t.now,
		MaxWorkerID: t.format.layout.MaxWorkerID(),
		Format:      fmt.Sprintf("%v %s %v", t.format.layout, t.format.epoch.Format(time.RFC3339), t.format.unit),
		Logger:      cfg.logger,
	}
}

// assign takes a lease and checks it against the format. A lease that does not fit is given
// back.
func assign(ctx context.Context, a workerassign.Assigner, t *timeline, cfg config) (*tenure, error) {
	lease, err := a.Assign(ctx, t.request(cfg))
	if err != nil {
		if errors.Is(err, workerassign.ErrWidth) { // the next worker ID would be greater still
			return nil, fmt.Errorf("%w: %w", ErrWorkerID, maskedError{err: err})
		}
		return nil, leaseError("no worker ID was assigned", err)
	}
	if lease == nil {
		return nil, leaseError("no worker ID was assigned", errors.New("the assigner returned neither a lease nor an error"))
	}
	h := &tenure{lease: lease, format: t.format, workerID: lease.WorkerID()}
	if layout := t.format.layout; h.workerID < 0 || h.workerID > layout.MaxWorkerID() {
		err := fmt.Errorf("%w: %d is not from 0 to %d, what the %d worker bits of layout %v hold; "+
			"nothing was issued; a layout with more worker bits is needed, at an epoch that keeps old UIDs apart",
			ErrWorkerID, h.workerID, layout.MaxWorkerID(), layout.WorkerBits(), layout)
		return nil, errors.Join(err, h.release(ctx, h.floor))
	}
	if floor := lease.NotBefore(); !floor.IsZero() {
		h.floor = t.format.ceil(floor)
		if h.floor > t.format.layout.MaxDelta() {
			err := fmt.Errorf("%w: worker ID %d may not be used before %s: %w", ErrLease, h.workerID, floor.Format(time.RFC3339Nano),
				&timeExhaustedError{format: t.format, delta: h.floor})
			return nil, errors.Join(err, h.release(ctx, h.floor))
		}
	}
	// Now, because a generator asks no lease of the user's for it under a lock.
	if l, ok := lease.(workerassign.CountingLease); ok {
		left, all := l.Remaining(t.format.layout.MaxWorkerID())
		h.left, h.all = max(left, 0), all
	}
	return h, nil
}

// reserve asks that units from one on may be stamped, half as many again as are to be held ahead
// of need. The grant may be less. More is to be asked for when a quarter of it is used: where the
// whole was granted, that leaves what is to be held ahead, and an eighth of that for the pause
// before a try that comes when the store is up again.
//
// That the unit is not granted is a failure if it has begun: the store's clock is behind this
// host's, or the lease is another's. Else the clock is to be waited for.
func (h *tenure) reserve(ctx context.Context, unit, ahead int64, begun bool) error {
	end := min(unit+ahead+(ahead+1)/2, h.format.layout.MaxDelta()) + 1
	until, err := h.lease.Reserve(ctx, h.format.time(end))
	if err != nil {
		return leaseError(fmt.Sprintf("worker ID %d may not be used up to %s", h.workerID, h.format.time(end).Format(time.RFC3339Nano)), err)
	}
	granted := h.grant(h.format.ceil(until))
	h.askAt.Store(granted - max(granted-unit, 0)*3/4)
	h.refused.Store(0)
	h.denied.Store(unit >= granted && begun)
	if unit < granted {
		return nil
	}
	h.refused.Store(unit + 1)
	if !begun {
		return nil
	}
	return fmt.Errorf("%w: worker ID %d may be used only up to %s, and it is %s already: is this host's clock ahead of the store's, or the lease lost?",
		ErrLease, h.workerID, until.UTC().Format(time.RFC3339Nano), h.format.time(unit).Format(time.RFC3339Nano))
}

// grant notes up to where units may be stamped, which is never less than it was.
func (h *tenure) grant(first int64) int64 {
	for {
		old := h.granted.Load()
		if first <= old {
			return old
		}
		if h.granted.CompareAndSwap(old, first) {
			return first
		}
	}
}

// release gives the lease back; used is the unit after the last one that was stamped, or the
// floor where none was.
func (h *tenure) release(ctx context.Context, used int64) error {
	var until time.Time // nothing was stamped
	if used > h.floor {
		until = h.format.time(used)
	}
	if err := h.lease.Release(ctx, until); err != nil {
		return leaseError(fmt.Sprintf("worker ID %d was not given back", h.workerID), err)
	}
	return nil
}

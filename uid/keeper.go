package uid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// keeper does for a generator what may block on a store, in the background and ahead of
// need: it has leases extended and takes the next one. What it asks of one lease it asks one
// after the other.
type keeper struct {
	cfg      config
	time     *timeline
	assigner workerassign.Assigner
	ahead    int64  // how many units ahead of need to reserve
	changed  func() // called when an errand is done; set before the first one starts
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	// How errands run beside the generator, and how they pause. A simulation has its own ways.
	spawn func(func())
	pause func(context.Context, time.Duration) bool // after a try that failed
	delay func(context.Context, time.Duration) bool // before the first try

	assigning errand
	next      atomic.Pointer[tenure] // taken in advance, not used yet
	brief     atomic.Int64           // how many leases in a row were lost soon after they were taken
}

// lossPause is how long a lease has to be good so that its loss is not the assigner's failure.
const lossPause = time.Minute

func newKeeper(cfg config, t *timeline, a workerassign.Assigner) *keeper {
	k := &keeper{cfg: cfg, time: t, assigner: a, ahead: int64(cfg.reserve / t.format.unit), changed: func() {}}
	k.assigning.limit = workerassign.DefaultTimeout // an assigner may need several tries of its own
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.spawn, k.pause, k.delay = k.running.Go, sleep, sleep
	return k
}

// acquire takes a lease and reserves what a generator needs of it at first.
func (k *keeper) acquire(ctx context.Context) (*tenure, error) {
	h, err := assign(ctx, k.assigner, k.time, k.cfg)
	if err != nil {
		return nil, err
	}
	h.ctx, h.cancel = context.WithCancel(k.ctx)
	h.extending.longest = func() time.Duration {
		if k.time.unit() < h.granted.Load() {
			return max(k.cfg.reserve/8, time.Millisecond) // see tenure.reserve
		}
		return retryMax
	}
	unit := k.time.unit()
	if err := h.reserve(ctx, max(unit, h.floor), k.ahead, h.floor <= unit); err != nil {
		k.giveBack(h, h.floor)
		return nil, err
	}
	return h, nil
}

// noteLoss notes that a lease was lost which was taken into use so long ago. Where one lease after
// the other is lost, the pause before the next is taken grows: each may spend a worker ID.
func (k *keeper) noteLoss(after time.Duration) {
	if after >= lossPause {
		k.brief.Store(0)
		return
	}
	k.brief.Add(1)
}

// extend has a lease extended beyond a unit that is about to be stamped, if that is due. It
// returns why the last try failed, if one is under way.
func (k *keeper) extend(h *tenure, unit int64) error {
	if unit < h.askAt.Load() || h.granted.Load() > h.format.layout.MaxDelta() {
		return nil
	}
	return k.run(h.ctx, &h.extending, "extend the lease", 0, func(ctx context.Context) (bool, error) {
		now := k.time.unit() // a unit that has passed while tries failed is of no use any more
		err := h.reserve(ctx, max(unit, now), k.ahead, unit <= now)
		return unit < h.granted.Load(), err
	})
}

// prepare has the next lease taken, unless there is one. It returns why the last try failed,
// if one is under way or it was the last of all.
func (k *keeper) prepare() error {
	if k.next.Load() != nil {
		return nil
	}
	return k.run(k.ctx, &k.assigning, "take the next lease", retryPause(k.brief.Load()), func(ctx context.Context) (bool, error) {
		if k.next.Load() != nil { // the errand before this one has taken it, after it was looked for above
			return true, nil
		}
		h, err := k.acquire(ctx)
		switch {
		case err == nil:
			k.next.Store(h)
		case !errors.Is(err, ErrLease) || errors.Is(err, ErrTimeExhausted):
			err = fmt.Errorf("%w: no other can be had: %w", ErrLease, maskedError{err: err, visible: ErrWorkerID})
		}
		return true, err
	})
}

// retire gives back, in the background, a lease that was changed for another; used is the unit
// after the last one that was stamped with it.
func (k *keeper) retire(h *tenure, used int64) {
	k.spawn(func() { k.giveBack(h, used) })
}

// giveBack ends what is under way for a lease and gives it back. When that fails it logs it:
// the worker ID is lost, no more.
func (k *keeper) giveBack(h *tenure, used int64) error {
	h.cancel()
	h.extending.finish()
	_, err := k.attempt(context.Background(), closeTimeout, func(ctx context.Context) (bool, error) {
		return true, h.release(ctx, used)
	})
	if err != nil {
		k.cfg.log.Log(slog.LevelWarn, "uid: a lease was not given back", "err", err)
	}
	return err
}

// close stops what is under way and gives back the lease in use and the next one; used is the
// unit after the last one that was stamped. Nothing may be asked of the keeper any more.
func (k *keeper) close(h *tenure, used int64) (err error) {
	k.cancel()
	var all sync.WaitGroup
	all.Go(func() { err = k.giveBack(h, used) })
	all.Go(func() {
		k.assigning.finish()
		if next := k.next.Swap(nil); next != nil {
			k.giveBack(next, next.floor)
		}
	})
	all.Wait()
	k.running.Wait()
	k.cfg.log.Flush(time.Second)
	return err
}

package uid

import (
	"context"
	"errors"
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
	pause func(context.Context, time.Duration) bool

	assigning errand
	next      atomic.Pointer[tenure] // taken in advance, not used yet
}

func newKeeper(cfg config, t *timeline, a workerassign.Assigner) *keeper {
	k := &keeper{cfg: cfg, time: t, assigner: a, ahead: int64(cfg.reserve / t.format.unit), changed: func() {}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.spawn, k.pause = k.running.Go, sleep
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
	if err := h.reserve(ctx, max(k.time.unit(), h.floor), k.ahead, false); err != nil {
		k.giveBack(h)
		return nil, err
	}
	return h, nil
}

// extend has a lease extended beyond a unit that is about to be stamped, if that is due. It
// returns why the last try failed, if one is under way.
func (k *keeper) extend(h *tenure, unit int64) error {
	if unit < h.askAt.Load() || h.granted.Load() > h.format.layout.MaxDelta() {
		return nil
	}
	return k.run(h.ctx, &h.extending, "extend the lease", func(ctx context.Context) (bool, error) {
		err := h.reserve(ctx, unit, k.ahead, unit <= k.time.unit())
		return unit < h.granted.Load(), err
	})
}

// prepare has the next lease taken, unless there is one. It returns why the last try failed,
// if one is under way or it was the last of all.
func (k *keeper) prepare() error {
	if k.next.Load() != nil {
		return nil
	}
	return k.run(k.ctx, &k.assigning, "take the next lease", func(ctx context.Context) (bool, error) {
		h, err := k.acquire(ctx)
		switch {
		case err == nil:
			k.next.Store(h)
		case !errors.Is(err, ErrLease) || errors.Is(err, ErrTimeExhausted):
			err = leaseError("no other can be had", hidden{err})
		}
		return true, err
	})
}

// retire gives back, in the background, a lease that was changed for another.
func (k *keeper) retire(h *tenure) {
	k.spawn(func() { k.giveBack(h) })
}

// giveBack ends what is under way for a lease and gives it back. When that fails it logs it:
// the worker ID is lost, no more.
func (k *keeper) giveBack(h *tenure) error {
	h.cancel()
	h.extending.finish()
	_, err := k.attempt(context.Background(), closeTimeout, func(ctx context.Context) (bool, error) {
		return true, h.release(ctx, time.Time{})
	})
	if err != nil {
		k.cfg.logger.Warn("uid: a lease was not given back", "err", err)
	}
	return err
}

// close stops what is under way and gives back the lease in use and the next one. Nothing
// may be asked of the keeper any more.
func (k *keeper) close(h *tenure) (err error) {
	k.cancel()
	var all sync.WaitGroup
	all.Go(func() { err = k.giveBack(h) })
	all.Go(func() {
		k.assigning.finish()
		if next := k.next.Swap(nil); next != nil {
			k.giveBack(next)
		}
	})
	all.Wait()
	k.running.Wait()
	return err
}

// hidden is an error about the next lease that is not to be taken for the end of time, of which
// the lease in use knows nothing.
type hidden struct{ err error }

// Error implements error.
func (h hidden) Error() string { return h.err.Error() }

// Is finds ErrWorkerID alone.
func (h hidden) Is(target error) bool { return target == ErrWorkerID && errors.Is(h.err, ErrWorkerID) }

package uid

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

const (
	retryBase = 50 * time.Millisecond // the pause after a first failure; doubled by each more
	retryMax  = 30 * time.Second      // the longest pause
)

// keeper does for a generator what may block on a store, in the background and ahead of
// need: it has leases extended and takes the next one. Each kind of errand is run once at a
// time, and until it succeeds or the keeper stops.
type keeper struct {
	cfg      config
	time     *timeline
	assigner workerassign.Assigner
	ahead    int64  // how many units ahead of need to reserve
	changed  func() // called when an errand is done; set before the first one starts
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	// How errands run beside the generator, and how they pause: true when the pause is over,
	// false when the keeper stops. A simulation has its own ways.
	spawn func(func())
	pause func(time.Duration) bool

	extending, assigning errand
	next                 atomic.Pointer[tenure] // taken in advance, not used yet
}

// errand is a kind of thing that the keeper does.
type errand struct {
	mu      sync.Mutex
	running bool
	stopped bool  // it is not to be started any more
	err     error // why the last try failed, while the errand runs
}

// stop keeps an errand from being started. One that runs, close waits for.
func (e *errand) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
}

func newKeeper(cfg config, t *timeline, a workerassign.Assigner) *keeper {
	k := &keeper{cfg: cfg, time: t, assigner: a, ahead: int64(cfg.reserve / t.format.unit), changed: func() {}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.spawn, k.pause = k.running.Go, k.sleep
	return k
}

// sleep pauses, and tells whether the keeper goes on.
func (k *keeper) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-k.ctx.Done():
		return false
	}
}

// acquire takes a lease and reserves what a generator needs of it at first.
func (k *keeper) acquire(ctx context.Context) (*tenure, error) {
	h, err := assign(ctx, k.assigner, k.time)
	if err != nil {
		return nil, err
	}
	if err := h.reserve(ctx, max(k.time.unit(), h.floor)+k.ahead); err != nil {
		k.release(h)
		return nil, err
	}
	return h, nil
}

// extend has a lease extended beyond a unit that is about to be stamped, if that is due. It
// returns why the last try failed, if one is under way.
func (k *keeper) extend(h *tenure, unit int64) error {
	granted := h.granted.Load()
	if unit+k.ahead/2 < granted || unit < granted && h.short.Load() {
		return nil
	}
	if granted > h.format.layout.MaxDelta() {
		return nil // to the end of time
	}
	return k.run(&k.extending, "extend the lease", func(ctx context.Context) (bool, error) {
		err := h.reserve(ctx, unit+k.ahead)
		return unit < h.granted.Load(), err
	})
}

// prepare has the next lease taken, unless there is one. It returns why the last try failed,
// if one is under way.
func (k *keeper) prepare() error {
	if k.next.Load() != nil {
		return nil
	}
	return k.run(&k.assigning, "take the next lease", func(ctx context.Context) (bool, error) {
		h, err := k.acquire(ctx)
		if err == nil {
			k.next.Store(h)
		}
		return true, err
	})
}

// run starts an errand unless it is running, and returns why its last try failed. A try
// that works tells whether it changed anything.
func (k *keeper) run(e *errand, what string, try func(context.Context) (bool, error)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.running && !e.stopped {
		e.running = true
		k.spawn(func() {
			changed := k.persist(e, what, try)
			e.mu.Lock()
			e.running, e.err = false, nil
			e.mu.Unlock()
			if changed {
				k.changed()
			}
		})
	}
	return e.err
}

// persist tries until it works or the keeper stops, with growing pauses. It logs the first
// failure, and that it is over.
func (k *keeper) persist(e *errand, what string, try func(context.Context) (bool, error)) bool {
	for failures, pause := 0, retryBase; ; failures, pause = failures+1, min(2*pause, retryMax) {
		changed, err := try(k.ctx)
		if k.ctx.Err() != nil {
			return false
		}
		if err == nil {
			if failures > 0 {
				k.cfg.logger.Info("uid: recovered", "did", what, "failures", failures)
			}
			return changed
		}
		if failures == 0 {
			k.cfg.logger.Warn("uid: failed, trying again", "to", what, "err", err)
		}
		e.mu.Lock()
		e.err = err
		e.mu.Unlock()
		if !k.pause(pause) {
			return false
		}
	}
}

// retire gives back, in the background, a lease that was changed for another.
func (k *keeper) retire(h *tenure) {
	k.spawn(func() { k.release(h) })
}

// release gives a lease back, and logs it when that fails: its worker ID is lost, no more.
func (k *keeper) release(h *tenure) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := h.release(ctx)
	if err != nil {
		k.cfg.logger.Warn("uid: a lease was not given back", "err", err)
	}
	return err
}

// close stops what is under way and gives back the lease in use and the next one. Nothing
// may be asked of the keeper any more.
func (k *keeper) close(h *tenure) error {
	k.cancel()
	k.extending.stop()
	k.assigning.stop()
	k.running.Wait()
	if next := k.next.Swap(nil); next != nil {
		k.release(next)
	}
	return k.release(h)
}

package ringbuffer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// Ring is a bounded ring of runs. All its methods may be called by any number of goroutines
// at a time.
type Ring struct {
	// current is the run that takers are at: read by every take, written once a run, by the
	// taker that finds it spent. It is alone on its line, so that takers keep the line in
	// their caches for as long as a run lasts. It never is nil: a new ring starts at a run
	// of no length.
	current atomic.Pointer[slot]
	_       cpu.CacheLinePad

	// Written by New and Close only.
	cfg     Config
	mask    uint64
	low     uint64 // the padder is woken when so many runs are left, or fewer
	ctx     context.Context
	cancel  context.CancelFunc
	padding sync.WaitGroup // the padder's goroutine
	closed  atomic.Bool
	last    atomic.Pointer[slot] // what current was when Close came; for Stats

	// slots keeps run k at k & mask. A slot is written under the put lock and read by takers
	// that look for a successor; they know it by its number.
	slots []atomic.Pointer[slot]
	_     cpu.CacheLinePad

	// putLock is held by who puts: a send takes it, a receive gives it back. A channel, so
	// that a taker can wait for it and for other things at the same time.
	putLock chan struct{}
	tail    atomic.Uint64 // number of the run that was put last; written under the put lock
	total   uint64        // how many integers were put, modulo 2^64; under the put lock
	fresh   signal        // a run was put, or cannot be

	loggedAt time.Time // when an episode of failures was last logged; under the put lock
	logged   bool      // whether this one was

	wake    chan struct{}              // asks the padder to fill the ring; holds at most one
	kick    chan struct{}              // the same, and not to wait for a retry's time to come
	resting atomic.Bool                // the padder rests, and takers stand in for it
	rested  uint64                     // tail when it began to; the padder's own
	ended   atomic.Pointer[error]      // what the provider said when it was exhausted
	empty   atomic.Pointer[EmptyError] // why the ring is empty, if it is; never nil

	counts counts
}

// New makes a ring and, where the configuration has a provider, pads it for the first time
// and starts the padder. A provider that is not ready yet leaves the ring empty; one that
// fails before it has made a single run is an error. ctx bounds the first padding, not the ring's life:
// Close ends that.
func New(ctx context.Context, cfg Config) (*Ring, error) {
	r, err := newRing(cfg, 0)
	if err != nil {
		return nil, err
	}
	if cfg.Provider == nil {
		return r, nil
	}
	wait, err := r.fill(ctx, Initial)
	if err != nil && !r.hasRun() {
		r.cancel()
		return nil, err
	}
	r.advance(r.current.Load()) // so that the first take too finds a run
	r.padding.Go(func() { r.pad(wait) })
	return r, nil
}

// newRing makes a ring without a padder, whose first run has the number after start.
func newRing(cfg Config, start uint64) (*Ring, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Ring{
		cfg:     cfg,
		mask:    uint64(cfg.Capacity - 1),
		low:     cfg.threshold(),
		slots:   make([]atomic.Pointer[slot], cfg.Capacity),
		putLock: make(chan struct{}, 1),
		wake:    make(chan struct{}, 1),
		kick:    make(chan struct{}, 1),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.tail.Store(start)
	r.empty.Store(new(EmptyError))
	r.current.Store(&slot{number: start})
	return r, nil
}

// Close ends the ring: takes and puts return ErrClosed, waiting ones wake, the padder ends.
// It returns when no provider is being called any more. What was not taken is lost. Closing
// twice is harmless.
func (r *Ring) Close() error {
	if r.closed.CompareAndSwap(false, true) {
		// A taker that runs into the spent run looks at closed before it does anything else.
		r.last.Store(r.current.Swap(&slot{}))
		r.cancel()
		r.fresh.broadcast()
	}
	r.padding.Wait()
	r.putLock <- struct{}{} // whoever is putting is the last one
	<-r.putLock
	return nil
}

package ringbuffer

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/internal/safelog"
)

// Ring is a bounded ring of runs. All its methods may be called by any number of goroutines
// at a time. New or Init makes one; the methods of a nil or a zero Ring return an error that wraps
// ErrConfig, or nothing. It must not be copied.
type Ring struct {
	// current is the run that takers are at: read by every take, written once a run, by the
	// taker that finds it spent. It is alone on its line, so that takers keep the line in
	// their caches for as long as a run lasts. It is nil in a zero Ring only: a new one starts at a run
	// of no length.
	current atomic.Pointer[runState]
	_       cpu.CacheLinePad

	// Written by Init and Close only.
	cfg          Config
	indexMask    uint64
	lowWatermark uint64 // the padder is woken when so many runs are left, or fewer
	ctx          context.Context
	cancel       context.CancelFunc
	closed       atomic.Bool
	log          *safelog.Queue

	padderDone chan struct{} // closed when the padder has ended; nil where there is none

	testHookPublish func() // a test's, called by publish; nil otherwise

	// slots keeps run k at k & mask. A slot is written under the put lock and read by takers
	// that look for a successor; they know it by its number.
	slots []atomic.Pointer[runState]
	_     cpu.CacheLinePad

	// token is held by who calls the provider and puts what it returns, for as long as the provider
	// takes: nobody waits for it who has not asked for a run, but Close, for a while.
	providerLock   contextLock
	initializing   bool        // within Init; under the token, as the next four
	lastLogged     time.Time   // when an episode of failures was last logged
	failuresLogged bool        // whether this one was
	pendingRun     Run         // made by the provider and not put yet, if pending
	hasPendingRun  atomic.Bool // written under the token

	// putLock is held for the few stores of publish, and no code of the user's runs under it.
	putLock      contextLock
	tail         atomic.Uint64 // number of the run that was put last; written under the put lock
	totalPut     uint64        // how many integers were put, modulo 2^64; under the put lock
	runAvailable signal        // a run was put, or cannot be

	// promised is tail and how many runs have a place reserved: by the provider's next one, and
	// by each that is being put.
	reservedTail atomic.Uint64

	wakeRequests   chan struct{}              // asks the padder to fill the ring; holds at most one
	kickRequests   chan struct{}              // the same, and not to wait for a retry's time to come
	padderPaused   atomic.Bool                // the padder rests, and takers stand in for it
	tailAtPause    uint64                     // tail when it began to; the padder's own
	exhaustedError atomic.Pointer[error]      // what the provider said when it was exhausted
	lastEmptyError atomic.Pointer[EmptyError] // why the ring is empty, if it is; never nil

	counters counters
}

// New makes a ring and, where the configuration has a provider, pads it for the first time
// and starts the padder. A provider that is not ready yet leaves the ring empty; one that
// fails before it has made a single run is an error. ctx bounds the first padding, not the ring's life:
// Close ends that.
func New(ctx context.Context, cfg Config) (*Ring, error) {
	r := new(Ring)
	if err := r.Init(ctx, cfg); err != nil {
		return nil, err
	}
	return r, nil
}

// Init makes a zero Ring what New returns: for a ring that is a field of another struct, which saves
// each take the way through a pointer. It must be called once, before anything else. With an error
// the ring is closed, or still the zero value.
func (r *Ring) Init(ctx context.Context, cfg Config) error {
	if r == nil || r.initialized() {
		return fmt.Errorf("%w: Init of a ring that is nil, or was made before", ErrConfig)
	}
	if err := r.init(cfg, 0); err != nil {
		return err
	}
	if cfg.Provider == nil {
		return nil
	}
	r.initializing = true
	wait, err := r.fill(ctx, Initial)
	if err != nil && !r.hasRun() {
		r.Close()
		return err
	}
	r.initializing = false
	r.advance(r.current.Load()) // so that the first take too finds a run
	r.startPadder(wait)
	return nil
}

// startPadder starts the padder, which first pads after a while; 0 for when it is asked to.
func (r *Ring) startPadder(wait time.Duration) {
	r.padderDone = make(chan struct{})
	go r.runPadder(wait)
}

// newRing makes a ring without a padder, whose first run has the number after start.
func newRing(cfg Config, start uint64) (*Ring, error) {
	r := new(Ring)
	return r, r.init(cfg, start)
}

// init is newRing for a zero ring.
func (r *Ring) init(cfg Config, start uint64) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	r.cfg = cfg
	r.indexMask = uint64(cfg.Capacity - 1)
	r.lowWatermark = cfg.lowWatermark()
	r.slots = make([]atomic.Pointer[runState], cfg.Capacity)
	r.log = safelog.NewQueue(cfg.Logger)
	r.wakeRequests = make(chan struct{}, 1)
	r.kickRequests = make(chan struct{}, 1)
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.tail.Store(start)
	r.reservedTail.Store(start)
	r.lastEmptyError.Store(new(EmptyError))
	r.current.Store(&runState{index: start})
	return nil
}

// made reports whether New made the ring.
func (r *Ring) initialized() bool { return r != nil && r.current.Load() != nil }

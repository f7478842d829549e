package ringbuffer

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/internal/safelog"
)

// Ring is a bounded ring of runs. All methods except Init may be called concurrently. New returns a
// Ring, and Init initializes a zero Ring. On a nil or a zero Ring the other methods return an error
// that wraps ErrConfig, or do nothing. A Ring must not be copied.
type Ring struct {
	// current is the run that takers take from. Every take reads it. It is written once per run, by
	// the taker that finds the run used up. It is alone on its cache line, so that the line stays in
	// the caches of the takers' CPUs until the run is used up. It is nil only in a zero Ring. In a
	// new ring it is a run of length 0.
	current atomic.Pointer[runState]
	_       cpu.CacheLinePad

	// These fields are written only by Init and Close.
	cfg          Config
	indexMask    uint64
	lowWatermark uint64 // the padder is woken when this many runs are left, or fewer
	ctx          context.Context
	cancel       context.CancelFunc
	closed       atomic.Bool
	log          *safelog.Queue

	padderDone chan struct{} // closed when the padder has ended; nil if there is no padder

	testHookPublish func() // set by tests; publish calls it between its stores
	testHookWait    func() // set by tests; Wait calls it when it has found no run

	// slots[k & indexMask] holds the run with index k. A slot is written by the goroutine that has the
	// turn. Takers read it when they look for the successor of a run, and compare the index.
	slots []atomic.Pointer[runState]
	_     cpu.CacheLinePad

	// turn is held by the goroutine that puts a run: while it calls the provider and puts the run that
	// the provider returns, for as long as the provider takes; or while Put stores its run. Only
	// goroutines that want to put a run wait for it, and Drop, and Close, for a limited time.
	turn           contextLock
	initializing   bool          // Init is running; read in a turn, as the next two fields
	lastLogged     time.Time     // when a series of failures was last logged
	failuresLogged bool          // whether the current series of failures was logged
	tail           atomic.Uint64 // the index of the run that was put last; written in a turn
	totalPut       uint64        // how many integers were put, modulo 2^64; read and written in a turn
	runAvailable   signal        // a run was put, or the provider has failed or is exhausted

	wakeRequests   chan struct{}              // requests to fill the ring; holds one at most
	kickRequests   chan struct{}              // the same, for requests that do not wait for a retry
	padderPaused   atomic.Bool                // the padder pauses, and takers put runs in its place
	tailAtPause    uint64                     // tail when the pause began; used only by the padder
	exhaustedError atomic.Pointer[error]      // the provider's error once it is exhausted
	lastEmptyError atomic.Pointer[EmptyError] // the error for takes of an empty ring; never nil

	counters counters
}

// New returns a new ring. If the configuration has a provider, New fills the ring and starts the
// padder. If the provider has no run yet, the ring stays empty. If the provider fails before it has
// returned any run, New returns its error. ctx limits only this first padding. The ring works until
// Close is called.
func New(ctx context.Context, cfg Config) (*Ring, error) {
	r := new(Ring)
	if err := r.Init(ctx, cfg); err != nil {
		return nil, err
	}
	return r, nil
}

// Init initializes a zero Ring as New does. It is for a ring that is a field of another struct,
// which saves one pointer dereference for each take. It must be called once, before any other
// method. If it fails, the ring is closed or is still the zero value.
func (r *Ring) Init(ctx context.Context, cfg Config) error {
	if r == nil || r.initialized() {
		return fmt.Errorf("%w: the ring is nil or already initialized; call Init once, on a zero Ring", ErrConfig)
	}
	if err := r.init(cfg, 0); err != nil {
		return err
	}
	if cfg.Provider == nil {
		return nil
	}
	works := false
	defer func() {
		if !works { // also if the provider panics
			r.Close()
		}
	}()
	r.initializing = true
	delay, err := r.fill(ctx, &r.counters.paddings.initial)
	if err != nil && !r.hasRun() {
		return err
	}
	r.initializing = false
	r.advance(r.current.Load()) // so that even the first TryTake succeeds
	r.startPadder(delay)
	works = true
	return nil
}

// startPadder starts the padder. Its first padding comes after delay; 0 means when it is woken.
func (r *Ring) startPadder(delay time.Duration) {
	r.padderDone = make(chan struct{})
	go r.runPadder(delay)
}

// init initializes a zero ring without a padder. The index of its first run is start+1.
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
	r.lastEmptyError.Store(new(EmptyError))
	r.current.Store(&runState{index: start})
	return nil
}

// initialized reports whether New or Init has initialized the ring.
func (r *Ring) initialized() bool { return r != nil && r.current.Load() != nil }

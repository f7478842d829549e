package uid

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// A Generator makes UIDs. Its methods may be called by any number of goroutines at a time.
type Generator interface {
	// Next returns a UID that nobody else has. What it waits for, if anything, and which
	// errors it returns is the implementation's; after Close it returns ErrClosed. With an
	// error there is no UID.
	Next() (ID, error)

	// NextN fills dst with UIDs from the front, in rising order unless the lease changes in
	// between, and returns how many there are: len(dst), or fewer and an error.
	NextN(dst []ID) (int, error)

	// Parse takes a UID of this generator's format apart.
	Parse(id ID) Parts

	// Close ends the generator and gives its lease back: Next returns ErrClosed, calls that
	// wait wake, and nothing goes on in the background. Closing twice is harmless.
	Close() error
}

const (
	// closeTimeout is how long Close waits for a lease to be given back.
	closeTimeout = 5 * time.Second

	// closeWait is how long Close waits in all. Code of the user's that takes longer, or that
	// has called Close itself, is not waited for.
	closeWait = closeTimeout + time.Second
)

// closing runs what Close does, once, and lets any number of callers wait for it.
type closing struct {
	once sync.Once
	done chan struct{}
	err  error
}

func newClosing() *closing { return &closing{done: make(chan struct{})} }

// run starts work, if nobody has, and waits until it is done, for closeWait at most.
func (c *closing) run(work func() error) error {
	c.once.Do(func() {
		go func() {
			defer close(c.done)
			c.err = work()
		}()
	})
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-c.done:
		return c.err
	case <-timer.C:
		return fmt.Errorf("%w after %v: it hangs, or Close was called from within it", ErrBusy, closeWait)
	}
}

// yearLeft is how long before the end of the time bits a generator warns.
const yearLeft = 365 * 24 * time.Hour

// check tells whether UIDs can be made now: it returns an error that wraps ErrBeforeEpoch
// or ErrTimeExhausted if not, and warns when the end is near.
func (t *timeline) check(cfg config) error {
	f, now := t.format, t.now()
	if now.Before(f.epoch) {
		return fmt.Errorf("%w: it is %s, the epoch is %s; is the clock right?", ErrBeforeEpoch,
			now.UTC().Format(time.RFC3339), f.epoch.Format(time.RFC3339))
	}
	if d := f.delta(now); d > f.layout.MaxDelta() {
		return &timeExhaustedError{format: f, delta: d}
	}
	t.warn(cfg)
	return nil
}

// warn warns, once, when the end of the time bits is near.
func (t *timeline) warn(cfg config) {
	f := t.format
	if left := f.End().Sub(t.now()); left < yearLeft && !t.warned.Swap(true) {
		cfg.log.Log(slog.LevelWarn, "uid: the time bits end in less than a year; plan for another layout or epoch",
			"end", f.End(), "left", left.Round(time.Second), "layout", f.layout.String(), "epoch", f.epoch)
	}
}

// begin does what both constructors begin with: it checks everything that can be checked
// before a lease is taken, and takes one.
func begin(ctx context.Context, a workerassign.Assigner, opts []Option) (config, *keeper, *tenure, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return cfg, nil, nil, err
	}
	if a == nil {
		return cfg, nil, nil, fmt.Errorf("%w: the assigner is nil", ErrOption)
	}
	clock, err := newSteadyClock(cfg.clock)
	if err != nil {
		return cfg, nil, nil, err
	}
	t := newTimeline(clock, cfg.format)
	if err := t.check(cfg); err != nil {
		return cfg, nil, nil, err
	}
	k := newKeeper(cfg, t, a)
	var h *tenure
	if _, err = k.attempt(ctx, 0, func(ctx context.Context) (_ bool, err error) {
		h, err = k.acquire(ctx)
		return true, err
	}); err != nil {
		k.cancel()
		return cfg, nil, nil, err
	}
	if h.left < h.all/10 {
		cfg.log.Log(slog.LevelWarn, "uid: less than a tenth of the worker IDs is left; plan for a layout with more worker bits",
			"worker_id", h.workerID, "left", h.left, "layout", cfg.format.layout.String())
	}
	return cfg, k, h, nil
}

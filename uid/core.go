package uid

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/unitclock"
	"github.com/ringuid/ringuid/workerassign"
)

// core is what both kinds of generator have.
type core struct {
	cfg    config
	clock  *unitclock.Clock
	leases *leasing.Manager
	first  *leasing.HeldLease
	end    *endWarning
}

// newCore checks everything that can be checked before a lease is taken, and then takes one.
func newCore(ctx context.Context, a workerassign.Assigner, cfg config) (*core, error) {
	if a == nil {
		return nil, fmt.Errorf("%w: the assigner is nil; must not be nil", ErrOption)
	}
	clock := unitclock.New(cfg.clock, cfg.format.base)
	if err := cfg.format.check(clock.Now()); err != nil {
		return nil, err
	}
	c := &core{
		cfg:   cfg,
		clock: clock,
		end:   &endWarning{format: cfg.format, clock: clock, log: cfg.log},
		leases: leasing.NewManager(leasing.Config{
			Layout:       cfg.format.layout,
			Format:       cfg.format.String(),
			ReserveAhead: cfg.reserve,
			Logger:       cfg.logger,
			Log:          cfg.log,
			Mask:         mask,
		}, clock, a),
	}
	c.end.warn()
	var err error
	if c.first, err = c.leases.Acquire(ctx); err != nil {
		c.leases.Cancel()
		return nil, err
	}
	if remaining, total := c.first.Remaining(); remaining < total/10 {
		cfg.log.Log(slog.LevelWarn, "uid: less than a tenth of the worker IDs remains; plan a layout with more worker bits",
			"worker_id", c.first.WorkerID(), "remaining", remaining, "layout", cfg.format.layout.String())
	}
	return c, nil
}

// check returns an error that wraps ErrBeforeEpoch or ErrTimeExhausted if no UID can have the time now.
func (f Format) check(now time.Time) error {
	if now.Before(f.Epoch()) {
		return fmt.Errorf("%w: it is %s, and the epoch is %s; check the clock and the epoch", ErrBeforeEpoch,
			now.UTC().Format(time.RFC3339), f.Epoch().Format(time.RFC3339))
	}
	if d := f.base.Delta(now); d > f.layout.MaxDelta() {
		return &timeExhaustedError{format: f, delta: d}
	}
	return nil
}

// warnBefore is how long before the end of the time bits a generator logs a warning.
const warnBefore = 365 * 24 * time.Hour

// endWarning logs a warning, once, when the end of the time bits is near.
type endWarning struct {
	format Format
	clock  *unitclock.Clock
	log    *safelog.Queue
	warned atomic.Bool
}

// warn logs the warning if it is due.
func (w *endWarning) warn() {
	end := w.format.End()
	if left := end.Sub(w.clock.Now()); left < warnBefore && !w.warned.Swap(true) {
		w.log.Log(slog.LevelWarn, "uid: the time bits end in less than a year; plan another layout or epoch",
			"end", end, "left", left.Round(time.Second), "layout", w.format.layout.String(), "epoch", w.format.Epoch())
	}
}

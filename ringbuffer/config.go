package ringbuffer

import (
	"fmt"
	"log/slog"
	"time"
)

// DefaultPaddingFactor is the default of Config.PaddingFactor.
const DefaultPaddingFactor = 50

// The comment of Config.Capacity has these numbers too.
const (
	defaultCapacity = 8
	maxCapacity     = 1 << 20
)

// Config is the configuration of a ring. New checks it and keeps a copy.
type Config struct {
	// Provider generates the runs. If it is nil, Put fills the ring. A ring with a provider has no Put:
	// two sources would have to agree on which integers are theirs. Without a provider there is no padder, so
	// PaddingFactor, Interval, Stale, OnSchedule, BeforeRun and Assist have no effect, but are checked.
	Provider Provider

	// Capacity is the number of runs that the ring holds, including the current one: a power of
	// two from 1 to 1,048,576. 0 means 8.
	Capacity int

	// PaddingFactor is the threshold of the fill level, in percent of the capacity. The padder is
	// woken when the fill level falls below it. It must be 1 to 99. 0 means DefaultPaddingFactor.
	PaddingFactor int

	// Interval is the time between scheduled paddings. 0 turns them off.
	Interval time.Duration

	// Stale reports whether a run is too old to be handed out. Its argument is the first integer
	// of the run. If it returns false for an integer, it must return false for every greater one.
	// Scheduled padding drops stale runs and all runs in front of them. If Stale is nil, no run is
	// dropped. Only the padder calls it, so calls are never concurrent, and no lock is held
	// during the call.
	Stale func(first int64) bool

	// OnSchedule is called when a scheduled padding begins, after stale runs were dropped, so that
	// none of them is claimed afterwards. It is meant for code that keeps integers that it has
	// claimed, and must discard them when the ring discards its own. The padder calls it and holds
	// no lock. It must not block.
	OnSchedule func()

	// BeforeRun is called before each call of the provider, by the same goroutine, without any
	// lock. It is meant for the part of the provider's work that runs other code, for example to read
	// a clock that the user supplied. Several goroutines may call it concurrently, and a call of the
	// provider need not follow, because another goroutine may have put a run meanwhile. It must not
	// block. nil means that nothing is called.
	BeforeRun func()

	// Assist declares that the provider neither blocks nor takes long, so that takers may call it.
	// For a short time after the padder was woken, a taker that finds the fill level below the
	// threshold puts one run itself and does not wake the padder again. If Assist is false, such a
	// taker always wakes the padder.
	Assist bool

	// TakePolicy decides what a take does when the ring is empty. nil means CallerPads.
	TakePolicy TakePolicy

	// PutPolicy decides what Put does when the ring is full. nil means Discard. A ring with a provider
	// has no put policy.
	PutPolicy PutPolicy

	// Logger receives the records of failures: at most one for each series of failures and at most
	// one per minute, and one when a logged series is over. Its handler runs in a goroutine of its
	// own, so it may use the ring. A slow handler delays only Close, by at most a
	// second; a panic of it ends the process. nil means slog.Default().
	Logger *slog.Logger
}

// withDefaults returns the configuration with defaults for the fields that are not set, or an error
// that wraps ErrConfig.
func (c Config) withDefaults() (Config, error) {
	if c.Capacity == 0 {
		c.Capacity = defaultCapacity
	}
	if c.PaddingFactor == 0 {
		c.PaddingFactor = DefaultPaddingFactor
	}
	if c.BeforeRun == nil {
		c.BeforeRun = func() {}
	}
	if c.TakePolicy == nil {
		c.TakePolicy = CallerPads
	}
	switch {
	case c.Provider != nil && c.PutPolicy != nil:
		return c, fmt.Errorf("%w: the configuration has a provider and a put policy; a ring with a provider has no Put", ErrConfig)
	case c.Capacity < 1 || c.Capacity > maxCapacity || c.Capacity&(c.Capacity-1) != 0:
		return c, fmt.Errorf("%w: capacity is %d runs; must be a power of two from 1 to %d", ErrConfig, c.Capacity, maxCapacity)
	case c.PaddingFactor < 1 || c.PaddingFactor > 99:
		return c, fmt.Errorf("%w: padding factor is %d %%; must be 1 to 99", ErrConfig, c.PaddingFactor)
	case c.Interval < 0:
		return c, fmt.Errorf("%w: interval is %v; must be 0 (off) or more", ErrConfig, c.Interval)
	}
	if c.PutPolicy == nil {
		c.PutPolicy = Discard
	}
	return c, nil
}

// lowWatermark returns the padding factor in runs. It is rounded up, so that a small ring has a
// threshold too, and it is less than the capacity, so that a full ring is always above it.
func (c Config) lowWatermark() uint64 {
	return uint64(min((c.Capacity*c.PaddingFactor+99)/100, c.Capacity-1))
}

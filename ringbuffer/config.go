package ringbuffer

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// A Provider makes the runs that a ring is padded with.
//
// NextRun returns the next run. It is never called by two goroutines at once, nor after Close
// has returned, unless Close returned ErrBusy. It may block while it honours ctx, which Close
// cancels; takers of an empty ring wait for it, Put does not. It must not take from its own ring,
// which would wait for it. Its runs should be disjoint: what is in two runs is handed out twice.
// Its error says what hinders it: a *NotYetError (ask again later), one that wraps ErrExhausted
// (never again), or any other, which is counted, logged once an episode, and followed by another
// try. A panic counts as an error.
type Provider interface {
	NextRun(ctx context.Context) (Run, error)
}

// MaxCapacity is the greatest capacity of a ring, in runs.
const MaxCapacity = 1 << 20

// Defaults of a Config.
const (
	DefaultCapacity      = 8
	DefaultPaddingFactor = 50
)

// Config says what a ring is made of. New checks it and keeps a copy.
type Config struct {
	// Provider makes the runs. Without one the ring is filled by Put alone.
	Provider Provider

	// Capacity is the number of runs that the ring holds, counting one that is being taken
	// from: a power of two from 1 to MaxCapacity. 0 means DefaultCapacity.
	Capacity int

	// PaddingFactor is the fill level, in percent of the capacity, below which the padder
	// is woken: 1 to 99. 0 means DefaultPaddingFactor.
	PaddingFactor int

	// Interval is the time between scheduled paddings; 0 turns them off.
	Interval time.Duration

	// Stale tells of a run, by its first integer, whether it has grown too old to be handed
	// out; a greater one must not be stale where a lesser one is not. Scheduled padding drops
	// runs that are stale, and what lies before them; without Stale, nothing is dropped. It is
	// called by one goroutine at a time, the padder, and outside every lock.
	Stale func(first int64) bool

	// OnSchedule is called when a scheduled padding begins, before anything is dropped: for
	// those who keep what they claimed, and must not keep it for longer than the ring does.
	// It is called by the padder, outside every lock, and must not block.
	OnSchedule func()

	// BeforeRun is called before each call of the provider, by the goroutine that is about to
	// call it and outside every lock: for what a provider needs of other code, such as a reading
	// of the user's clock. Several goroutines may call it at once, and a call of the provider
	// need not follow: another goroutine may have put a run meanwhile. It must not block. nil
	// means nothing is called.
	//
	// A panic of BeforeRun, Stale or OnSchedule counts as a failure of the provider.
	BeforeRun func()

	// Assist says that the provider neither blocks nor takes long, so that takers may call
	// it: for a while after the padder was woken, a taker that finds the fill level below
	// the padding factor puts one run itself rather than wake the padder again. Without it
	// the padder is woken each time.
	Assist bool

	// TakePolicy says what a take does when the ring is empty. nil means CallerPads.
	TakePolicy TakePolicy

	// PutPolicy says what Put does when the ring is full. nil means Discard.
	PutPolicy PutPolicy

	// Logger gets a record of failures: one an episode, and of one episode a minute at most. Its
	// handler runs in a goroutine of its own, so it may use the ring, and what it does, panics
	// included, delays nobody but Close, for a second. nil means slog.Default().
	Logger *slog.Logger
}

// withDefaults returns the configuration with its gaps filled, or what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	if c.Capacity == 0 {
		c.Capacity = DefaultCapacity
	}
	if c.PaddingFactor == 0 {
		c.PaddingFactor = DefaultPaddingFactor
	}
	if c.TakePolicy == nil {
		c.TakePolicy = CallerPads
	}
	if c.PutPolicy == nil {
		c.PutPolicy = Discard
	}
	switch {
	case c.Capacity < 1 || c.Capacity > MaxCapacity || c.Capacity&(c.Capacity-1) != 0:
		return c, fmt.Errorf("%w: capacity is %d runs, a power of two from 1 to %d is needed", ErrConfig, c.Capacity, MaxCapacity)
	case c.PaddingFactor < 1 || c.PaddingFactor > 99:
		return c, fmt.Errorf("%w: padding factor is %d %%, 1 to 99 is needed", ErrConfig, c.PaddingFactor)
	case c.Interval < 0:
		return c, fmt.Errorf("%w: interval is %v, 0 (off) or more is needed", ErrConfig, c.Interval)
	}
	return c, nil
}

// threshold is the padding factor in runs, rounded up, so that a small ring has one too; a
// full ring is never at it.
func (c Config) lowWatermark() uint64 {
	return uint64(min((c.Capacity*c.PaddingFactor+99)/100, c.Capacity-1))
}

package uid

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/unitclock"
	"github.com/ringuid/ringuid/ringbuffer"
)

// TakePolicy is what a Cached generator does when its ring is empty. It is an interface, so a program can
// implement its own policy. Package ringbuffer describes how. No method will be added.
type TakePolicy = ringbuffer.TakePolicy

// The take policies of the library.
const (
	CallerPads = ringbuffer.CallerPads // the taker pads the ring itself; the default
	Wait       = ringbuffer.Wait       // the taker sleeps until the ring is padded
	Fail       = ringbuffer.Fail       // the taker gets ErrEmpty
)

// An Option sets one property of a Cached generator. The constructors check all options before they take a lease. The error joins one
// for each that is invalid, which wraps ErrOption and names the value and the bound.
type Option interface{ applyCached(*config) }

// A DefaultOption sets one property of a Default generator.
type DefaultOption interface{ applyDefault(*config) }

// A CommonOption sets one property of a generator of either kind.
type CommonOption interface {
	Option
	DefaultOption
}

// A FormatOption sets one property of the format of UIDs: of NewFormat, and of the generators.
type FormatOption interface {
	CommonOption
	applyFormat(*config)
}

type (
	option        func(*config) // of a Cached generator only
	defaultOption func(*config)
	commonOption  func(*config)
	formatOption  func(*config)
)

func (o option) applyCached(c *config)         { o(c) }
func (o defaultOption) applyDefault(c *config) { o(c) }
func (o commonOption) applyCached(c *config)   { o(c) }
func (o commonOption) applyDefault(c *config)  { o(c) }
func (o formatOption) applyCached(c *config)   { o(c) }
func (o formatOption) applyDefault(c *config)  { o(c) }
func (o formatOption) applyFormat(c *config)   { o(c) }

// config is the result of the options.
type config struct {
	format              Format
	boostPower          int
	factor              int
	interval            time.Duration
	staleness           time.Duration
	stalenessSet        bool
	borrow              time.Duration
	borrowSet           bool
	rollover            bool
	minRolloverInterval time.Duration
	reserve             time.Duration
	spread              int // bits
	rollback            RollbackPolicy
	take                TakePolicy
	logger              *slog.Logger
	log                 *safelog.Queue // writes to logger in a goroutine, because a handler may block or call the generator
	clock               Clock
	faults              []error // of all invalid options
}

// fail records that an option is invalid.
func (c *config) fail(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%w: "+format, append([]any{ErrOption}, args...)...))
}

// setTimeBase sets the epoch and the unit, if they are valid.
func (c *config) setTimeBase(epoch time.Time, unit time.Duration) {
	base, err := bitsalloc.NewTimeBase(epoch, unit)
	if err != nil {
		c.fail("%w", err)
		return
	}
	c.format.base = base
}

// defaultConfig returns the defaults.
func defaultConfig() config {
	c := config{
		format:     Format{layout: bitsalloc.Default()},
		boostPower: DefaultBoostPower,
		factor:     DefaultPaddingFactor,
		interval:   DefaultScheduleInterval,
		staleness:  DefaultMaxStaleness,
		borrow:     DefaultMaxBorrow,
		rollover:   true,
		reserve:    DefaultReserveAhead,
		rollback:   RideOut(),
		take:       CallerPads,
		clock:      unitclock.System{},
	}
	c.setTimeBase(DefaultEpoch(), time.Second)
	return c
}

// newConfig applies the options of a constructor to the defaults and checks the result. hasRing is whether it is that of Cached.
func newConfig[O any](opts []O, apply func(O, *config), hasRing bool) (config, error) {
	c := defaultConfig()
	options.Apply(opts, func(opt O) { apply(opt, &c) }, c.fail)
	if c.reserve < c.format.Unit() {
		c.fail("the time to reserve ahead is %v; must be at least the time unit, %v", c.reserve, c.format.Unit())
	}
	if bits := c.format.layout.SequenceBits(); c.spread >= bits {
		c.fail("the spread is %d bits; must be less than the %d sequence bits of the layout %v", c.spread, bits, c.format.layout)
	}
	if hasRing {
		c.checkStaleness()
		c.checkBorrow()
	}
	c.logger = cmp.Or(c.logger, slog.Default())
	c.log = safelog.NewQueue(c.logger)
	return c, errors.Join(c.faults...)
}

// checkStaleness checks the staleness bound against the interval of the scheduled padding, which
// enforces it.
func (c *config) checkStaleness() {
	// A run that is generated now, for a unit that started up to a unit ago, must outlast the interval.
	least := c.interval + 2*c.format.Unit()
	switch {
	case !c.stalenessSet:
		c.staleness = max(c.staleness, least)
	case c.interval == 0:
		c.fail("staleness bound is %v, but WithScheduleInterval(0) turns off the scheduled padding that enforces it", c.staleness)
	case c.staleness < least:
		c.fail("staleness bound is %v; must be at least %v, the schedule interval and two time units", c.staleness, least)
	}
}

// checkBorrow checks the borrow limit against the size of the ring: a full ring has borrowed time, and
// an idle generator must never reach the limit.
func (c *config) checkBorrow() {
	least := 2 * c.ringTime()
	switch {
	case !c.borrowSet:
		c.borrow = max(c.borrow, least)
	case c.rollover && c.borrow < least:
		c.fail("borrow limit is %v; must be at least %v, twice the time of a full ring at boost power %d: "+
			"otherwise one rollover would follow the other; raise it, reduce the boost power, or use WithRollover(false)",
			c.borrow, least, c.boostPower)
	}
}

// ringTime returns the time of a full ring.
func (c *config) ringTime() time.Duration { return c.format.Unit() << c.boostPower }

// newCachedConfig returns the configuration of a Cached generator.
func newCachedConfig(opts []Option) (config, error) {
	return newConfig(opts, Option.applyCached, true)
}

// newDefaultConfig returns the configuration of a Default generator.
func newDefaultConfig(opts []DefaultOption) (config, error) {
	return newConfig(opts, DefaultOption.applyDefault, false)
}

// NewFormat returns the format of generators with the same options, for programs that read UIDs and generate none.
func NewFormat(opts ...FormatOption) (Format, error) {
	cfg, err := newConfig(opts, FormatOption.applyFormat, false)
	return cfg.format, err
}

// CachedBounds returns the bounds that NewCached puts in force with the same options: how far a UID's time may lie behind the
// clock (WithMaxStaleness) and ahead of it (WithMaxBorrow). It is also a check of options: the error is the one that NewCached
// would return for them. A lease can lower the second bound.
func CachedBounds(opts ...Option) (staleness, borrow time.Duration, err error) {
	cfg, err := newCachedConfig(opts)
	return cfg.staleness, cfg.borrow, err
}

// CheckDefault returns the error that NewDefault would return for the same options.
func CheckDefault(opts ...DefaultOption) error {
	_, err := newDefaultConfig(opts)
	return err
}

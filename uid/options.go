package uid

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/ringbuffer"
)

// The defaults of the options.
const (
	DefaultBoostPower       = 3
	DefaultPaddingFactor    = ringbuffer.DefaultPaddingFactor
	DefaultScheduleInterval = time.Second
	DefaultMaxStaleness     = 3 * time.Second
	DefaultMaxBorrow        = time.Hour
	DefaultReserveAhead     = 30 * time.Second
)

// MaxBoostPower is the greatest boost power.
const MaxBoostPower = 16

// DefaultEpoch returns the epoch that is used where none is given: 2026-01-01T00:00:00Z.
func DefaultEpoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// Policies that a Cached generator can be given; each is described in package ringbuffer,
// and a policy of one's own is a value of the type.
type (
	TakePolicy = ringbuffer.TakePolicy
	PutPolicy  = ringbuffer.PutPolicy
)

// The policies that come with the library.
const (
	CallerPads = ringbuffer.CallerPads // the taker pads the ring itself; the default
	Wait       = ringbuffer.Wait       // the taker sleeps until the ring is padded
	Fail       = ringbuffer.Fail       // the taker gets ErrEmpty
	Discard    = ringbuffer.Discard    // a run that finds no place is logged and lost
)

// An Option sets one thing about a generator. The constructors check all of them before
// they assign anything; one that cannot be used is an error that wraps ErrOption and names
// the value and the bound. Options about the ring, the schedule and borrowing are checked
// by NewDefault too, which has no use for them, so that both generators can be made with
// the same options.
type Option func(*config)

// config is what the options come to.
type config struct {
	format       Format
	boostPower   int
	factor       int
	interval     time.Duration
	staleness    time.Duration
	stalenessSet bool
	borrow       time.Duration
	borrowSet    bool
	rollover     bool
	everyLease   time.Duration // between two rollovers at least
	reserve      time.Duration
	rollback     RollbackPolicy
	take         TakePolicy
	put          PutPolicy
	logger       *slog.Logger
	log          *safelog.Queue // writes to logger, where that must not be called
	clock        Clock
	err          error // the first that is wrong
}

// fail notes what is wrong with an option.
func (c *config) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{ErrOption}, args...)...)
	}
}

// newConfig applies the options to the defaults and checks what comes of them.
func newConfig(opts []Option) (config, error) {
	c := config{
		format:     Format{layout: bitsalloc.Default(), epoch: DefaultEpoch(), unit: time.Second},
		boostPower: DefaultBoostPower,
		factor:     DefaultPaddingFactor,
		interval:   DefaultScheduleInterval,
		staleness:  DefaultMaxStaleness,
		borrow:     DefaultMaxBorrow,
		rollover:   true,
		reserve:    DefaultReserveAhead,
		rollback:   RideOut(),
		take:       CallerPads,
		put:        Discard,
		clock:      systemClock{},
	}
	for _, opt := range opts {
		if opt == nil {
			c.fail("an option is nil")
			continue
		}
		opt(&c)
	}
	if c.reserve < c.format.unit {
		c.fail("reserving ahead by %v is less than the time unit, %v", c.reserve, c.format.unit)
	}
	c.checkStaleness()
	c.checkBorrow()
	c.logger = safelog.Wrap(c.logger)
	c.log = safelog.NewQueue(c.logger)
	return c, c.err
}

// checkStaleness checks the freshness bound against the interval that keeps it.
func (c *config) checkStaleness() {
	// A run made now, of a unit that began up to a unit ago, must outlast the interval.
	least := c.interval + 2*c.format.unit
	switch {
	case !c.stalenessSet:
		c.staleness = max(c.staleness, least)
	case c.interval == 0:
		c.fail("a bound on staleness (%v) needs scheduled padding, and WithScheduleInterval(0) turns it off", c.staleness)
	case c.staleness < least:
		c.fail("staleness bound %v is below %v, the schedule interval and two time units", c.staleness, least)
	}
}

// checkBorrow checks the bound on borrowing against the ring, which borrows by being full:
// an idle generator must never be at the bound.
func (c *config) checkBorrow() {
	least := 2 * c.ringSpan()
	switch {
	case !c.borrowSet:
		c.borrow = max(c.borrow, least)
	case c.rollover && c.borrow < least:
		c.fail("borrow bound %v is below %v, twice what the ring holds at boost power %d: "+
			"rollovers would follow each other; raise it, lower the boost power, or give WithRollover(false)",
			c.borrow, least, c.boostPower)
	}
}

// ringSpan is the time that a full ring holds.
func (c *config) ringSpan() time.Duration { return c.format.unit << c.boostPower }

// WithLayout sets the widths of a UID's fields. The default is bitsalloc.Default, 1-28-22-13.
// Every generator of a fleet needs the same one, and a change of it can make old UIDs come again:
// Move judges one.
func WithLayout(l bitsalloc.Layout) Option {
	return func(c *config) {
		if l.IsZero() {
			c.fail("the layout is the zero value; bitsalloc.New makes one")
			return
		}
		c.format.layout = l
	}
}

// WithEpoch sets the instant that time counts from: a whole second, which is kept in UTC,
// so that hosts in different time zones agree. The default is DefaultEpoch. Every generator
// of a fleet needs the same one, and a change of it can make old UIDs come again.
func WithEpoch(epoch time.Time) Option {
	return func(c *config) {
		switch {
		case epoch.IsZero():
			c.fail("the epoch is the zero time")
		case epoch.UTC().Year() < 1 || epoch.UTC().Year() > 9999:
			c.fail("epoch %s is not in the years 1 to 9999", epoch.UTC().Format(time.RFC3339))
		case epoch.Nanosecond() != 0:
			c.fail("epoch %s is not a whole second", epoch.Format(time.RFC3339Nano))
		default:
			c.format.epoch = time.Unix(epoch.Unix(), 0).UTC()
		}
	}
}

// WithTimeUnit sets the unit that time is counted in: a second, which is the default, or a
// part of one that divides it, of at least a millisecond (bitsalloc.MinUnit). Every generator
// of a fleet needs the same one, and a change of it can make old UIDs come again.
//
// A shorter unit needs more time bits for the same span of years, and has UIDs ordered by
// more exact times. A ring of the same boost power then spans less time.
func WithTimeUnit(unit time.Duration) Option {
	return func(c *config) {
		if unit < bitsalloc.MinUnit || unit > time.Second || time.Second%unit != 0 {
			c.fail("time unit is %v, a second or a part of one that divides it, of at least %v, is needed", unit, bitsalloc.MinUnit)
			return
		}
		c.format.unit = unit
	}
}

// WithTwitterLayout sets the layout 1-41-10-12 and the time unit of a millisecond, as
// Twitter's Snowflake has them. Its worker bits are five of a data centre and five of a
// worker: workerassign.Prefix puts the data centre's number into the upper ones. With ten
// bits there are 1,023 worker IDs in all, which are too few for disposable ones that are
// never used again.
func WithTwitterLayout() Option {
	return func(c *config) {
		layout, err := bitsalloc.New(41, 10, 12)
		if err != nil {
			c.fail("%v", err)
			return
		}
		c.format.layout, c.format.unit = layout, time.Millisecond
	}
}

// WithBoostPower sets the size of a Cached generator's ring: it holds 1 << power runs of
// one time unit each, which is 2^sequence bits << power UIDs. 0 to MaxBoostPower; the
// default is 3.
func WithBoostPower(power int) Option {
	return func(c *config) {
		if power < 0 || power > MaxBoostPower {
			c.fail("boost power is %d, 0 to %d is needed", power, MaxBoostPower)
			return
		}
		c.boostPower = power
	}
}

// WithPaddingFactor sets the fill level, in percent of the ring, below which it is padded.
// 1 to 99; the default is 50.
func WithPaddingFactor(percent int) Option {
	return func(c *config) {
		if percent < 1 || percent > 99 {
			c.fail("padding factor is %d %%, 1 to 99 is needed", percent)
			return
		}
		c.factor = percent
	}
}

// WithScheduleInterval sets the time between scheduled paddings, which drop what is stale.
// 0 turns them off, and then an idle generator's UIDs grow old. The default is a second.
func WithScheduleInterval(d time.Duration) Option {
	return func(c *config) {
		if d < 0 {
			c.fail("schedule interval is %v, 0 (off) or more is needed", d)
			return
		}
		c.interval = d
	}
}

// WithMaxStaleness bounds how far a UID's time lies behind the clock when it is taken,
// however idle the generator was: scheduled padding drops older ones. When the clock has stepped
// forward, or the process was stopped, UIDs may be older until the schedule comes round; and
// where that is late, by as much. At least the sum of the schedule interval and two time units;
// the default is 3 s, or that where it is more.
func WithMaxStaleness(d time.Duration) Option {
	return func(c *config) { c.staleness, c.stalenessSet = d, true }
}

// WithMaxBorrow bounds how far a UID's time may lie ahead of the clock. A Cached generator
// that gets there takes another lease, and so another worker ID, and starts again at now;
// with WithRollover(false) it gives out no more than the layout's rate from there on. At
// least twice what the ring holds, where it rolls over; the default is an hour, or that
// where it is more.
func WithMaxBorrow(d time.Duration) Option {
	return func(c *config) {
		if d < 0 {
			c.fail("borrow bound is %v, 0 or more is needed", d)
			return
		}
		c.borrow, c.borrowSet = d, true
	}
}

// WithRollover says whether a Cached generator at its bound on borrowing takes another
// lease. The default is true. A lease that was lost is replaced by another one in any case.
func WithRollover(on bool) Option {
	return func(c *config) { c.rollover = on }
}

// WithRolloverInterval bounds how many worker IDs a Cached generator can spend, whatever the
// load: it takes another lease into use at most once in d, counted from its start, unless one
// was lost. When the bound on borrowing is met earlier, it gives out the layout's rate until
// then. The default is 0: no such limit.
func WithRolloverInterval(d time.Duration) Option {
	return func(c *config) {
		if d < 0 {
			c.fail("rollover interval is %v, 0 (no limit) or more is needed", d)
			return
		}
		c.everyLease = d
	}
}

// WithReserveAhead sets how far ahead of need a generator reserves time of a lease that has
// an end, so that an outage of the assigner's store of that length goes unnoticed; 10 s less if
// its calls hang. It asks for half as much again, so that it need not ask all the time. It is UID
// time: at a multiple of the layout's rate it lasts that much less, and no more than one and a
// half of it is made for each call of the store. More than a call takes, and at least a time unit;
// the default is 30 s. It means nothing to the leases of NewDisposable and NewFile, which
// have no end, and of Static, which grants no future.
func WithReserveAhead(d time.Duration) Option {
	return func(c *config) { c.reserve = d }
}

// WithTakePolicy says what a Cached generator does when its ring is empty. The default is
// CallerPads.
func WithTakePolicy(p TakePolicy) Option {
	return func(c *config) {
		if p == nil {
			c.fail("the take policy is nil")
			return
		}
		c.take = p
	}
}

// WithPutPolicy says what a Cached generator does with a run that finds the ring full. Its
// own padding asks for room first, so that there is no such run. The default is Discard.
func WithPutPolicy(p PutPolicy) Option {
	return func(c *config) {
		if p == nil {
			c.fail("the put policy is nil")
			return
		}
		c.put = p
	}
}

// WithLogger sets where the generator logs its failures, its rollovers and the approach of its
// end: nothing per UID, and a failure once an episode. The assigner logs there too, unless it was
// given a logger of its own. The default is slog.Default(); slog.New(slog.DiscardHandler) is
// silence. The handler may take UIDs, block or panic: it runs in a goroutine of its own.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) {
		if l == nil {
			c.fail("the logger is nil")
			return
		}
		c.logger = l
	}
}

// WithClock sets the clock, for tests. The default is time.Now.
func WithClock(clock Clock) Option {
	return func(c *config) {
		if clock == nil {
			c.fail("the clock is nil")
			return
		}
		c.clock = clock
	}
}

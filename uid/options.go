package uid

import (
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/options"
)

// WithLayout sets the widths of a UID's fields. The default is bitsalloc.Default, 1-28-22-13. Every
// generator of a fleet must have the same layout. A change of the layout can generate old UIDs again:
// Move.Check checks a change.
func WithLayout(l bitsalloc.Layout) FormatOption {
	return formatOption(func(c *config) {
		options.Set(&c.format.layout, l, !l.IsZero(), c.fail, "the layout is the zero value; create one with bitsalloc.New")
	})
}

// WithEpoch sets the instant that time counts from: a whole second in the years 1 to 9999. It is kept
// in UTC, so that hosts in different time zones agree. The default is DefaultEpoch. Every generator of
// a fleet must have the same epoch. A change of the epoch can generate old UIDs again: Move.Check checks
// a change.
func WithEpoch(epoch time.Time) FormatOption {
	return formatOption(func(c *config) { c.setTimeBase(epoch, c.format.Unit()) })
}

// WithTimeUnit sets the unit that time is counted in: a second, which is the default, or a duration
// that divides a second and is at least a millisecond (bitsalloc.MinUnit). Every generator of a fleet
// must have the same unit. A change of the unit can generate old UIDs again: Move.Check checks a
// change.
//
// A shorter unit requires more time bits for the same number of years, and orders UIDs by more exact
// times. A ring of the same boost power then covers less time.
func WithTimeUnit(unit time.Duration) FormatOption {
	return formatOption(func(c *config) { c.setTimeBase(c.format.Epoch(), unit) })
}

// WithTwitterLayout sets the layout 1-41-10-12 and a time unit of a millisecond, as in Twitter's
// Snowflake. There, five of the worker bits are the data center and five the worker:
// workerassign.Prefix puts the number of the data center into the upper bits. Ten bits allow 1,023
// worker IDs, which are too few for disposable ones, because those are never used again.
func WithTwitterLayout() FormatOption { return preset(41, 10, 12, time.Millisecond) }

// WithJavaScriptLayout sets the layout 1-31-10-12 and a time unit of a second, whose IDs are at most MaxSafeInteger: a reader
// that keeps numbers as floating point, such as JavaScript, does not round them. So they can be JSON numbers, of type
// NumberID. The layout carries 68 years (with the default epoch until 2094), 1,024 worker IDs, and 4,096 UIDs per second and
// worker ID. Its ten worker bits are too few for disposable worker IDs, because those are never used again: use
// recycled.New.
//
// If strings are possible, prefer the default layout and the type ID, whose JSON is a string.
func WithJavaScriptLayout() FormatOption { return preset(31, 10, 12, time.Second) }

// preset sets a layout and a time unit.
func preset(timeBits, workerBits, sequenceBits int, unit time.Duration) FormatOption {
	return formatOption(func(c *config) {
		layout, err := bitsalloc.New(timeBits, workerBits, sequenceBits)
		if err != nil {
			c.fail("%v", err)
			return
		}
		c.format.layout = layout
		c.setTimeBase(c.format.Epoch(), unit)
	})
}

// WithBoostPower sets the size of a Cached generator's ring: 1 << power runs of one time unit each,
// which is 2^sequence bits << power UIDs. power must be 0 to MaxBoostPower; the default is 3.
func WithBoostPower(power int) Option {
	return option(func(c *config) {
		options.Set(&c.boostPower, power, power >= 0 && power <= MaxBoostPower, c.fail, "boost power is %d; must be 0 to %d", power, MaxBoostPower)
	})
}

// WithPaddingFactor sets the fill level, in percent of the ring, below which the ring is padded: 1 to
// 99; the default is 50.
func WithPaddingFactor(percent int) Option {
	return option(func(c *config) {
		options.Set(&c.factor, percent, percent >= 1 && percent <= 99, c.fail, "padding factor is %d %%; must be 1 to 99", percent)
	})
}

// WithScheduleInterval sets the time between scheduled paddings, which drop stale runs. 0 turns them
// off; then the UIDs of an idle generator become stale. The longest one is 365 days. The default is a second.
func WithScheduleInterval(d time.Duration) Option {
	const most = 365 * 24 * time.Hour // sums with it do not overflow
	return option(func(c *config) {
		options.Set(&c.interval, d, d >= 0 && d <= most, c.fail, "schedule interval is %v; must be 0 (off) to %v", d, most)
	})
}

// WithMaxStaleness limits how far a UID's time lies behind the clock when it is taken, even if the
// generator was idle: scheduled padding drops older runs. When the clock has stepped forward, or the
// process was stopped, UIDs may be older until the next scheduled padding. If a scheduled padding is
// late, UIDs may be older by that delay. d must be at least the sum of the schedule interval and two
// time units. The default is 3 s, or that sum if it is more.
func WithMaxStaleness(d time.Duration) Option {
	return option(func(c *config) { c.staleness, c.stalenessSet = d, true })
}

// WithMaxBorrow sets the borrow limit: how far a UID's time may lie ahead of the clock. A Cached
// generator that reaches it takes another lease, and so another worker ID, and resumes at the current
// time. With WithRollover(false) it continues at the layout's rate. If it rolls over, d must be at
// least twice the time of a full ring. The default is what the lease allows, and at most an hour, or twice
// the time of a full ring if that is more. A Default generator does not borrow.
//
// Grants with a horizon (workerassign.Grant), such as those of recycled.New, reach only as far as
// its horizon. With such a lease the borrow limit is at most the horizon less 1.5 times the time to reserve
// ahead (WithReserveAhead) and one time unit, and at least 0. The generator logs a warning if that is less
// than d, or if it can no longer roll over: if it is less than twice the time of a full ring. At the limit it
// then continues at the layout's rate, and its ring is not full. At 0 it does not borrow.
func WithMaxBorrow(d time.Duration) Option {
	return option(func(c *config) {
		if d < 0 {
			c.fail("borrow limit is %v; must be 0 or more", d)
			return
		}
		c.borrow, c.borrowSet = d, true
	})
}

// WithRollover sets whether a Cached generator at its borrow limit takes another lease. The default is
// true. A lease that was lost is always replaced by another one.
func WithRollover(on bool) Option {
	return option(func(c *config) { c.rollover = on })
}

// WithRolloverInterval limits how many worker IDs a Cached generator uses up, whatever the load: it
// takes another lease into use at most once in d, counted from its start, unless one was lost. If it
// reaches the borrow limit earlier, it continues at the layout's rate until then. The default is 0: no
// such limit.
func WithRolloverInterval(d time.Duration) Option {
	return option(func(c *config) {
		options.Set(&c.minRolloverInterval, d, d >= 0, c.fail, "rollover interval is %v; must be 0 (no limit) or more", d)
	})
}

// WithReserveAhead sets how far ahead of need a generator reserves time of a lease that has an end. An
// outage of the assigner's store then has no effect if it is no longer than d, or than d - 10 s if calls
// of the store hang meanwhile. The generator requests one and a half times as much, so that it calls
// the store less often.
//
// d is UID time, which passes faster when the generator borrows: at ten times the layout's rate, the
// reserved time lasts for a tenth of d. At most 1.5 × d of UID time is stamped for each call of the
// store. d must be at least a time unit, and should be longer than a call of the store takes. The
// default is 30 s. The option has no effect on leases of workerassign.NewDisposable and workerassign.NewFile,
// because they have no end, nor on those of workerassign.Static, which grants no time in advance.
func WithReserveAhead(d time.Duration) CommonOption {
	return commonOption(func(c *config) { c.reserve = d })
}

// WithSpread makes the sequence of each time unit begin at a number from 0 to 2^bits-1 that seems random, so that the
// remainders of UIDs by 2^bits are equally frequent at low rates too. Without it, a generator with a low rate uses only the
// lowest sequences: Default with at most one UID in a unit uses only the sequence 0, and so does Cached if each UID comes later than
// the bound of WithMaxStaleness after the one before. If the UIDs choose one of 16 shards by their remainder, all are in one shard.
//
// The cost is the sequences that are left out: at most 2^bits-1 of each unit, and half of that on average. With 4 bits and
// the default layout that is 0.1 % of what a generator can generate, and with 8 bits 1.6 %. bits must be less than the sequence
// bits of the layout; the default is 0, which is off. UIDs remain unique and in the same order. The generators of a
// fleet may have different values.
func WithSpread(bits int) CommonOption {
	return commonOption(func(c *config) {
		options.Set(&c.spread, bits, bits >= 0, c.fail, "the spread is %d bits; must be 0 (off) or more", bits)
	})
}

// WithTakePolicy sets what a Cached generator does when its ring is empty. The default is CallerPads.
func WithTakePolicy(p TakePolicy) Option {
	return option(func(c *config) {
		options.Set(&c.take, p, p != nil, c.fail, "the take policy is nil; must not be nil")
	})
}

// WithLogger sets where the generator logs failures, rollovers and the approach of the end of the time
// bits. It logs nothing per UID, and of repeated failures the first one. The assigner also logs there,
// unless it has a logger of its own. The default is slog.Default(). To log nothing, use
// slog.New(slog.DiscardHandler). The handler may take UIDs or block: it runs in a separate
// goroutine, in which a panic ends the process.
func WithLogger(l *slog.Logger) CommonOption {
	return commonOption(func(c *config) {
		options.SetLogger(&c.logger, l, c.fail)
	})
}

// WithClock sets the clock, for tests. The default is time.Now.
func WithClock(clock Clock) CommonOption {
	return commonOption(func(c *config) {
		options.Set(&c.clock, clock, clock != nil, c.fail, "the clock is nil; must not be nil")
	})
}

// WithRollback sets what a Default generator does when the wall clock is set back. A Cached one
// always behaves as with RideOut. Each step back is counted in Stats and logged once. The default is RideOut.
// WaitOut and Refuse read the wall clock at each Next, which makes it about two and a half times
// slower.
func WithRollback(p RollbackPolicy) DefaultOption {
	return defaultOption(func(c *config) {
		switch {
		case p.name == "":
			c.fail("the rollback policy is the zero value; use RideOut, WaitOut or Refuse")
		case p.bound < 0:
			c.fail("the bound of WaitOut is %v; must be 0 or more", p.bound)
		default:
			c.rollback = p
		}
	})
}

package segment

import (
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/ringbuffer"
)

// DefaultOutage is what OutageStep aims at by default.
const DefaultOutage = 10 * time.Minute

// Other defaults of the options, which have the numbers in their comments.
const (
	defaultCapacity   = 2 // as the two buffers of Leaf
	defaultMaxWait    = 3 * time.Second
	defaultTryTimeout = 5 * time.Second
	defaultMaxStep    = 100_000_000
)

// An Option configures a Sequence, or all those of a Tags or a Daily.
type Option interface {
	TagsOption
	DailyOption
	apply(*config)
}

type option func(*config)

func (o option) apply(c *config) { o(c) }

type config struct {
	capacity   int
	policy     StepPolicy
	window     time.Duration // of StepState.Recent
	maxStep    int64
	maxWait    time.Duration
	tryTimeout time.Duration
	takePolicy ringbuffer.TakePolicy // nil: the policy of WithTakePolicy's comment
	logger     *slog.Logger
	err        error // the first invalid option
}

func (c *config) fail(format string, args ...any) {
	options.SetError(&c.err, ErrOption, format, args...)
}

// newConfig returns the configuration of the options.
func newConfig(opts []Option) (config, error) {
	c := config{
		capacity:   defaultCapacity,
		policy:     OutageStep{Outage: DefaultOutage},
		window:     DefaultOutage,
		maxStep:    defaultMaxStep,
		maxWait:    defaultMaxWait,
		tryTimeout: defaultTryTimeout,
	}
	options.Apply(opts, func(o Option) { o.apply(&c) }, c.fail)
	return c, c.err
}

// WithCapacity sets how many ranges are kept in memory, with the current one: 2, 4, 8 or another power of two up to
// 1024. The next range is requested when one is used up. The default is 2. When the process ends, the numbers in
// memory are lost, as a gap. With OutageStep more ranges are shorter, so that more is left when the next one is
// requested, and the source is asked more often.
func WithCapacity(ranges int) Option {
	return option(func(c *config) {
		options.Set(&c.capacity, ranges, ranges >= 2 && ranges <= 1024 && ranges&(ranges-1) == 0, c.fail,
			"the capacity is %d ranges; must be a power of two from 2 to 1024", ranges)
	})
}

// WithStepPolicy sets how many numbers the next range has. The default is OutageStep with DefaultOutage.
func WithStepPolicy(p StepPolicy) Option {
	return option(func(c *config) {
		if p == nil {
			c.fail("the step policy is nil; must not be nil")
			return
		}
		outage := OutageStep{Outage: DefaultOutage}
		switch o := p.(type) { // not a type that embeds an OutageStep, and may have a Size of its own
		case OutageStep:
			outage = o
		case *OutageStep:
			if o == nil {
				c.fail("the step policy is a nil *OutageStep; must not be nil")
				return
			}
			outage = *o
		}
		if err := outage.check(); err != nil {
			c.fail("%v", err)
			return
		}
		c.policy, c.window = p, outage.Outage
	})
}

// WithMaxStep limits the size of a range that a step policy asks for: 1 to MaxStep. A tag's own step may be greater.
// The default is 100,000,000.
func WithMaxStep(n int64) Option {
	return option(func(c *config) {
		options.Set(&c.maxStep, n, n >= 1 && n <= MaxStep, c.fail, "the greatest step is %d; must be 1 to %d", n, int64(MaxStep))
	})
}

// WithMaxWait sets how long a call waits for the next range if no number is in memory, until it returns an
// *EmptyError: at least 0, which means that it does not wait. The default is 3 seconds. A shorter deadline of the
// call's context counts instead. A call of a Tags or a Daily may wait as long once more, if it opens the tag or the day.
func WithMaxWait(d time.Duration) Option {
	return option(func(c *config) {
		options.Set(&c.maxWait, d, d >= 0, c.fail, "the greatest wait is %v; must be at least 0", d)
	})
}

// WithTryTimeout sets how long one call of the source may take: at least a millisecond. The default is
// 5 seconds. After that the call is tried again. Its numbers are a gap if the source has reserved them.
func WithTryTimeout(d time.Duration) Option {
	return option(func(c *config) {
		options.Set(&c.tryTimeout, d, d >= time.Millisecond, c.fail, "the timeout of a try is %v; must be at least 1ms", d)
	})
}

// WithTakePolicy sets what a call does if no number is in memory: a policy of package ringbuffer (Wait, CallerPads,
// Fail), or one of the program. By default a call waits until a range arrives. It returns an *EmptyError after
// WithMaxWait, or at once if the last try before the call has failed in a way that waiting does not cure: ErrNoTag,
// ErrSetBack, ErrExhausted, ErrSource.
//
// CallerPads calls the source in the goroutine of the caller, and returns its error at once. In a Tags it waits for its turn: see
// WithMaxTakes.
func WithTakePolicy(p ringbuffer.TakePolicy) Option {
	return option(func(c *config) {
		options.Set(&c.takePolicy, p, p != nil, c.fail, "the take policy is nil; must not be nil")
	})
}

// WithLogger sets the logger for failures of the source: one record when a series of failures begins, at most one a
// minute, and one when it is over. A Tags writes them for each source, and not for each tag: see Tags. The default is
// slog.Default.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *config) {
		options.SetLogger(&c.logger, l, c.fail)
	})
}

package segment

import (
	"time"

	"github.com/ringuid/ringuid/internal/options"
)

// A DailyOption configures a Daily. Every Option is a DailyOption.
type DailyOption interface{ applyDaily(*dailyConfig) }

type dailyConfig struct {
	config
	yesterday time.Duration
	step      int64 // 0: the default
	now       func() time.Time
}

type dailyOption func(*dailyConfig)

func (o dailyOption) applyDaily(c *dailyConfig) { o(c) }

func (o option) applyDaily(c *dailyConfig) { o(&c.config) }

// newDailyConfig returns the configuration of the options.
func newDailyConfig(opts []DailyOption) (dailyConfig, error) {
	base, _ := newConfig(nil)
	c := dailyConfig{config: base, now: time.Now}
	options.Apply(opts, func(o DailyOption) { o.applyDaily(&c) }, c.fail)
	return c, c.err
}

// WithYesterday allows numbers of the day before, for up to d after midnight, if the source has not returned yet as many
// ranges of the new day as WithCapacity says: 0 to 12 hours. The default is 0: calls then wait, and fail after WithMaxWait.
func WithYesterday(d time.Duration) DailyOption {
	return dailyOption(func(c *dailyConfig) {
		options.Set(&c.yesterday, d, d >= 0 && d <= 12*time.Hour, c.fail, "the time for numbers of the day before is %v; must be 0 to 12h", d)
	})
}

// WithDailyStep sets the step of the tags that are created, and the size of the first ranges of each day: 1 to the
// numbers that a day has, which are 999,999 with 6 digits. The default is DefaultStep, or a hundredth of a day's
// numbers if that is less.
func WithDailyStep(n int64) DailyOption {
	return dailyOption(func(c *dailyConfig) {
		if n < 1 { // NewDaily checks the other bound
			c.fail("the step of daily tags is %d; must be at least 1", n)
			return
		}
		c.step = n
	})
}

// WithClock sets the clock that decides which day it is. It may be called concurrently. The default is time.Now.
func WithClock(now func() time.Time) DailyOption {
	return dailyOption(func(c *dailyConfig) {
		options.Set(&c.now, now, now != nil, c.fail, "the clock is nil; must not be nil")
	})
}

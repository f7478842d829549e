package segment

import (
	"time"

	"github.com/ringuid/ringuid/internal/options"
)

// Defaults of the options of a Tags, which have the numbers in their comments.
const (
	defaultIdle     = time.Hour
	defaultMaxTags  = 100_000
	defaultMaxTakes = 16
)

// A TagsOption configures a Tags. Every Option is a TagsOption.
type TagsOption interface{ applyTags(*tagsConfig) }

type tagsConfig struct {
	config
	idle     time.Duration // 0: never
	maxTags  int
	maxTakes int
	create   *TagConfig // nil: tags are not created
}

type tagsOption func(*tagsConfig)

func (o tagsOption) applyTags(c *tagsConfig) { o(c) }

func (o option) applyTags(c *tagsConfig) { o(&c.config) }

// newTagsConfig returns the configuration of the options.
func newTagsConfig(opts []TagsOption) (tagsConfig, error) {
	base, _ := newConfig(nil)
	c := tagsConfig{config: base, idle: defaultIdle, maxTags: defaultMaxTags, maxTakes: defaultMaxTakes}
	options.Apply(opts, func(o TagsOption) { o.applyTags(&c) }, c.fail)
	return c, c.err
}

// WithIdle sets how long a tag must not be used before its numbers in memory are dropped: at least a second, or 0 for
// never. Each drop is a gap. The default is an hour. A tag is dropped after d to 2d.
func WithIdle(d time.Duration) TagsOption {
	return tagsOption(func(c *tagsConfig) {
		options.Set(&c.idle, d, d == 0 || d >= time.Second, c.fail, "the idle time is %v; must be 0 (never) or at least 1s", d)
	})
}

// WithMaxTags limits how many tags are in memory at a time: at least 1. A tag more is an error that wraps
// ErrTooManyTags. Tags that were dropped because they were idle do not count; but only as many of all are remembered,
// so that another Tags must notice if a counter of a tag that was forgotten is set back. A name that the source does
// not have counts for half a second. The default is 100,000.
func WithMaxTags(n int) TagsOption {
	return tagsOption(func(c *tagsConfig) {
		options.Set(&c.maxTags, n, n >= 1, c.fail, "the greatest number of tags is %d; must be at least 1", n)
	})
}

// WithMaxTakes limits how many requests the Tags sends to its source at a time, or to each source of a Group: 1 to
// 1024. Further requests wait for their turn: first those of tags for which a call waits, then the others. Each fourth
// request is the one that has waited longest. Calls that find a number in memory never wait. While a source does not
// answer, it gets at most so many requests per second, of all tags together (about seven times as many in the first second), and one at
// a time if another one of the Group works. Open tags that the source refuses (ErrSetBack, ErrExhausted, ErrNoTag, ErrSource) are asked for again at
// most 200 times per second, all together: so 10,000 of them work again within 50 seconds after the cause is gone. The default is 16. A source that takes 5 ms for each
// request then serves 3,200 per second, which is enough for 3,200 tags if a range of each lasts a second.
func WithMaxTakes(n int) TagsOption {
	return tagsOption(func(c *tagsConfig) {
		options.Set(&c.maxTakes, n, n >= 1 && n <= 1024, c.fail, "the greatest number of requests at a time is %d; must be 1 to 1024", n)
	})
}

// WithCreate lets a Tags create each tag that does not exist, at its first use, for example one for each tenant. The
// source must be a Creator. c.UnusedBefore is set to a time long ago if it is zero: a source that notices that its
// store may have lost writes then begins new tags beyond what may have been handed out. On other stores, a tag that
// was lost with the last writes of its server begins at c.Start again, and its numbers repeat: see doc/segments.md. On
// Redis a new tag begins beyond all gaps since the store was first used, because it may have existed; on etcd and
// ZooKeeper only after a restored backup. To avoid that, call CreateTag once where a tenant is created.
//
// In a file, on Redis, etcd and ZooKeeper, and on a Group (see Stripe), call CreateTag by hand once before, for any
// tag: until then calls return ErrNoTag. A misspelled tag is created too.
func WithCreate(c TagConfig) TagsOption {
	return tagsOption(func(t *tagsConfig) {
		c, err := c.Validate()
		if err != nil {
			t.fail("%v", err)
			return
		}
		if c.UnusedBefore.IsZero() {
			c.UnusedBefore = time.Unix(0, 0).UTC()
		}
		t.create = &c
	})
}

package promcollect

import (
	"errors"
	"maps"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringuid/ringuid/internal/options"
)

// ErrOption is the error of Register, of a prometheus.Registerer, for a collector with an invalid argument or option.
var ErrOption = errors.New("promcollect: invalid option")

// An Option sets one property of a collector. A collector with an invalid option has no metrics: Register of a
// registry returns an error that wraps ErrOption, and MustRegister panics.
type Option interface {
	TagsOption
	apply(*config)
}

// A TagsOption sets one property of a collector of NewTagsCollector, as an Option does for all collectors.
type TagsOption interface{ applyTags(*config) }

type option func(*config)

func (o option) apply(c *config)     { o(c) }
func (o option) applyTags(c *config) { o(c) }

type tagsOption func(*config)

func (o tagsOption) applyTags(c *config) { o(c) }

type config struct {
	name    string
	labels  prometheus.Labels
	maxTags int
	err     error // the first invalid option
}

func (c *config) fail(format string, args ...any) {
	options.SetError(&c.err, ErrOption, format, args...)
}

// newConfig returns the configuration of the options.
func newConfig(opts []Option) (c config) {
	options.Apply(opts, func(opt Option) { opt.apply(&c) }, c.fail)
	return c
}

// WithName sets the value of the label generator of all metrics of NewGeneratorCollector, of the label pool of those of
// NewPoolCollector, and of the label sequence of those of the other constructors. The default is "". Collectors of one kind
// that are registered with one registry must have different names, or other labels that differ.
func WithName(name string) Option {
	return option(func(c *config) { c.name = name })
}

// WithLabels adds constant labels to all metrics of the collector. All collectors of one kind that are registered with
// one registry must have the same names of labels. The names of the labels in doc/metrics.md must not be used.
func WithLabels(labels prometheus.Labels) Option {
	labels = maps.Clone(labels)
	return option(func(c *config) { c.labels = labels })
}

// WithMaxTags limits how many tags of a segment.Tags have metrics of their own: 0 or more. The default is 100. The tags
// beyond it are added up in metrics whose label tag is empty. Tags are chosen by when they were first seen, and a tag keeps
// its metrics as long as it is in memory.
func WithMaxTags(n int) TagsOption {
	return tagsOption(func(c *config) {
		options.Set(&c.maxTags, n, n >= 0, c.fail, "the greatest number of tags is %d; must be at least 0", n)
	})
}

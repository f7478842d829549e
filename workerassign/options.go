package workerassign

import (
	"fmt"
	"log/slog"
	"time"
)

// DefaultTimeout bounds Assign where its context has no deadline.
const DefaultTimeout = 30 * time.Second

// A DisposableOption sets one thing about a disposable assigner. One that cannot be used is
// an error of Assign, which wraps ErrOption.
type DisposableOption interface{ disposable(*disposableConfig) }

// A FileOption sets one thing about a file assigner. One that cannot be used is an error of
// Assign, which wraps ErrOption.
type FileOption interface{ file(*fileConfig) }

// An Option is one that both assigners have.
type Option interface {
	DisposableOption
	FileOption
}

// config is what both assigners have.
type config struct {
	timeout time.Duration
	logger  *slog.Logger
	err     error // the first that is wrong
}

func newConfig() config {
	return config{timeout: DefaultTimeout, logger: slog.New(slog.DiscardHandler)}
}

// fail notes what is wrong with an option.
func (c *config) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{ErrOption}, args...)...)
	}
}

type option func(*config)

func (o option) disposable(c *disposableConfig) { o(&c.config) }
func (o option) file(c *fileConfig)             { o(&c.config) }

type disposableOption func(*disposableConfig)

func (o disposableOption) disposable(c *disposableConfig) { o(c) }

// WithTimeout bounds Assign where its context has no deadline. The default is
// DefaultTimeout.
func WithTimeout(d time.Duration) Option {
	return option(func(c *config) {
		if d <= 0 {
			c.fail("timeout is %v, more than 0 is needed", d)
			return
		}
		c.timeout = d
	})
}

// WithLogger makes the assigner log what it tries again, or what it waits for when that takes
// more than a second. The default is silence.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *config) {
		if l == nil {
			c.fail("the logger is nil")
			return
		}
		c.logger = l
	})
}

// WithTable sets the name of the table, WORKER_NODE unless given: "table", or
// "database.table". It is quoted, so any name that the server accepts may be used but one
// with a dot in it.
func WithTable(name string) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		quoted, err := quoteTable(name)
		if err != nil {
			c.fail("%v", err)
			return
		}
		c.table, c.quoted = name, quoted
	})
}

// WithNode says what the row tells of this node. By default it is found out: see FindNode.
func WithNode(n Node) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		if err := n.check(); err != nil {
			c.fail("%v", err)
			return
		}
		c.node = func() Node { return n }
	})
}

// WithAttemptTimeout bounds one try to insert, so that a server that does not answer is
// tried again. The default is 5 s.
func WithAttemptTimeout(d time.Duration) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		if d <= 0 {
			c.fail("attempt timeout is %v, more than 0 is needed", d)
			return
		}
		c.attempt = d
	})
}

// WithBackoff sets the pause after a first failed try, and the longest one; it is doubled by
// each try, and shortened by up to a half at random. The default is 100 ms and 3 s.
func WithBackoff(first, longest time.Duration) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		if first <= 0 || longest < first {
			c.fail("backoff from %v to %v: more than 0, and the second no less than the first, is needed", first, longest)
			return
		}
		c.backoff = backoff{first: first, longest: longest}
	})
}

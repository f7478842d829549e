package workerassign

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
)

// DefaultTimeout bounds Assign where its context has no deadline.
const DefaultTimeout = 30 * time.Second

// A DisposableOption sets one thing about a disposable assigner. One that cannot be used is
// an error of Assign, which wraps ErrOption.
type DisposableOption interface{ applyDisposable(*disposableConfig) }

// A FileOption sets one thing about a file assigner. One that cannot be used is an error of
// Assign, which wraps ErrOption.
type FileOption interface{ applyFile(*fileConfig) }

// An Option is one that both assigners have.
type Option interface {
	DisposableOption
	FileOption
}

// config is what both assigners have.
type config struct {
	timeout time.Duration
	logger  *slog.Logger // nil: the generator's
	err     error        // the first that is wrong
}

func newConfig() config {
	return config{timeout: DefaultTimeout}
}

// log returns the logger for a request: the assigner's own if it was given one, else the
// generator's, else slog.Default(). A panic of its handler ends nothing.
func (c *config) loggerFor(r Request) *slog.Logger {
	if c.logger != nil {
		return safelog.Wrap(c.logger)
	}
	return safelog.Wrap(r.Logger)
}

// fail notes what is wrong with an option.
func (c *config) setError(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{ErrOption}, args...)...)
	}
}

type option func(*config)

func (o option) applyDisposable(c *disposableConfig) { o(&c.config) }
func (o option) applyFile(c *fileConfig)             { o(&c.config) }

type disposableOption func(*disposableConfig)

func (o disposableOption) applyDisposable(c *disposableConfig) { o(c) }

// WithTimeout bounds Assign where its context has no deadline. The default is
// DefaultTimeout.
func WithTimeout(d time.Duration) Option {
	return option(func(c *config) {
		if d <= 0 {
			c.setError("timeout is %v, more than 0 is needed", d)
			return
		}
		c.timeout = d
	})
}

// WithLogger sets the logger of the assigner, which logs what it tries again, and what it waits
// for when that takes more than a second. The default is the generator's logger (Request.Logger),
// and slog.Default() where there is none.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *config) {
		if l == nil {
			c.setError("the logger is nil")
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
			c.setError("%v", err)
			return
		}
		c.table, c.quotedTable = name, quoted
	})
}

// WithNode says what the row tells of this node. By default it is found out: see DetectNode.
func WithNode(n Node) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		if err := n.validate(); err != nil {
			c.setError("%v", err)
			return
		}
		c.node = func() Node { return n }
	})
}

// WithAttemptTimeout bounds one try to insert, so that a server that does not answer is
// tried again. The default is 10 s,
// which is longer than a failover usually takes: a try that is given up may spend a worker ID.
func WithAttemptTimeout(d time.Duration) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		if d <= 0 {
			c.setError("attempt timeout is %v, more than 0 is needed", d)
			return
		}
		c.attemptTimeout = d
	})
}

// WithMinWorkerID sets the least worker ID that is accepted. A lower key is rolled back, and an
// error that wraps ErrTooLow: the table's counter went back, as after a failover to a replica that
// had not received the last rows, and worker IDs would come a second time. The error is not
// final: a generator asks again after a pause, and goes on when the counter was raised as
// schema.sql describes. The default is 1.
func WithMinWorkerID(n int64) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		if n < 1 {
			c.setError("the least worker ID is %d, must be at least 1", n)
			return
		}
		c.minWorkerID = n
	})
}

// WithHighWaterFile makes the assigner remember the greatest worker ID that it was granted in the
// file of that path, and refuse keys that are not greater, as WithMinWorkerID does: after a
// failover that lost rows a host so notices that worker IDs would come a second time. The file is
// on disk before a worker ID is used. Any number of processes on one host may share it if they use
// one table; the rules of NewFile for its file and the lock file next to it apply, and so do its
// errors. A file that cannot be written is an error before anything is inserted.
//
// A key that is refused moves the table's counter all the same, and soon it would be beyond this
// host's own mark, while another host, whose mark is greater, may have been granted those keys. So
// the first refusal stops this host: it is written to a file of the same name with ".refused"
// behind it, and while that is there Assign returns ErrTooLow without an insert. Raise the counter
// as schema.sql describes, then delete that file on each host that has it. A host that was granted
// nothing beyond what the server kept notices nothing: WithMinWorkerID protects that one.
//
// It is for databases whose keys only grow: one primary, or TiDB with AUTO_ID_CACHE=1. The nodes
// of a Galera cluster that are written to concurrently give out keys in no strict order, so that
// a key may be refused although nothing was lost.
func WithHighWaterFile(path string) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		if path == "" {
			c.setError("the path of the high-water file is empty")
			return
		}
		c.highWaterPath = path
	})
}

// WithBackoff sets the pause after a first failed try, and the longest one; it is doubled by
// each try, and shortened by up to a half at random. The default is 100 ms and 3 s.
func WithBackoff(first, longest time.Duration) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		if first <= 0 || longest < first {
			c.setError("backoff from %v to %v: more than 0, and the second no less than the first, is needed", first, longest)
			return
		}
		c.backoff = backoff{initial: first, maximum: longest}
	})
}

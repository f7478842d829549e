package workerassign

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/sqlattempt"
)

// DefaultTimeout bounds Assign of Disposable, File and package recycled if its context has no deadline.
const DefaultTimeout = 30 * time.Second

// The defaults of recycled worker IDs (package recycled), of WithVerification and of StaticFile. With these, and with the
// defaults of package uid, a generator can borrow up to 24 seconds (29 with StaticFile), and after a failover of a store that can
// lose writes, new leases begin 110 seconds later.
// doc/fleet.md says how to choose other values.
const (
	DefaultHorizon    = 75 * time.Second // H, the horizon: recycled.WithHorizon, Verification, WithFileHorizon
	DefaultFencing    = 30 * time.Second // F, recycled.WithFencing, Verification
	DefaultSkew       = 5 * time.Second  // M, recycled.WithSkew, Verification
	DefaultClockBound = 5 * time.Second  // B, recycled.WithClockBound, Verification
)

// A DisposableOption configures a Disposable. If its value is invalid, Assign returns an error that
// wraps ErrOption.
type DisposableOption interface{ applyDisposable(*disposableConfig) }

// A FileOption configures a File. If its value is invalid, Assign returns an error that wraps
// ErrOption.
type FileOption interface{ applyFile(*fileConfig) }

// A TimeoutOption configures a Disposable or a File, which wait for others.
type TimeoutOption interface {
	DisposableOption
	FileOption
}

// An Option configures any assigner of this package that has options.
type Option interface {
	TimeoutOption
	StaticFileOption
}

// config is the configuration that Disposable and File share.
type config struct {
	timeout time.Duration
	logger  *slog.Logger // nil: the generator's
	err     error        // the error of the first invalid option
}

func newConfig() config {
	return config{timeout: DefaultTimeout}
}

// loggerFor returns the logger for a request: the one of WithLogger, else the generator's, else
// slog.Default().
func (c *config) loggerFor(r Request) *slog.Logger { return cmp.Or(c.logger, r.Logger, slog.Default()) }

// setError records the error of an invalid option, unless there is one already.
func (c *config) setError(format string, args ...any) {
	options.SetError(&c.err, ErrOption, format, args...)
}

type timeoutOption func(*config)

func (o timeoutOption) applyDisposable(c *disposableConfig) { o(&c.config) }
func (o timeoutOption) applyFile(c *fileConfig)             { o(&c.config) }

// An option is a timeoutOption that StaticFile has, too.
type option struct{ timeoutOption }

type disposableOption func(*disposableConfig)

func (o disposableOption) applyDisposable(c *disposableConfig) { o(c) }

// WithServerName sets what errors and log records call the server, for example "db:3306", the address in the DSN. It
// must not contain a password. Many errors of drivers do not say which server they are about: those of a server that
// refuses an account, or that accepts a connection and does not answer. The name has no other meaning.
func WithServerName(name string) DisposableOption {
	return disposableOption(func(c *disposableConfig) { c.server = name })
}

// WithTimeout bounds Assign if its context has no deadline. It must be greater than 0. The default is
// DefaultTimeout.
func WithTimeout(d time.Duration) TimeoutOption {
	return timeoutOption(func(c *config) { options.SetTimeout(&c.timeout, d, c.setError) })
}

// WithLogger sets the logger of the assigner. The assigner logs failed attempts, waits that take
// longer than a second, and server settings with which worker IDs can be lost. The default is the
// generator's logger (Request.Logger), or slog.Default() if there is none.
func WithLogger(l *slog.Logger) Option {
	return option{func(c *config) { options.SetLogger(&c.logger, l, c.setError) }}
}

// WithTable sets the name of the table: "table" or "database.table", or "schema.table" on PostgreSQL. The
// default is DefaultTable, which is the table worker_node on PostgreSQL. The name is quoted, so every name
// that the server accepts is allowed, except names that contain a dot. So upper and lower case matter on
// PostgreSQL, where a table that was created as Nodes, without quotes, has the name nodes.
func WithTable(name string) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		if _, err := sqlattempt.QuoteMySQL(name); err != nil {
			c.setError("%v", err)
			return
		}
		c.table = name
	})
}

// WithNode sets the host name and the port of this node that are stored in the row. They are for people to read, and
// have no influence on worker IDs. Neither may be empty. If one has more than 64 characters, only the last 64 are stored.
// The type in the row is then 2, a machine, also in a container. Without this option, the first of these rules applies:
//
//   - If the environment variable JPAAS_HOST is set, and JPAAS_HTTP_PORT or else JPAAS_HOST_PORT_8080, the node is a
//     container with that host name and port, as in Baidu's UidGenerator. The type of a container is 1.
//   - If KUBERNETES_SERVICE_HOST is set or the file /.dockerenv exists, the node is a container with the host name of
//     the pod or container.
//   - Otherwise the node is a machine, with the type 2. Its name is its first IPv4 address that is not a loopback or
//     link-local address, else such an IPv6 address, else its host name.
//
// Without a port in the environment, the port is "<milliseconds>-<random number below 100000>", as in Baidu's
// UidGenerator. The milliseconds are the Unix time.
func WithNode(hostName, port string) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		options.Set(&c.node, func() node { return node{hostName, port, kindActual} }, hostName != "" && port != "", c.setError,
			"the node's host name is %q, and its port is %q; must not be empty", hostName, port)
	})
}

// WithAttemptTimeout bounds a single attempt to insert a row. After that time the attempt fails, and
// Assign tries again. It must be greater than 0. The default is 10 seconds, which is longer than a
// failover usually takes. An attempt that is abandoned may use up a worker ID.
func WithAttemptTimeout(d time.Duration) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		options.Set(&c.attemptTimeout, d, d > 0, c.setError, "attempt timeout is %v; must be greater than 0", d)
	})
}

// WithMinWorkerID sets the smallest worker ID that is accepted. It must be at least 1, the default.
// A row with a lower key is rolled back, and Assign returns an error that wraps ErrTooLow. Such a key
// means that the table's counter went back, for example after a failover to a replica that had not
// received the last rows. Without the check, worker IDs would be assigned a second time. A running
// generator tries again after a pause, and succeeds after the counter was raised as described in
// schema.sql. Each refused row increments the counter too, so n must be greater than every worker ID
// that was assigned before the failover: rows that follow are accepted from n on.
func WithMinWorkerID(n int64) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		options.Set(&c.minWorkerID, n, n >= 1, c.setError, "minimum worker ID is %d; must be at least 1", n)
	})
}

// WithBackoff sets the pause after the first failed attempt and the longest pause. The pause doubles
// with each attempt, and a random part of up to one half is subtracted. The first must be greater
// than 0, and the second not less than the first. The defaults are 100 ms and 3 s.
func WithBackoff(initial, maximum time.Duration) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		options.Set(&c.backoff, backoff.Pauses{Initial: initial, Maximum: maximum}, initial > 0 && maximum >= initial, c.setError,
			"backoff is %v to %v; the first must be greater than 0, and the second at least the first", initial, maximum)
	})
}

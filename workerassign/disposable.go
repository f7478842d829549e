package workerassign

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
)

// A DB is a pool of connections to a database. *sql.DB and *sqlx.DB have these methods.
type DB interface {
	Conn(ctx context.Context) (*sql.Conn, error)
	Stats() sql.DBStats
}

// Disposable assigns worker IDs that are used once: each Assign inserts a row into a table,
// and the key that the database generates for it is the worker ID. The table is that of
// Baidu's UidGenerator, so that services in Go and Java may share it; schema.sql makes it.
// The database is needed to assign, and for nothing after that. It is safe for concurrent
// use. NewDisposable makes one; Assign of the zero value returns an error.
type Disposable struct {
	db              DB
	server          string // its address, where that is known
	cfg             disposableConfig
	highWater       *highWater  // nil without WithHighWaterFile
	settingsChecked atomic.Bool // the settings that durability depends on were looked at
}

type disposableConfig struct {
	config
	table, quotedTable string
	node               func() Node
	attemptTimeout     time.Duration
	backoff            backoff
	minWorkerID        int64
	highWaterPath      string
}

var _ Assigner = (*Disposable)(nil)

const (
	// notFoundTries is how many tries in a row may find that the host name does not exist. The
	// name of a server that is about to start may be missing for a moment.
	maxHostNotFound = 5
	// patience is how long a try may wait before that is logged.
	slowPhaseWarning = time.Second
	// flushTimeout is how long Assign waits for the logger at its end.
	logFlushTimeout = time.Second
)

// NewDisposable returns an assigner that uses a table of the database: a *sql.DB or *sqlx.DB of
// go-sql-driver/mysql. It does not touch the database, and leaves closing it to the caller. What
// is wrong with its arguments, Assign reports.
func NewDisposable(db DB, opts ...DisposableOption) *Disposable {
	cfg := disposableConfig{
		config:         newConfig(),
		table:          DefaultTable,
		quotedTable:    "`" + DefaultTable + "`",
		node:           DetectNode,
		attemptTimeout: 10 * time.Second,
		backoff:        backoff{initial: 100 * time.Millisecond, maximum: 3 * time.Second},
		minWorkerID:    1,
	}
	if isNilDB(db) {
		cfg.setError("the database is nil")
	}
	for _, o := range opts {
		if o == nil {
			cfg.setError("an option is nil")
			continue
		}
		o.applyDisposable(&cfg)
	}
	d := &Disposable{db: db, cfg: cfg}
	if cfg.err == nil {
		d.server = serverAddress(db)
		if cfg.highWaterPath != "" {
			d.highWater, d.cfg.err = newHighWater(cfg.highWaterPath)
		}
	}
	return d
}

// Assign inserts a row in a transaction of its own, commits it, and returns a lease on its key:
// unbounded, with nothing to give back. It blocks until that is done or ctx ends; without a
// deadline, WithTimeout bounds it. It leaves no transaction open in the pool, whatever the
// session's autocommit is.
//
// Faults that may pass are tried again until then, and logged: a lost connection, a server that is
// starting or read-only, a deadlock; the error of giving up is a *RetryError. Where it is not
// known whether a row was committed, another one is inserted: the first one's key is a gap. Faults
// that do not pass are a *DatabaseError at once: no table, no privilege, a wrong password; and
// after a few tries, a host name that does not exist. An insert that returns no key, or one that is
// not positive, is ErrNoKey; one that is less than it must be is ErrTooLow.
//
// After the first insert Assign reads, once, what the server's settings promise of committed rows,
// and logs a warning where they may be lost; schema.sql says more about that.
func (d *Disposable) Assign(ctx context.Context, r Request) (Lease, error) {
	if d == nil || d.db == nil && d.cfg.err == nil {
		return nil, fmt.Errorf("%w: a Disposable must be made by NewDisposable", ErrOption)
	}
	if d.cfg.err != nil {
		return nil, d.cfg.err
	}
	ctx, cancel := withDefaultTimeout(ctx, d.cfg.timeout)
	defer cancel()
	// A queue, because other goroutines may wait for this one: a handler of theirs, too.
	log := safelog.NewQueue(d.cfg.loggerFor(r))
	defer log.Flush(logFlushTimeout)
	t := &assignment{d: d, log: log, node: d.cfg.node()}

	var (
		begin    = time.Now()
		last     *failure
		notFound = 0
		pauses   = 0
		spare    = -1 // how many idle connections may be like the one that failed; -1: not looked at
	)
	for tries := 0; ; {
		if err := ctx.Err(); err != nil {
			return nil, d.retryError(tries, begin, err, last)
		}
		tries++
		key, failed := t.attempt(ctx)
		if failed == nil {
			return disposableLease(key), nil
		}
		// The end of the context is no fault of the database, and says less than the last fault
		// before it.
		if ctx.Err() != nil {
			if last == nil {
				last = failed
			}
			continue
		}
		last = failed
		if isHostNotFound(failed.err) {
			notFound++
		} else {
			notFound = 0
		}
		if failed.returnAsIs {
			return nil, failed.err
		}
		if failed.action == actionStop || notFound == maxHostNotFound {
			return nil, &DatabaseError{Table: d.cfg.table, Server: d.server, Advice: failed.advice, Err: failed.err}
		}
		if failed.action == actionReconnect {
			// The pool may hold more connections to the server that failed, and one to another.
			if spare < 0 {
				spare = d.db.Stats().Idle
			}
			if spare > 0 {
				spare--
				continue
			}
		}
		log.Log(slog.LevelWarn, "workerassign: the insert failed, trying again", "table", d.cfg.table, "server", d.server,
			"tries", tries, "err", failed.err, "advice", failed.advice)
		pauses++
		sleep(ctx, d.cfg.backoff.pause(pauses)) // the loop looks at the context
	}
}

func (d *Disposable) retryError(tries int, begin time.Time, cause error, last *failure) error {
	e := &RetryError{Operation: "inserting a row into " + atServer(d.cfg.table, d.server), Attempts: tries, Elapsed: time.Since(begin), Cause: cause}
	if last != nil {
		e.LastErr, e.Advice = last.err, last.advice
	}
	return e
}

// isNotFound reports whether a host name was found not to exist.
func isHostNotFound(err error) bool {
	var name *net.DNSError
	return errors.As(err, &name) && name.IsNotFound
}

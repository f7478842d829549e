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

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/sqlattempt"
)

// A DB is a pool of connections to a database. *sql.DB and *sqlx.DB have these methods. A program may implement it, for
// example by a type that contains a *sql.DB. No method will be added.
type DB interface {
	Conn(ctx context.Context) (*sql.Conn, error)
	Stats() sql.DBStats
}

// Disposable assigns worker IDs that are never used again. Each Assign inserts a row into a table,
// and the key that the database generates for the row is the worker ID. The table is the one of
// Baidu's UidGenerator, so that services in Go and Java can share it. schema.sql creates it on MySQL,
// MariaDB and TiDB, and schema.postgres.sql on PostgreSQL. Only Assign uses the database; a lease works
// without it, but not with WithVerification. Disposable is safe for concurrent use. Create one with
// NewDisposable; Assign of the zero value returns an error.
type Disposable struct {
	db              DB
	cfg             disposableConfig
	settingsChecked atomic.Bool                  // whether checkDurability has run
	target          atomic.Pointer[insertTarget] // set by NewDisposable and by correctGuess
}

type disposableConfig struct {
	config
	table          string
	server         string // of WithServerName
	node           func() node
	attemptTimeout time.Duration
	backoff        backoff.Pauses
	minWorkerID    int64
	verification   *Verification // nil without WithVerification
}

var _ Assigner = (*Disposable)(nil)

const (
	// maxHostNotFound is the number of consecutive attempts that may fail because the host name
	// does not exist. The name of a server that is starting may be missing for a short time.
	maxHostNotFound = 5
	// slowPhaseWarning is the time after which an attempt that is waiting is logged.
	slowPhaseWarning = time.Second
)

// NewDisposable returns an assigner that uses a table of db, which is a *sql.DB or *sqlx.DB. For MySQL,
// MariaDB and TiDB, open it with go-sql-driver/mysql; for PostgreSQL, with jackc/pgx (package stdlib) or
// lib/pq. Prefer pgx: a call of lib/pq may not end with its context while the network loses all packets, or while a commit waits for a
// synchronous standby. These drivers show the kind of the server. If db has another driver, for example one that wraps
// them, the first Assign finds out: PostgreSQL refuses MySQL's statement, once. NewDisposable does not
// access the database. The caller closes db. Invalid arguments are reported by Assign.
//
// With a connection pooler that does not support prepared statements, such as PgBouncer before 1.21 in
// transaction mode, add default_query_exec_mode=exec to the DSN of pgx, or binary_parameters=yes to that of
// lib/pq. A pooler in statement mode is refused, because it has no transactions. A proxy must not execute a transaction
// again, because it may get another ID then, as with transaction_replay of MaxScale unless its checksum is full.
func NewDisposable(db DB, opts ...DisposableOption) *Disposable {
	cfg := disposableConfig{
		config:         newConfig(),
		table:          DefaultTable,
		node:           detectNode,
		attemptTimeout: 10 * time.Second,
		backoff:        backoff.Pauses{Initial: 100 * time.Millisecond, Maximum: 3 * time.Second},
		minWorkerID:    1,
	}
	if sqlattempt.IsNilDB(db) {
		cfg.setError("the database is nil; must not be nil")
	}
	options.Apply(opts, func(o DisposableOption) { o.applyDisposable(&cfg) }, cfg.setError)
	d := &Disposable{db: db, cfg: cfg}
	if cfg.err == nil {
		d.cfg.err = d.setServerKind(sqlattempt.KindOf(db))
	}
	return d
}

// Assign inserts a row in a separate transaction, commits it, and returns a lease on its key. The
// lease has no start and no end, unless WithVerification is used, and its Release does nothing. Assign blocks until the commit or
// until ctx ends. If ctx has no deadline, WithTimeout bounds Assign. Assign leaves no open
// transaction in the pool, whatever the session's autocommit is.
//
// Assign logs transient errors and tries again until ctx ends: a lost connection, a server that is
// starting or read-only, a deadlock. Then it returns a *RetryError. If it is not known whether a row
// was committed, Assign inserts another one, and the key of the first row is not used. Permanent
// errors are returned immediately, as a *DatabaseError: a missing table, a missing privilege, a
// wrong password. A host name that does not exist is a permanent error after a few attempts. A
// missing key, or a key below 1, is a *DatabaseError that wraps ErrNoKey. A key that is too low is a
// *DatabaseError that wraps ErrTooLow. Invalid arguments and options wrap ErrOption.
//
// After its first insert, the Disposable reads the server settings that decide whether committed
// rows can be lost, and logs a warning if they can. schema.sql and schema.postgres.sql explain these
// settings. On PostgreSQL, the transaction sets synchronous_commit to on if it is off.
func (d *Disposable) Assign(ctx context.Context, r Request) (Lease, error) {
	if d == nil || d.db == nil && d.cfg.err == nil {
		return nil, fmt.Errorf("%w: the Disposable must be created by NewDisposable", ErrOption)
	}
	if d.cfg.err != nil {
		return nil, d.cfg.err
	}
	ctx, cancel := backoff.WithTimeout(ctx, d.cfg.timeout)
	defer cancel()
	// A queue, because the log handler may wait for another goroutine that waits for this one.
	log := safelog.NewQueue(d.cfg.loggerFor(r))
	defer log.Flush(safelog.FlushTimeout)
	t := &assignment{d: d, log: log, node: d.cfg.node()}

	var (
		begin    = time.Now()
		last     *sqlattempt.Failure
		notFound = 0
		pauses   = 0
		// idleConns is the number of idle connections that may lead to the same failed server; -1
		// before the first look.
		idleConns = -1
	)
	for attempts := 0; ; {
		if err := backoff.EndOf(ctx); err != nil {
			return nil, d.retryError(attempts, begin, err, last)
		}
		attempts++
		key, failed := t.attempt(ctx)
		if failed == nil {
			lease := disposableLease{key, r.MaxWorkerID}
			if d.cfg.verification != nil {
				return newVerifiedLease(d, lease, t.token, t.insertedAt), nil
			}
			return lease, nil
		}
		// If the context has ended, the failure says nothing about the database. An earlier
		// failure is more useful in the error.
		if backoff.EndOf(ctx) != nil {
			if last == nil {
				last = failed
			}
			continue
		}
		last = failed
		if isHostNotFound(failed.Err) {
			notFound++
		} else {
			notFound = 0
		}
		if failed.Reason == "" {
			return nil, failed.Err
		}
		if failed.Action == sqlattempt.Stop || notFound == maxHostNotFound {
			return nil, &DatabaseError{Table: d.cfg.table, Server: d.cfg.server, Advice: failed.Reason.Advice(sqlattempt.Inserts), Err: failed.Err}
		}
		if failed.Action == sqlattempt.Reconnect {
			// The pool may hold more connections to the same server, and others to a server that
			// works. Try them all without a pause.
			if idleConns < 0 {
				idleConns = d.db.Stats().Idle
			}
			if idleConns > 0 {
				idleConns--
				continue
			}
		}
		log.Log(slog.LevelWarn, "workerassign: insert failed, trying again", "table", d.cfg.table, "server", d.cfg.server,
			"attempts", attempts, "err", failed.Err, "advice", failed.Reason.Advice(sqlattempt.Inserts))
		pauses++
		backoff.Sleep(ctx, d.cfg.backoff.After(pauses)) // the loop checks the context
	}
}

// runner returns what runs attempts.
func (d *Disposable) runner() *sqlattempt.Runner {
	return &sqlattempt.Runner{DB: d.db, Timeout: d.cfg.attemptTimeout, Hidden: ownErrors()}
}

// retryError returns the error of an Assign whose context ended after so many attempts.
func (d *Disposable) retryError(attempts int, begin time.Time, cause error, last *sqlattempt.Failure) error {
	e := &RetryError{Operation: "inserting a row into " + sqlattempt.AtServer(d.cfg.table, d.cfg.server), Attempts: attempts, Elapsed: time.Since(begin), Cause: cause}
	if last != nil {
		e.LastErr, e.Advice = last.Err, last.Reason.Advice(sqlattempt.Inserts)
	}
	return e
}

// isHostNotFound reports whether err says that a host name does not exist.
func isHostNotFound(err error) bool {
	var name *net.DNSError
	return errors.As(err, &name) && name.IsNotFound
}

// disposableLease is a lease on a worker ID that was never used before and is never used again. It
// has no start and no end, and Release does nothing.
type disposableLease struct {
	workerID    int64
	maxWorkerID int64 // of the request; 0 if it is not known
}

func (l disposableLease) WorkerID() int64      { return l.workerID }
func (l disposableLease) NotBefore() time.Time { return time.Time{} }

func (l disposableLease) Reserve(context.Context, time.Time) (Grant, error) {
	return Grant{Until: Unbounded(), Remaining: max(l.maxWorkerID-l.workerID, 0), Total: l.maxWorkerID}, nil
}

func (l disposableLease) Release(context.Context, time.Time) error { return nil }

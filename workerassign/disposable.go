package workerassign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"
)

// Disposable assigns worker IDs that are used once: each Assign inserts a row into a table,
// and the key that the database generates for it is the worker ID. The table is that of
// Baidu's UidGenerator, so that services in Go and Java may share it; schema.sql makes it.
// The database is needed to assign, and for nothing after that. It is safe for concurrent
// use.
type Disposable struct {
	db  *sqlx.DB
	cfg disposableConfig
}

type disposableConfig struct {
	config
	table, quoted string
	node          func() Node
	attempt       time.Duration
	backoff       backoff
}

var _ Assigner = (*Disposable)(nil)

// NewDisposable returns an assigner that uses a table of the database. It does not touch the
// database, and leaves closing it to the caller. What is wrong with its arguments, Assign
// tells.
func NewDisposable(db *sqlx.DB, opts ...DisposableOption) *Disposable {
	cfg := disposableConfig{
		config:  newConfig(),
		table:   DefaultTable,
		quoted:  "`" + DefaultTable + "`",
		node:    FindNode,
		attempt: 5 * time.Second,
		backoff: backoff{first: 100 * time.Millisecond, longest: 3 * time.Second},
	}
	if db == nil {
		cfg.fail("the database is nil")
	}
	for _, o := range opts {
		if o == nil {
			cfg.fail("an option is nil")
			continue
		}
		o.disposable(&cfg)
	}
	return &Disposable{db: db, cfg: cfg}
}

// Assign inserts a row and returns a lease on its key: without a floor, without an end, with
// nothing to give back. It blocks until that is done or ctx ends; without a deadline,
// WithTimeout bounds it.
//
// Faults that may pass are tried again until then: a lost connection, a server that is
// starting, a deadlock; the error of giving up is a *GaveUpError. Where it is not known
// whether a row was inserted, another one is: the first one's key is a gap. Faults that do
// not pass are a *DatabaseError at once: no table, no privilege, a wrong password, a
// read-only server. An insert that returns no key, or one that is not positive, is
// ErrNoKey.
func (d *Disposable) Assign(ctx context.Context, r Request) (Lease, error) {
	if d.cfg.err != nil {
		return nil, d.cfg.err
	}
	ctx, cancel := bound(ctx, d.cfg.timeout)
	defer cancel()
	node, begin := d.cfg.node(), time.Now()
	var last error
	for tries := 0; ; {
		if err := ctx.Err(); err != nil {
			return nil, d.gaveUp(tries, begin, err, last)
		}
		tries++
		key, err := d.insert(ctx, node)
		if err == nil {
			return disposableLease(key), nil
		}
		if errors.Is(err, ErrNoKey) {
			return nil, err // a row was inserted, and another try would insert another
		}
		// The context's own end is no fault of the database, and tells less than the last
		// fault before it.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		if ctx.Err() == nil {
			transient, advice := classify(err)
			if !transient {
				return nil, &DatabaseError{Table: d.cfg.table, Advice: advice, Err: err}
			}
			d.cfg.logger.LogAttrs(ctx, slog.LevelWarn, "workerassign: the insert failed, trying again",
				slog.String("table", d.cfg.table), slog.Int("tries", tries), slog.Any("err", err))
			sleep(ctx, d.cfg.backoff.pause(tries)) // the loop looks at the context
		}
	}
}

// insert inserts a row and returns its key, if that can be a worker ID.
func (d *Disposable) insert(ctx context.Context, node Node) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.attempt)
	defer cancel()
	result, err := d.db.ExecContext(ctx, insertInto(d.cfg.quoted), column(node.HostName), column(node.Port), int(node.Type))
	if err != nil {
		if over := ctx.Err(); over != nil {
			return 0, fmt.Errorf("%w: %w", over, err) // whatever the driver makes of it
		}
		return 0, err
	}
	key, err := result.LastInsertId()
	switch {
	case err != nil:
		return 0, &DatabaseError{Table: d.cfg.table, Advice: "use a driver that returns generated keys, such as go-sql-driver/mysql",
			Err: fmt.Errorf("%w: %w", ErrNoKey, err)}
	case key <= 0:
		return 0, &DatabaseError{Table: d.cfg.table, Advice: "its column ID must be BIGINT AUTO_INCREMENT, as schema.sql makes it",
			Err: fmt.Errorf("%w: it is %d, at least 1 is needed", ErrNoKey, key)}
	}
	return key, nil
}

func (d *Disposable) gaveUp(tries int, begin time.Time, cause, last error) error {
	return &GaveUpError{What: "inserting a row into " + d.cfg.table, Attempts: tries, Took: time.Since(begin), Cause: cause, Last: last}
}

package workerassign

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/internal/safelog"
)

// phase is what a try waits for.
type phase int32

const (
	connecting phase = iota
	beginning
	inserting
	committing
	remembering
)

// String names a phase in errors and records.
func (p phase) String() string {
	return [...]string{"a connection", "the beginning of a transaction", "the insert", "the commit", "the high-water file"}[p]
}

// try is what the tries of one Assign share. They run one after the other.
type try struct {
	d     *Disposable
	log   *safelog.Queue
	node  Node
	phase atomic.Int32 // of the try that runs; written by it, read by its timer
}

// run inserts a row and returns its key: in a transaction that is committed, on a connection that
// is given back without one, or dropped.
func (t *try) run(ctx context.Context) (key int64, failed *fault) {
	defer func() {
		if v := recover(); v != nil {
			err := fmt.Errorf("the driver, or what it calls, panicked: %v", v)
			key, failed = 0, &fault{err: err, action: stop, advice: adviceUnknown}
		}
	}()
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, t.d.cfg.attempt)
	defer cancel()
	t.enter(connecting)
	defer t.watch()()

	conn, err := t.d.db.Conn(limited)
	if err != nil {
		return 0, t.fault(limited, begin, err)
	}
	defer conn.Close()
	// Only now: while the connection was waited for, another process may have been granted keys by
	// a server that is lost since, and this connection may be to its successor.
	mark, err := t.mark(ctx)
	if errors.Is(err, ErrTooLow) {
		return 0, t.refused(err, adviceTooLow)
	} else if err != nil {
		return 0, &fault{err: err, own: true}
	}
	key, failed = t.transact(limited, begin, conn, mark)
	if failed != nil {
		giveBack(limited, conn, failed)
		return 0, failed
	}
	if t.d.highWater != nil {
		t.enter(remembering)
		if err := t.d.highWater.raise(ctx, t.log, key); errors.Is(err, ErrTooLow) {
			return 0, t.refused(t.remember(ctx, err), adviceTooLow)
		} else if err != nil {
			return 0, &fault{err: err, own: true}
		}
	}
	t.inspect(ctx, conn)
	return key, nil
}

// The ends of a transaction. Without the additions the session's completion_type decides: CHAIN
// begins another transaction, which would stay open in the pool, and RELEASE ends the connection.
const (
	commit   = "COMMIT AND NO CHAIN NO RELEASE"
	rollback = "ROLLBACK AND NO CHAIN NO RELEASE"
)

// transact inserts a row in a transaction. The statements of the transaction are executed as any
// others, because a commit by sql.Tx has no context.
func (t *try) transact(ctx context.Context, begin time.Time, conn *sql.Conn, mark int64) (int64, *fault) {
	t.enter(beginning)
	if _, err := conn.ExecContext(ctx, "START TRANSACTION"); err != nil {
		return 0, t.fault(ctx, begin, err)
	}
	t.enter(inserting)
	result, err := conn.ExecContext(ctx, insertInto(t.d.cfg.quoted), column(t.node.HostName), column(t.node.Port), int(t.node.Type))
	if err != nil {
		return 0, t.fault(ctx, begin, err)
	}
	key, err := result.LastInsertId()
	switch {
	case err != nil:
		return 0, t.refused(fmt.Errorf("%w: %w", ErrNoKey, foreign(err)), "use a driver that returns generated keys, such as go-sql-driver/mysql")
	case key <= 0:
		return 0, t.refused(fmt.Errorf("%w: it is %d, must be at least 1", ErrNoKey, key),
			"its column ID must be BIGINT AUTO_INCREMENT, as schema.sql makes it")
	case key < t.d.cfg.least:
		return 0, t.refused(fmt.Errorf("%w: it is %d, must be at least %d (WithMinWorkerID)", ErrTooLow, key, t.d.cfg.least), adviceTooLow)
	case key <= mark:
		return 0, t.refused(t.remember(ctx, fmt.Errorf("%w: it is %d, must be greater than %d, which this host was granted before (%s)",
			ErrTooLow, key, mark, t.d.cfg.highWater)), adviceTooLow)
	}
	t.enter(committing)
	if _, err := conn.ExecContext(ctx, commit); err != nil {
		return 0, t.fault(ctx, begin, err)
	}
	return key, nil
}

// adviceTooLow is what to do about a key that came, or may have come, before.
const adviceTooLow = "the table's counter went back, as after a failover that lost rows or a restored backup: " +
	"raise it beyond all worker IDs that were granted, as schema.sql describes under AFTER A FAILOVER OR A RESTORED BACKUP"

// mark returns the greatest worker ID that this host was granted so far; 0 without a file.
func (t *try) mark(ctx context.Context) (int64, error) {
	if t.d.highWater == nil {
		return 0, nil
	}
	t.enter(remembering)
	return t.d.highWater.check(ctx, t.log)
}

// remember has the high-water file refuse all keys from now on, and returns why.
func (t *try) remember(ctx context.Context, why error) error {
	if err := t.d.highWater.refuse(ctx, t.log, why); err != nil {
		return fmt.Errorf("%w (and that could not be noted: %w)", why, err)
	}
	return why
}

func (t *try) enter(p phase) { t.phase.Store(int32(p)) }

// watch logs that the try waits for something, if it does so for long. What it returns ends that.
func (t *try) watch() (end func()) {
	timer := time.AfterFunc(patience, func() {
		t.log.Log(slog.LevelWarn, "workerassign: waiting for the database", "table", t.d.cfg.table, "server", t.d.server,
			"waiting for", phase(t.phase.Load()).String(), "since", patience)
	})
	return func() { timer.Stop() }
}

// refused is a fault of this package's making.
func (t *try) refused(err error, advice string) *fault {
	return &fault{err: err, action: stop, advice: advice}
}

// fault classifies an error of the driver.
func (t *try) fault(ctx context.Context, begin time.Time, err error) *fault {
	if ctx.Err() == nil {
		f := classify(err)
		return &f
	}
	// Whatever the driver makes of it, the time of the try is over.
	waitedFor, advice := phase(t.phase.Load()), adviceSilent
	if waitedFor >= inserting { // what came before was answered
		advice = adviceLocked
	}
	if s := t.d.db.Stats(); waitedFor == connecting && s.MaxOpenConnections > 0 && s.InUse >= s.MaxOpenConnections {
		advice = advicePool
	}
	return &fault{err: &noAnswerError{waitedFor: waitedFor, after: time.Since(begin), err: foreign(err)}, action: elsewhere, advice: advice}
}

// giveBack ends the transaction of a try that failed, so that its connection may go back to the
// pool. One that is to be left is dropped.
func giveBack(ctx context.Context, conn *sql.Conn, failed *fault) {
	server := (*mysql.MySQLError)(nil)
	if failed.action != elsewhere && (errors.As(failed.err, &server) || isAny(failed.err, ErrNoKey, ErrTooLow)) {
		rollBack(ctx, conn)
	} else {
		drop(conn)
	}
}

// rollBack ends a transaction, with the connection if need be.
func rollBack(ctx context.Context, conn *sql.Conn) {
	if _, err := conn.ExecContext(ctx, rollback); err != nil {
		drop(conn)
	}
}

// drop keeps a connection from going back to the pool.
func drop(conn *sql.Conn) { conn.Raw(func(any) error { return driver.ErrBadConn }) }

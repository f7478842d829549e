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
	phaseConnect phase = iota
	phaseBegin
	phaseInsert
	phaseCommit
	phaseHighWater
)

// String names a phase in errors and records.
func (p phase) String() string {
	return [...]string{"a connection", "the beginning of a transaction", "the insert", "the commit", "the high-water file"}[p]
}

// try is what the tries of one Assign share. They run one after the other.
type assignment struct {
	d     *Disposable
	log   *safelog.Queue
	node  Node
	phase atomic.Int32 // of the try that runs; written by it, read by its timer
}

// run inserts a row and returns its key: in a transaction that is committed, on a connection that
// is given back without one, or dropped.
func (t *assignment) attempt(ctx context.Context) (key int64, failed *failure) {
	defer func() {
		if v := recover(); v != nil {
			err := fmt.Errorf("the driver, or what it calls, panicked: %v", v)
			key, failed = 0, &failure{err: err, action: actionStop, advice: adviceUnknown}
		}
	}()
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, t.d.cfg.attemptTimeout)
	defer cancel()
	t.setPhase(phaseConnect)
	defer t.warnIfSlow()()

	conn, err := t.d.db.Conn(limited)
	if err != nil {
		return 0, t.driverFailure(limited, begin, err)
	}
	defer conn.Close()
	// Only now: while the connection was waited for, another process may have been granted keys by
	// a server that is lost since, and this connection may be to its successor.
	mark, err := t.highWaterMark(ctx)
	if errors.Is(err, ErrTooLow) {
		return 0, t.permanentFailure(err, adviceTooLow)
	} else if err != nil {
		return 0, &failure{err: err, returnAsIs: true}
	}
	key, failed = t.insertRow(limited, begin, conn, mark)
	if failed != nil {
		endTransaction(limited, conn, failed)
		return 0, failed
	}
	if t.d.highWater != nil {
		t.setPhase(phaseHighWater)
		if err := t.d.highWater.raise(ctx, t.log, key); errors.Is(err, ErrTooLow) {
			return 0, t.permanentFailure(t.recordRefusal(ctx, err), adviceTooLow)
		} else if err != nil {
			return 0, &failure{err: err, returnAsIs: true}
		}
	}
	t.checkDurability(ctx, conn)
	return key, nil
}

// The ends of a transaction. Without the additions the session's completion_type decides: CHAIN
// begins another transaction, which would stay open in the pool, and RELEASE ends the connection.
const (
	commitStatement   = "COMMIT AND NO CHAIN NO RELEASE"
	rollbackStatement = "ROLLBACK AND NO CHAIN NO RELEASE"
)

// transact inserts a row in a transaction. The statements of the transaction are executed as any
// others, because a commit by sql.Tx has no context.
func (t *assignment) insertRow(ctx context.Context, begin time.Time, conn *sql.Conn, mark int64) (int64, *failure) {
	t.setPhase(phaseBegin)
	if _, err := conn.ExecContext(ctx, "START TRANSACTION"); err != nil {
		return 0, t.driverFailure(ctx, begin, err)
	}
	t.setPhase(phaseInsert)
	result, err := conn.ExecContext(ctx, insertStatement(t.d.cfg.quotedTable), fitColumn(t.node.HostName), fitColumn(t.node.Port), int(t.node.Type))
	if err != nil {
		return 0, t.driverFailure(ctx, begin, err)
	}
	key, err := result.LastInsertId()
	switch {
	case err != nil:
		return 0, t.permanentFailure(fmt.Errorf("%w: %w", ErrNoKey, maskOwnErrors(err)), "use a driver that returns generated keys, such as go-sql-driver/mysql")
	case key <= 0:
		return 0, t.permanentFailure(fmt.Errorf("%w: it is %d, must be at least 1", ErrNoKey, key),
			"its column ID must be BIGINT AUTO_INCREMENT, as schema.sql makes it")
	case key < t.d.cfg.minWorkerID:
		return 0, t.permanentFailure(fmt.Errorf("%w: it is %d, must be at least %d (WithMinWorkerID)", ErrTooLow, key, t.d.cfg.minWorkerID), adviceTooLow)
	case key <= mark:
		return 0, t.permanentFailure(t.recordRefusal(ctx, fmt.Errorf("%w: it is %d, must be greater than %d, which this host was granted before (%s)",
			ErrTooLow, key, mark, t.d.cfg.highWaterPath)), adviceTooLow)
	}
	t.setPhase(phaseCommit)
	if _, err := conn.ExecContext(ctx, commitStatement); err != nil {
		return 0, t.driverFailure(ctx, begin, err)
	}
	return key, nil
}

// adviceTooLow is what to do about a key that came, or may have come, before.
const adviceTooLow = "the table's counter went back, as after a failover that lost rows or a restored backup: " +
	"raise it beyond all worker IDs that were granted, as schema.sql describes under AFTER A FAILOVER OR A RESTORED BACKUP"

// mark returns the greatest worker ID that this host was granted so far; 0 without a file.
func (t *assignment) highWaterMark(ctx context.Context) (int64, error) {
	if t.d.highWater == nil {
		return 0, nil
	}
	t.setPhase(phaseHighWater)
	return t.d.highWater.check(ctx, t.log)
}

// remember has the high-water file refuse all keys from now on, and returns why.
func (t *assignment) recordRefusal(ctx context.Context, why error) error {
	if err := t.d.highWater.writeRefusal(ctx, t.log, why); err != nil {
		return fmt.Errorf("%w (and that could not be noted: %w)", why, err)
	}
	return why
}

func (t *assignment) setPhase(p phase) { t.phase.Store(int32(p)) }

// watch logs that the try waits for something, if it does so for long. What it returns ends that.
func (t *assignment) warnIfSlow() (end func()) {
	timer := time.AfterFunc(slowPhaseWarning, func() {
		t.log.Log(slog.LevelWarn, "workerassign: waiting for the database", "table", t.d.cfg.table, "server", t.d.server,
			"waiting for", phase(t.phase.Load()).String(), "since", slowPhaseWarning)
	})
	return func() { timer.Stop() }
}

// refused is a fault of this package's making.
func (t *assignment) permanentFailure(err error, advice string) *failure {
	return &failure{err: err, action: actionStop, advice: advice}
}

// fault classifies an error of the driver.
func (t *assignment) driverFailure(ctx context.Context, begin time.Time, err error) *failure {
	if ctx.Err() == nil {
		f := classify(err)
		return &f
	}
	// Whatever the driver makes of it, the time of the try is over.
	waitedFor, advice := phase(t.phase.Load()), adviceNoAnswer
	if waitedFor >= phaseInsert { // what came before was answered
		advice = adviceLocked
	}
	if s := t.d.db.Stats(); waitedFor == phaseConnect && s.MaxOpenConnections > 0 && s.InUse >= s.MaxOpenConnections {
		advice = advicePool
	}
	return &failure{err: &attemptTimeoutError{phase: waitedFor, elapsed: time.Since(begin), err: maskOwnErrors(err)}, action: actionReconnect, advice: advice}
}

// giveBack ends the transaction of a try that failed, so that its connection may go back to the
// pool. One that is to be left is dropped.
func endTransaction(ctx context.Context, conn *sql.Conn, failed *failure) {
	server := (*mysql.MySQLError)(nil)
	if failed.action != actionReconnect && (errors.As(failed.err, &server) || isAnyOf(failed.err, ErrNoKey, ErrTooLow)) {
		rollbackTransaction(ctx, conn)
	} else {
		discardConn(conn)
	}
}

// rollBack ends a transaction, with the connection if need be.
func rollbackTransaction(ctx context.Context, conn *sql.Conn) {
	if _, err := conn.ExecContext(ctx, rollbackStatement); err != nil {
		discardConn(conn)
	}
}

// drop keeps a connection from going back to the pool.
func discardConn(conn *sql.Conn) { conn.Raw(func(any) error { return driver.ErrBadConn }) }

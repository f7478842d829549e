package workerassign

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/sqlstore"
)

// phase is the step of an attempt that is in progress.
type phase int32

const (
	phaseConnect phase = iota
	phaseBegin
	phaseInsert
	phaseCommit
)

// String returns what the phase waits for, as errors and log records say it.
func (p phase) String() string {
	return [...]string{"a connection", "START TRANSACTION", "the insert", "the commit"}[p]
}

// assignment is the state of one Assign. Its attempts run one after the other.
type assignment struct {
	d    *Disposable
	log  *safelog.Queue
	node Node

	// With WithVerification: the token in the row of the current attempt, and the server's clock at its insert.
	token      string
	insertedAt time.Time

	phase     atomic.Int32 // of the current attempt; written by the attempt, read by the timer of warnIfSlow
	executing bool         // whether exec executes a statement
}

// attempt inserts a row, commits it and returns its key. It returns its connection to the pool
// without an open transaction, or discards it.
func (t *assignment) attempt(ctx context.Context) (key int64, failed *failure) {
	var conn *sql.Conn
	defer func() {
		if v := recover(); v != nil {
			if conn != nil {
				sqlstore.CloseAfterPanic(conn, t.executing)
			}
			err := fmt.Errorf("the driver, or a function that it calls, panicked: %v", v)
			key, failed = 0, &failure{err: err, action: sqlstore.Stop, reason: sqlstore.ReasonUnknown}
		}
	}()
	begin := time.Now()
	attemptCtx, cancel := context.WithTimeout(ctx, t.d.cfg.attemptTimeout)
	defer cancel()
	t.executing = false
	t.setPhase(phaseConnect)
	defer t.warnIfSlow()()

	c, err := t.d.db.Conn(attemptCtx)
	if err != nil {
		return 0, t.driverFailure(attemptCtx, begin, err)
	}
	conn = c
	key, failed = t.useConn(ctx, attemptCtx, begin, conn)
	conn.Close() // not after a panic, when it may wait without end
	return key, failed
}

// useConn is the part of attempt with a connection.
func (t *assignment) useConn(ctx, attemptCtx context.Context, begin time.Time, conn *sql.Conn) (int64, *failure) {
	target := t.d.target.Load()
	key, failed := t.insertRow(attemptCtx, begin, conn, target)
	if failed != nil {
		t.endTransaction(attemptCtx, conn, target, failed)
		if corrected, err := t.d.correctGuess(target, failed.err); err != nil {
			return 0, &failure{err: err, returnAsIs: true}
		} else if corrected {
			failed.action = sqlstore.Repeat
		}
		return 0, failed
	}
	t.checkDurability(ctx, conn, target)
	return key, nil
}

// insertRow inserts a row in a transaction, commits it and returns its key. It executes START
// TRANSACTION and COMMIT as ordinary statements, because the Commit method of sql.Tx takes no context.
func (t *assignment) insertRow(ctx context.Context, begin time.Time, conn *sql.Conn, target *insertTarget) (int64, *failure) {
	t.setPhase(phaseBegin)
	if _, err := t.exec(ctx, conn, target.begin); err != nil {
		return 0, t.driverFailure(ctx, begin, err)
	}
	t.setPhase(phaseInsert)
	key, failed := t.execInsert(ctx, begin, conn, target)
	switch {
	case failed != nil:
		return 0, failed
	case key <= 0:
		return 0, t.permanentFailure(fmt.Errorf("%w: the key is %d; must be at least 1", ErrNoKey, key), target.reasonKey)
	case key < t.d.cfg.minWorkerID:
		return 0, t.permanentFailure(fmt.Errorf("%w: the key is %d; must be at least %d (WithMinWorkerID)", ErrTooLow, key, t.d.cfg.minWorkerID), target.reasonTooLow)
	}
	if t.d.cfg.verification != nil {
		if failed := t.readBack(ctx, begin, conn, key); failed != nil {
			return 0, failed
		}
	}
	t.setPhase(phaseCommit)
	if _, err := t.exec(ctx, conn, target.commit); err != nil {
		return 0, t.driverFailure(ctx, begin, err)
	}
	// lib/pq cancels the statement when the context ends. If a commit that waits for a synchronous standby is
	// canceled, PostgreSQL acknowledges it, although no standby has it.
	if err := ctx.Err(); err != nil && target.returnsKey {
		return 0, t.driverFailure(ctx, begin, err)
	}
	return key, nil
}

// exec executes a statement that returns no rows.
func (t *assignment) exec(ctx context.Context, conn *sql.Conn, statement string, args ...any) (sql.Result, error) {
	t.executing = true
	result, err := conn.ExecContext(ctx, statement, args...)
	t.executing = false // not after a panic
	return result, err
}

// execInsert executes the insert statement and returns the key.
func (t *assignment) execInsert(ctx context.Context, begin time.Time, conn *sql.Conn, target *insertTarget) (int64, *failure) {
	node := Node{HostName: fitColumn(t.node.HostName), Port: fitColumn(t.node.Port), Type: t.node.Type}
	if t.d.cfg.verification != nil && target.returnsKey {
		return 0, t.permanentFailure(fmt.Errorf("%w: WithVerification does not support PostgreSQL", ErrOption), sqlstore.ReasonVerificationPostgres)
	}
	if t.d.cfg.verification != nil {
		t.token = newToken() // of its own for each attempt, which may insert a row of its own (R4)
		node.Port = verifiedPort(t.node.Port, t.token)
	}
	statement, args := target.insert(target.table, node)
	if !target.returnsKey {
		result, err := t.exec(ctx, conn, statement, args...)
		if err != nil {
			return 0, t.driverFailure(ctx, begin, err)
		}
		key, err := result.LastInsertId()
		if err != nil {
			return 0, t.permanentFailure(fmt.Errorf("%w: %w", ErrNoKey, maskOwnErrors(err)), sqlstore.ReasonNoKeys)
		}
		return key, nil
	}
	var value, setting any
	switch err := conn.QueryRowContext(ctx, statement, args...).Scan(&value, &setting); {
	case errors.Is(err, sql.ErrNoRows): // a trigger or a rule has prevented the insert
		return 0, t.permanentFailure(fmt.Errorf("%w: the insert returned no row", ErrNoKey), target.reasonKey)
	case err != nil:
		return 0, t.driverFailure(ctx, begin, err)
	}
	key, ok := value.(int64)
	if !ok {
		return 0, t.permanentFailure(fmt.Errorf("%w: the key %v is not an integer", ErrNoKey, value), target.reasonKey)
	}
	return key, nil
}

// readBack looks for the row that was inserted, for the server's clock after the insert, and so that a missing
// privilege is found at once.
func (t *assignment) readBack(ctx context.Context, begin time.Time, conn *sql.Conn, key int64) *failure {
	now, err := t.d.look(ctx, conn, key, t.token)
	switch {
	case err == nil:
		t.insertedAt = now
		return nil
	case isAnyOf(err, errRowLost, errRowMissing):
		return t.permanentFailure(fmt.Errorf("%w: the row with the key %d cannot be found after its insert: %w", ErrNoKey, key, err), sqlstore.ReasonUnknown)
	case errors.Is(err, errReadOnly):
		return &failure{err: err, action: sqlstore.Reconnect, reason: sqlstore.ReasonUnknown}
	}
	failed := t.driverFailure(ctx, begin, err)
	failed.reason = lookReason(failed.reason)
	return failed
}

func (t *assignment) setPhase(p phase) { t.phase.Store(int32(p)) }

// warnIfSlow logs a warning if the attempt takes long, with the phase that it is in. The caller must
// call end when the attempt is over.
func (t *assignment) warnIfSlow() (end func()) {
	timer := time.AfterFunc(slowPhaseWarning, func() {
		t.log.Log(slog.LevelWarn, "workerassign: waiting for the database", "table", t.d.cfg.table, "server", t.d.cfg.server,
			"waiting for", phase(t.phase.Load()).String(), "since", slowPhaseWarning)
	})
	return func() { timer.Stop() }
}

// permanentFailure returns a failure for an error that this package found itself.
func (t *assignment) permanentFailure(err error, reason sqlstore.Reason) *failure {
	return &failure{err: err, action: sqlstore.Stop, reason: reason}
}

// driverFailure returns a failure for an error of the driver.
func (t *assignment) driverFailure(ctx context.Context, begin time.Time, err error) *failure {
	if ctx.Err() == nil {
		f := classify(err)
		return &f
	}
	// The attempt's context has ended, whatever error the driver returns.
	current, reason := phase(t.phase.Load()), sqlstore.ReasonNoAnswer
	if current >= phaseInsert { // the server answered START TRANSACTION
		reason = t.d.target.Load().reasonLocked
	}
	if s := t.d.db.Stats(); current == phaseConnect && s.MaxOpenConnections > 0 && s.InUse >= s.MaxOpenConnections {
		reason = sqlstore.ReasonPool
	}
	return &failure{err: &sqlstore.TimeoutError{Waiting: current.String(), Elapsed: time.Since(begin), Err: maskOwnErrors(err)}, action: sqlstore.Reconnect, reason: reason}
}

// endTransaction rolls back the transaction of an attempt that failed, so that its connection can
// return to the pool. It discards a connection that should not be used again.
func (t *assignment) endTransaction(ctx context.Context, conn *sql.Conn, target *insertTarget, failed *failure) {
	if failed.action != sqlstore.Reconnect && (sqlstore.IsServerError(failed.err) || isAnyOf(failed.err, ErrNoKey, ErrTooLow)) {
		t.executing = true
		target.rollbackTransaction(ctx, conn)
		t.executing = false // not after a panic
	} else {
		sqlstore.DiscardConn(conn)
	}
}

// rollbackTransaction rolls back the transaction of a connection. If that fails, it discards the
// connection.
func (d *insertDialect) rollbackTransaction(ctx context.Context, conn *sql.Conn) {
	if _, err := conn.ExecContext(ctx, d.rollback); err != nil {
		sqlstore.DiscardConn(conn)
	}
}

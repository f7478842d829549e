package segment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/sqlstore"
)

// tableAttempt is one attempt of a method of Table, with one connection.
type tableAttempt struct {
	t         *Table
	conn      *sql.Conn
	d         tableDialect
	quoted    string // the name of the table
	conflicts int    // how many attempts before this one ended with a conflict

	waiting       string // what the attempt waits for at present
	mayWait       bool   // whether it may wait for a lock
	executing     bool   // whether exec executes a statement
	inTransaction bool   // on PostgreSQL, whether a transaction is open
	unknown       bool   // whether a statement was sent that may have written something durable
}

// errTableChanged is returned by an operation that found a row which was changed meanwhile.
var errTableChanged = fmt.Errorf("%w: the row was not changed although it allows that: others change it all the time, the column max_id is "+
	"too small, or a trigger or a rule prevents it", ErrSource)

// try calls f with a connection. If f fails so that nothing was written, and another connection or another try may
// help, it calls f again. f ends its transaction, unless it returns an error of the driver.
func (t *Table) try(ctx context.Context, f func(context.Context, *tableAttempt) error) error {
	if err := t.check(); err != nil {
		return err
	}
	idle := t.db.Stats().Idle // connections that may lead to the same failed server
	var conflicts, changes, reconnects int
	begin := time.Now()
	pauses := sqlstore.Backoff{Initial: 2 * time.Millisecond, Maximum: 100 * time.Millisecond}
	for {
		failed := t.tryOnce(ctx, conflicts, f)
		if failed == nil || ctx.Err() != nil {
			return t.result(ctx, failed)
		}
		switch {
		case failed.rolledBack && time.Since(begin) < t.cfg.attemptTimeout:
			conflicts++
			sqlstore.Sleep(ctx, pauses.Pause(conflicts)) // the next attempt finds that ctx has ended
		case errors.Is(failed.err, errTableChanged) && changes < maxTableChanges:
			changes++
		case failed.reconnect && reconnects <= idle:
			reconnects++
		default:
			return t.result(ctx, failed)
		}
	}
}

// tableFailure is the error of an attempt.
type tableFailure struct {
	err        error
	isOwn      bool            // an error of this package, with its own advice
	reason     sqlstore.Reason // for an error of the driver
	waiting    string          // what the attempt was waiting for
	rolledBack bool            // the server rolled the transaction back: nothing was written
	reconnect  bool            // nothing was written, and another connection may work
}

// tryOnce is one attempt of try.
func (t *Table) tryOnce(ctx context.Context, conflicts int, f func(context.Context, *tableAttempt) error) (failed *tableFailure) {
	a := &tableAttempt{t: t, conflicts: conflicts, waiting: "a connection"}
	defer func() {
		if v := recover(); v != nil {
			err := fmt.Errorf("the driver, or a function that it calls, panicked: %v", v)
			failed = &tableFailure{err: err, reason: sqlstore.ReasonUnknown}
			if a.conn != nil {
				sqlstore.CloseAfterPanic(a.conn, a.executing)
			}
		}
	}()
	begin := time.Now()
	attemptCtx, cancel := context.WithTimeout(ctx, t.cfg.attemptTimeout)
	defer cancel()
	conn, err := t.db.Conn(attemptCtx)
	if err != nil {
		return t.driverFailure(attemptCtx, begin, a, err)
	}
	a.conn = conn
	failed = t.useConn(attemptCtx, begin, a, f)
	conn.Close() // not after a panic
	return failed
}

// useConn is the part of tryOnce with a connection.
func (t *Table) useConn(attemptCtx context.Context, begin time.Time, a *tableAttempt, f func(context.Context, *tableAttempt) error) *tableFailure {
	err := a.prepare(attemptCtx)
	if err == nil {
		err = f(attemptCtx, a)
	}
	if err == nil {
		return nil
	}
	if own := (ownError{}); errors.As(err, &own) {
		return &tableFailure{err: own.error, isOwn: true}
	}
	failed := t.driverFailure(attemptCtx, begin, a, err)
	if action, _ := sqlstore.Classify(err); attemptCtx.Err() != nil || action == sqlstore.Reconnect || !sqlstore.IsServerError(err) {
		sqlstore.DiscardConn(a.conn)
	} else {
		a.rollback(attemptCtx)
	}
	return failed
}

// prepare finds the dialect of the server, which that of the first connection decides, and checks the table.
func (a *tableAttempt) prepare(ctx context.Context) error {
	t := a.t
	t.mu.Lock()
	d, inspected := t.dialect, t.inspected
	t.mu.Unlock()
	if d == nil {
		a.waiting = "the server's version"
		var err error
		if d, err = detectTableDialect(ctx, a.conn); err != nil {
			return err
		}
		t.mu.Lock()
		t.dialect = d
		t.mu.Unlock()
	}
	a.d = d
	var err error
	if a.quoted, err = d.quote(t.cfg.table); err != nil {
		return ownErrorf("%w: %w", ErrOption, err)
	}
	if time.Since(inspected) < engineLifetime && !inspected.IsZero() {
		return nil
	}
	a.waiting = "the table's storage engine"
	if err := d.inspect(ctx, a); err != nil {
		return err
	}
	t.mu.Lock()
	t.inspected = time.Now()
	t.mu.Unlock()
	return nil
}

// exec executes a statement that has no result.
func (a *tableAttempt) exec(ctx context.Context, waiting, statement string, args ...any) (sql.Result, error) {
	a.waiting, a.executing = waiting, true
	result, err := a.conn.ExecContext(ctx, statement, args...)
	a.executing = false // not after a panic
	return result, err
}

// rollback ends a transaction that is not to be committed. If that fails, the connection is discarded.
func (a *tableAttempt) rollback(ctx context.Context) {
	if a.d == nil || a.d.isPostgres() && !a.inTransaction {
		return
	}
	_, err := a.exec(ctx, "the rollback", a.d.rollback())
	if err != nil && sqlstore.IsRolledBack(err) { // because of a conflict on another node, before this statement
		_, err = a.exec(ctx, "the rollback", a.d.rollback())
	}
	if err != nil {
		sqlstore.DiscardConn(a.conn)
	}
}

// refuse rolls back and returns an error of this package.
func (a *tableAttempt) refuse(ctx context.Context, err error) error {
	a.rollback(ctx)
	return ownError{err}
}

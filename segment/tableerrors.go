package segment

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/internal/sqlstore"
)

// driverFailure returns a failure for an error of the driver.
func (t *Table) driverFailure(ctx context.Context, begin time.Time, a *tableAttempt, err error) *tableFailure {
	f := &tableFailure{err: maskOwnErrors(err), waiting: a.waiting}
	if ctx.Err() != nil { // whatever error the driver returns
		f.err = &sqlstore.TimeoutError{Waiting: a.waiting, Elapsed: time.Since(begin), Err: f.err}
		f.reason = sqlstore.ReasonNoAnswer
		switch s := t.db.Stats(); {
		case a.conn == nil && s.MaxOpenConnections > 0 && s.InUse >= s.MaxOpenConnections:
			f.reason = sqlstore.ReasonPool
		case a.mayWait:
			f.reason = a.d.reasonLocked()
		}
		return f
	}
	if errors.Is(err, errOpenTransaction) { // tryOnce closes the connection
		f.reason, f.reconnect = sqlstore.ReasonOpenTransaction, true
		return f
	}
	action, reason := sqlstore.Classify(err)
	f.reason = reason
	var server *mysql.MySQLError
	switch state, isPostgres := sqlstore.SQLState(err); {
	case isPostgres && state == "42883": // no operator for these types
		f.reason = sqlstore.ReasonColumnsPostgres
	case errors.As(err, &server) && server.Number == 1292: // a text that is no number
		f.reason = sqlstore.ReasonColumns
	}
	f.rolledBack = sqlstore.IsRolledBack(err)
	// With ErrBadConn, go-sql-driver/mysql did not send the statement. lib/pq may have sent it.
	f.reconnect = action == sqlstore.Reconnect &&
		(!a.unknown || sqlstore.IsRefused(err) || errors.Is(err, driver.ErrBadConn) && a.d != nil && !a.d.isPostgres())
	return f
}

// result returns the error of a method for its last failure.
func (t *Table) result(ctx context.Context, f *tableFailure) error {
	switch {
	case f == nil:
		return nil
	case ctx.Err() != nil && !f.isOwn:
		return fmt.Errorf("segment: %s: %w while waiting for %s", t, ctx.Err(), f.waiting)
	case f.isOwn:
		return f.err
	}
	advice := f.reason.Advice(sqlstore.Tags)
	switch f.reason {
	case sqlstore.ReasonTable, sqlstore.ReasonColumns, sqlstore.ReasonKey, sqlstore.ReasonTablePostgres, sqlstore.ReasonSchemaPostgres,
		sqlstore.ReasonColumnsPostgres, sqlstore.ReasonKeyPostgres:
		return fmt.Errorf("%w: %s: %w; %s", ErrSource, t, f.err, advice)
	}
	return fmt.Errorf("segment: %s: %w; %s", t, f.err, advice)
}

// tableErrors returns the errors that have a meaning for callers.
func tableErrors() []error {
	return []error{ErrOption, ErrTag, ErrNoTag, ErrTagExists, ErrSetBack, ErrExhausted, ErrEmpty, ErrSource, ErrClosed, ErrBusy}
}

// ownError is an error that this package has found, not one of the driver.
type ownError struct{ error }

// ownErrorf is fmt.Errorf for an ownError.
func ownErrorf(format string, args ...any) error { return ownError{fmt.Errorf(format, args...)} }

// maskOwnErrors returns an error of the driver, or of a function that the user gave to the driver, such that errors.Is
// matches none of this package's errors.
func maskOwnErrors(err error) error { return sqlstore.Mask(err, tableErrors()...) }

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

// tableAdvice returns what to do about errors of a Table.
func tableAdvice() sqlstore.Advice {
	return sqlstore.Advice{
		Unknown: "trying again would not help: correct the cause",
		Table:   "the table does not exist: apply schema.sql, or set the table's name by WithTable",
		Access: "the account may not use this database: check the database's name in the DSN, or grant the account " +
			"the privileges in schema.sql under PRIVILEGES ON TAGS",
		Grant:   "the account lacks a privilege: grant it those in schema.sql under PRIVILEGES ON TAGS",
		Columns: "the table has the wrong columns: compare its columns with schema.sql",
		Key:     "the table has the wrong columns, max_id must be BIGINT: compare its columns with schema.sql",
		Closed:  "the pool was closed: close it only after the sequences that use it",
		TablePostgres: "the table does not exist: apply schema.postgres.sql in the database of the DSN, " +
			"set the table's name by WithTable, or check search_path",
		SchemaPostgres:  "the schema does not exist: apply schema.postgres.sql, or set the table's name by WithTable",
		GrantPostgres:   "the account lacks a privilege: grant it those in schema.postgres.sql under PRIVILEGES ON TAGS",
		ColumnsPostgres: "the table has the wrong columns: compare its columns with schema.postgres.sql",
		KeyPostgres:     "the table has the wrong columns, max_id must be BIGINT: compare its columns with schema.postgres.sql",
		EncodingPostgres: "the database's encoding lacks a character of the tag or its description: use a database with the " +
			"encoding UTF8, or another name",
	}
}

// driverFailure returns a failure for an error of the driver.
func (t *Table) driverFailure(ctx context.Context, begin time.Time, a *tableAttempt, err error) *tableFailure {
	f := &tableFailure{err: maskOwnErrors(err), waiting: a.waiting}
	if ctx.Err() != nil { // whatever error the driver returns
		f.err = &sqlstore.TimeoutError{Waiting: a.waiting, Elapsed: time.Since(begin), Err: f.err}
		f.advice = sqlstore.AdviceNoAnswer
		switch s := t.db.Stats(); {
		case a.conn == nil && s.MaxOpenConnections > 0 && s.InUse >= s.MaxOpenConnections:
			f.advice = sqlstore.AdvicePool
		case a.mayWait:
			f.advice = a.d.adviceLocked()
		}
		return f
	}
	if errors.Is(err, errOpenTransaction) { // tryOnce closes the connection
		f.advice, f.reconnect = "commit or roll back whatever begins a transaction, also with db.Exec(\"BEGIN\")", true
		return f
	}
	action, advice := sqlstore.Classify(err, tableAdvice())
	f.advice = advice
	var server *mysql.MySQLError
	switch state, isPostgres := sqlstore.SQLState(err); {
	case isPostgres && state == "42883": // no operator for these types
		f.advice = tableAdvice().ColumnsPostgres
	case errors.As(err, &server) && server.Number == 1292: // a text that is no number
		f.advice = tableAdvice().Columns
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
	switch a := tableAdvice(); f.advice {
	case a.Table, a.Columns, a.Key, a.TablePostgres, a.SchemaPostgres, a.ColumnsPostgres, a.KeyPostgres:
		return fmt.Errorf("%w: %s: %w; %s", ErrSource, t, f.err, f.advice)
	}
	return fmt.Errorf("segment: %s: %w; %s", t, f.err, f.advice)
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

package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/segment"
)

// tagAttempt is one attempt of Take or CreateTag, with one connection.
type tagAttempt struct {
	*sqlattempt.Attempt
	t         *tagTable
	d         tagDialect
	quoted    string // the name of the table
	conflicts int    // how many attempts before this one ended with a conflict
}

// errTableChanged is returned by an operation that found a row which was changed meanwhile.
var errTableChanged = fmt.Errorf("%w: the row was not changed although it allows that: others change it all the time, the column max_id is "+
	"too small, or a trigger or a rule prevents it", segment.ErrSource)

// try calls f with a connection. If f fails so that nothing was written, and another connection or another try may
// help, it calls f again.
func (t *tagTable) try(ctx context.Context, f func(context.Context, *tagAttempt) error) error {
	idle := t.db.Stats().Idle // connections that may lead to the same failed server
	var conflicts, changes, reconnects int
	begin := time.Now()
	runner := sqlattempt.Runner{DB: t.db, Timeout: t.cfg.attemptTimeout, Hidden: tagErrors()}
	pauses := backoff.Pauses{Initial: 2 * time.Millisecond, Maximum: 100 * time.Millisecond}
	for {
		failed := runner.Run(ctx, func(ctx context.Context, attempt *sqlattempt.Attempt) error {
			a := &tagAttempt{Attempt: attempt, t: t, conflicts: conflicts}
			if err := a.prepare(ctx); err != nil {
				return err
			}
			return f(ctx, a)
		})
		if failed == nil || ctx.Err() != nil {
			return t.result(ctx, failed)
		}
		switch {
		case failed.RolledBack && time.Since(begin) < t.cfg.attemptTimeout:
			conflicts++
			backoff.Sleep(ctx, pauses.After(conflicts)) // the next attempt finds that ctx has ended
		case errors.Is(failed, errTableChanged) && changes < maxTableChanges:
			changes++
		case failed.Action == sqlattempt.Reconnect && failed.Unwritten && reconnects <= idle:
			reconnects++
		default:
			if failed.Action == sqlattempt.Stop && failed.Reason != "" { // the server may have been replaced by one of another kind
				t.mu.Lock()
				t.dialect = nil
				t.mu.Unlock()
			}
			return t.result(ctx, failed)
		}
	}
}

// prepare finds the dialect of the server, which that of the first connection decides, and checks the table.
func (a *tagAttempt) prepare(ctx context.Context) error {
	t := a.t
	t.mu.Lock()
	d, inspected := t.dialect, t.inspected
	t.mu.Unlock()
	if d == nil {
		a.Wait("the server's version")
		base, err := sqlattempt.Detect(ctx, a.Conn)
		if err != nil {
			return err
		}
		d = mysqlTags{base}
		if base.Kind == sqlattempt.Postgres {
			d = postgresTags{base}
		}
		t.mu.Lock()
		t.dialect = d
		t.mu.Unlock()
	}
	a.d, a.Dialect = d, d.Base()
	a.Open = !a.isPostgres() // with autocommit off, a read has begun a transaction
	var err error
	if a.quoted, err = a.Dialect.Quote(t.cfg.tagTable); err != nil {
		return ownTagError(fmt.Errorf("%w: %w", segment.ErrOption, err))
	}
	if time.Since(inspected) < engineLifetime && !inspected.IsZero() {
		return nil
	}
	a.Wait("the table's storage engine")
	if err := d.inspect(ctx, a); err != nil {
		return err
	}
	t.mu.Lock()
	t.inspected = time.Now()
	t.mu.Unlock()
	return nil
}

func (a *tagAttempt) isPostgres() bool { return a.Dialect.Kind == sqlattempt.Postgres }

// ownTagError returns an error that this package has found, and that says what to do.
func ownTagError(err error) error { return sqlattempt.Found(err, "") }

// result returns the error of a method for its last failure.
func (t *tagTable) result(ctx context.Context, f *sqlattempt.Failure) error {
	switch {
	case f == nil:
		return nil
	case f.Reason == "":
		return f.Err
	case ctx.Err() != nil:
		return fmt.Errorf("sqlstore: %s: %w while waiting for %s", t, ctx.Err(), f.Waiting)
	}
	advice := f.Reason.Advice(sqlattempt.Tags)
	switch f.Reason {
	case sqlattempt.ReasonTable, sqlattempt.ReasonColumns, sqlattempt.ReasonKey, sqlattempt.ReasonTablePostgres, sqlattempt.ReasonSchemaPostgres,
		sqlattempt.ReasonColumnsPostgres, sqlattempt.ReasonKeyPostgres:
		return fmt.Errorf("%w: %s: %w; %s", segment.ErrSource, t, f.Err, advice)
	}
	return fmt.Errorf("sqlstore: %s: %w; %s", t, f.Err, advice)
}

// tagErrors returns the errors that have a meaning for callers.
func tagErrors() []error {
	return []error{segment.ErrOption, segment.ErrTag, segment.ErrNoTag, segment.ErrTagExists, segment.ErrSetBack, segment.ErrExhausted, segment.ErrEmpty, segment.ErrSource, segment.ErrClosed, segment.ErrBusy}
}

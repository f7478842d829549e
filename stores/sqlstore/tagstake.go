package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/segment"
)

// take is one attempt of Take. It returns a result of own, or an error of the driver.
func (a *tagAttempt) take(ctx context.Context, r segment.Request) (segment.Range, error) {
	for synchronized := false; ; {
		result, err := a.d.raise(ctx, a, r)
		if err != nil {
			return segment.Range{}, err
		}
		if result.changed > 0 {
			taken, err := a.t.takenRange(result, r)
			if err != nil {
				return segment.Range{}, ownTagError(err)
			}
			return taken, a.commit(ctx)
		}
		last, err := a.t.refusal(result.rows, r)
		if err == nil {
			return a.takeLast(ctx, r, last)
		}
		if synchronized || !sqlattempt.IsAnyOf(err, segment.ErrSetBack, segment.ErrNoTag) {
			return segment.Range{}, ownTagError(err)
		}
		// The node of a cluster may not have applied yet what another node has acknowledged.
		a.RollBack(ctx)
		var driverErr error
		if synchronized, driverErr = a.d.synchronize(ctx, a, r.Tag); driverErr != nil {
			return segment.Range{}, driverErr
		}
		if !synchronized {
			return segment.Range{}, ownTagError(err)
		}
	}
}

// takeLast takes the last numbers of a tag, or reports errTableChanged.
func (a *tagAttempt) takeLast(ctx context.Context, r segment.Request, last segment.Range) (segment.Range, error) {
	if last.Length == 0 {
		return segment.Range{}, ownTagError(errTableChanged)
	}
	changed, err := a.d.raiseLast(ctx, a, r.Tag, last.First)
	switch {
	case err != nil:
		return segment.Range{}, err
	case changed != 1:
		return segment.Range{}, ownTagError(errTableChanged)
	}
	a.Wait("the row")
	rows, err := a.d.read(ctx, a, r.Tag)
	if err != nil {
		return segment.Range{}, err
	}
	if counter, _, err := a.t.values(rows, r.Tag); err != nil {
		return segment.Range{}, ownTagError(err)
	} else if counter != maxCounter {
		return segment.Range{}, ownTagError(fmt.Errorf("%w: max_id of the tag %q in %s is %d after it was set to %d: a trigger changes it", segment.ErrSource, r.Tag, a.t, counter, int64(maxCounter)))
	}
	return last, a.commit(ctx)
}

// takenRange returns the range of a row whose counter was raised, or an error of this package.
func (t *tagTable) takenRange(result raised, r segment.Request) (segment.Range, error) {
	counter, step, err := t.values(result.rows, r.Tag)
	if err != nil {
		return segment.Range{}, err
	}
	length := cmp.Or(r.Size, step)
	if result.reported && (counter-result.before != length || result.added > 0 && result.added != length) {
		return segment.Range{}, fmt.Errorf("%w: max_id of the tag %q in %s was %d, and is %d after %d was added: the table has no transactions, the column is too small, "+
			"a proxy splits the transaction, or a trigger changes it or step", segment.ErrSource, r.Tag, t, result.before, counter, length)
	}
	taken := segment.Range{First: counter - length, Length: length, Stride: 1, Step: step}
	if taken.First < r.AtLeast || taken.First < 0 {
		return segment.Range{}, fmt.Errorf("%w: max_id of the tag %q in %s is %d after %d was added, which must be at least %d more than %d: a trigger changes it",
			segment.ErrSource, r.Tag, t, counter, length, length, r.AtLeast)
	}
	return taken, nil
}

// refusal returns why the counter was not raised: the last range, if only fewer numbers are left, or an error of this
// package. If there is no reason, because the row was changed meanwhile, the range has no numbers.
func (t *tagTable) refusal(rows []tagRow, r segment.Request) (last segment.Range, err error) {
	counter, step, err := t.values(rows, r.Tag)
	if err != nil {
		return segment.Range{}, err
	}
	length := cmp.Or(r.Size, step)
	switch left := maxCounter - counter; {
	case counter < r.AtLeast:
		return segment.Range{}, &segment.SetBackError{Tag: r.Tag, Counter: counter, AtLeast: r.AtLeast}
	case left == 0:
		return segment.Range{}, fmt.Errorf("%w: max_id of the tag %q in %s is %d, the greatest number: use another tag", segment.ErrExhausted, r.Tag, t, counter)
	case left < length:
		return segment.Range{First: counter, Length: left, Stride: 1, Step: step}, nil
	}
	return segment.Range{}, nil
}

// create is one attempt of CreateTag.
func (a *tagAttempt) create(ctx context.Context, tag string, c segment.TagConfig) error {
	if err := a.Begin(ctx, a.Dialect.Begin()); err != nil {
		return err
	}
	a.MayWait = true
	a.Wait("the insert")
	err := a.d.insert(ctx, a, tag, c)
	if sqlattempt.IsDuplicate(err) {
		a.RollBack(ctx)
		a.Open = !a.isPostgres()
		a.Wait("the row")
		rows, err := a.d.read(ctx, a, tag)
		if err != nil {
			return err
		}
		return ownTagError(a.t.exists(rows, tag)) // with autocommit off, the read has begun a transaction
	}
	if err != nil {
		return err
	}
	a.Wait("the row")
	rows, err := a.d.read(ctx, a, tag)
	if err != nil {
		return err
	}
	counter, step, err := a.t.values(rows, tag)
	if err == nil && (counter != c.Start || step != c.Step) {
		err = fmt.Errorf("%w: the row of the new tag %q in %s has max_id %d and step %d; must be %d and %d: a column is too small, or a trigger changes it",
			segment.ErrSource, tag, a.t, counter, step, c.Start, c.Step)
	}
	if err != nil {
		return ownTagError(err)
	}
	return a.commit(ctx)
}

// exists returns the error for a row that could not be inserted because one with its key exists.
func (t *tagTable) exists(rows []tagRow, tag string) error {
	switch {
	case len(rows) == 0:
		return errTableChanged // the row was deleted meanwhile
	case rows[0].tag != tag:
		return fmt.Errorf("%w: %q: %s has the tag %q, which the column's collation does not distinguish from it: "+
			"use another name, or give the column the collation utf8mb4_bin, as in schema.sql", segment.ErrTag, tag, t, rows[0].tag)
	}
	return fmt.Errorf("%w: %s has the tag %q", segment.ErrTagExists, t, tag)
}

// commit commits the transaction, if there is one.
func (a *tagAttempt) commit(ctx context.Context) error {
	if a.Open {
		a.Unsure = true
		if _, err := a.Exec(ctx, "the commit", a.Dialect.Commit()); err != nil {
			return err
		}
	}
	if !a.isPostgres() {
		return nil
	}
	if !a.Open {
		if err := a.checkCommitted(ctx); err != nil {
			return err
		}
	}
	// A server may acknowledge a commit that the driver has canceled, because ctx has ended, before it is durable:
	// PostgreSQL does, while the commit waits for a synchronous standby.
	return ctx.Err()
}

// errOpenTransaction is the error for a connection on which its last user has left a transaction open. What a Take
// wrote on it is rolled back when the connection is closed.
var errOpenTransaction = errors.New("the connection had an open transaction: code that uses the pool did not end it")

// checkCommitted returns an error if the statement before, of PostgreSQL, has not committed, because it became part
// of a transaction that was open already. It has a transaction ID then. lib/pq hands out such connections; pgx does
// not, since version 5.9.0.
func (a *tagAttempt) checkCommitted(ctx context.Context) error {
	a.Wait("the check of the commit")
	var open bool
	err := a.Conn.QueryRowContext(ctx, "SELECT txid_current_if_assigned() IS NOT NULL").Scan(&open)
	if err == nil && open {
		failed := sqlattempt.Found(errOpenTransaction, sqlattempt.ReasonOpenTransaction)
		failed.Action, failed.Unwritten = sqlattempt.Reconnect, true
		return failed
	}
	return err
}

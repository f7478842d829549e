package sqlstore

import (
	"context"
	"fmt"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/segment"
)

// postgresTags is the dialect of PostgreSQL.
type postgresTags struct{ sqlattempt.Dialect }

// inspect implements tagDialect: all tables have transactions.
func (d postgresTags) inspect(context.Context, *tagAttempt) error { return nil }

// The condition that a row has exactly the tag $1. The first comparison, which may use the index, is that of the
// column's collation, and the second one is that of the bytes.
const wherePostgresTag = `biz_tag = $1 AND CAST(biz_tag AS text) COLLATE "C" = CAST($1 AS text) COLLATE "C"`

// raise implements tagDialect. It is a single statement, which commits, so that a process that is paused in between
// holds no lock. After a conflict, which happens at other isolation levels than READ COMMITTED, it is part of a
// transaction.
//
// The row is read and locked before it is updated, so that a trigger that changes max_id or step is noticed, and a
// step that is generated: RETURNING returns what triggers have made of the row.
//
// synchronous_commit is set to on if it is off: otherwise the server acknowledges what it may lose.
func (d postgresTags) raise(ctx context.Context, a *tagAttempt, r segment.Request) (result raised, err error) {
	if a.conflicts > 0 {
		if err := a.Begin(ctx, a.Dialect.Begin()); err != nil {
			return result, err
		}
	}
	a.MayWait, a.Unsure = true, !a.Open
	args := []any{r.Tag, r.AtLeast}
	added, fits := "step", fmt.Sprintf("CASE WHEN step BETWEEN 1 AND %d THEN max_id <= %d - step ELSE false END", int64(segment.MaxStep), int64(maxCounter))
	if r.Size > 0 {
		added = "CAST($3 AS bigint)"
		fits = fmt.Sprintf("step BETWEEN 1 AND %d AND max_id <= %d - CAST($3 AS bigint)", int64(segment.MaxStep), int64(maxCounter))
		args = append(args, r.Size)
	}
	where := " WHERE " + wherePostgresTag + " AND max_id >= CAST($2 AS bigint) AND " + fits
	a.Wait("the update")
	result.rows, err = a.query(ctx, "UPDATE "+a.quoted+" SET max_id = max_id + "+added+", update_time = CURRENT_TIMESTAMP"+
		" FROM (SELECT biz_tag AS found_tag, max_id AS found FROM "+a.quoted+where+" FOR UPDATE) AS before"+where+" AND biz_tag = found_tag"+
		" RETURNING CAST(biz_tag AS text), max_id, step, found, "+sqlattempt.WaitForCommit, args...)
	if err != nil {
		return result, err
	}
	if len(result.rows) == 1 {
		result.before, result.reported = integer(result.rows[0].rest)
	}
	a.Unsure = false // the server has answered
	if result.changed = int64(len(result.rows)); result.changed > 0 {
		return result, nil
	}
	result.rows, err = d.read(ctx, a, r.Tag)
	return result, err
}

// raiseLast implements tagDialect.
func (d postgresTags) raiseLast(ctx context.Context, a *tagAttempt, tag string, seen int64) (int64, error) {
	a.Wait("the update")
	a.Unsure = !a.Open
	rows, err := a.query(ctx, fmt.Sprintf("UPDATE %s SET max_id = %d, update_time = CURRENT_TIMESTAMP WHERE %s AND max_id = CAST($2 AS bigint)"+
		" AND step BETWEEN 1 AND %d RETURNING CAST(biz_tag AS text), max_id, step, %s",
		a.quoted, int64(maxCounter), wherePostgresTag, int64(segment.MaxStep), sqlattempt.WaitForCommit), tag, seen)
	return int64(len(rows)), err
}

// insert implements tagDialect.
func (d postgresTags) insert(ctx context.Context, a *tagAttempt, tag string, c segment.TagConfig) error {
	var description any
	if c.Description != "" {
		description = c.Description
	}
	_, err := a.query(ctx, "INSERT INTO "+a.quoted+" (biz_tag, max_id, step, description) VALUES ($1, $2, $3, $4)"+
		" RETURNING CAST(biz_tag AS text), max_id, step, "+sqlattempt.WaitForCommit, tag, c.Start, c.Step, description)
	return err
}

// read implements tagDialect.
func (d postgresTags) read(ctx context.Context, a *tagAttempt, tag string) ([]tagRow, error) {
	return a.query(ctx, "SELECT CAST(biz_tag AS text), max_id, step FROM "+a.quoted+" WHERE biz_tag = $1", tag)
}

// synchronize implements tagDialect.
func (d postgresTags) synchronize(context.Context, *tagAttempt, string) (bool, error) {
	return false, nil
}

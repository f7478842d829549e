package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/segment"
)

// mysqlTags is the dialect of MariaDB, MySQL and TiDB. Its statements have no parameters, so that none is prepared:
// with prepared statements on a Galera cluster, MariaDB 10.11 has hidden from clients that a transaction was rolled
// back, and numbers were handed out twice.
type mysqlTags struct{ sqlattempt.Dialect }

// inspect implements tagDialect. Without transactions, another writer's UPDATE may come between this one's and its
// SELECT.
func (d mysqlTags) inspect(ctx context.Context, a *tagAttempt) error {
	if d.IsTiDB() {
		return nil
	}
	engine, err := sqlattempt.OtherEngine(ctx, a.Conn, a.quoted)
	if err != nil {
		return err
	}
	if engine != "" {
		return ownTagError(fmt.Errorf("%w: the storage engine of %s is %s; must be InnoDB, which has transactions: ALTER TABLE %s ENGINE = InnoDB",
			segment.ErrSource, a.t, engine, a.quoted))
	}
	return nil
}

// whereTag is a condition: the row of exactly this tag. The first comparison, which may use the index, is that of the
// column's collation, and the second one is that of the bytes.
func (d mysqlTags) whereTag(tag string) string {
	literal := sqlattempt.MySQLText(tag)
	return "biz_tag = " + literal + " AND CAST(CONVERT(biz_tag USING utf8mb4) AS BINARY) = CAST(" + literal + " AS BINARY)"
}

// raise implements tagDialect. What it adds is a literal: if that is the row's step, it reads the step before, and
// the UPDATE compares it.
func (d mysqlTags) raise(ctx context.Context, a *tagAttempt, r segment.Request) (raised, error) {
	if !a.t.hidesInsertIDs() {
		result, isKnown, err := d.raiseReported(ctx, a, r)
		if isKnown || err != nil {
			return result, err
		}
		a.t.setHidesInsertIDs()
		a.RollBack(ctx)
	}
	return d.raiseCompared(ctx, a, r)
}

// raiseReported is raise with an UPDATE that reports what it has found: LAST_INSERT_ID(x) is x, and the reply to the
// statement has that as its insert ID. So the range follows from a single statement. The SELECT after it does not
// decide anything: a proxy that splits reads from writes may send it to another connection or another server, also in
// a transaction, where it may find the counter, and LAST_INSERT_ID(), of another process. It notices a trigger that
// changes max_id, a column that is too small, and a proxy.
//
// isKnown is false if something was changed, and the reply does not say what was found. A trigger that executes
// statements hides it, and so may a driver.
func (d mysqlTags) raiseReported(ctx context.Context, a *tagAttempt, r segment.Request) (result raised, isKnown bool, err error) {
	size, step := r.Size, "step BETWEEN 1 AND "+strconv.FormatInt(segment.MaxStep, 10)
	if size == 0 {
		a.Wait("the row")
		rows, err := d.read(ctx, a, r.Tag)
		if err != nil {
			return raised{}, false, err
		}
		if _, size, err = a.t.values(rows, r.Tag); err != nil {
			return raised{rows: rows}, true, nil // the caller finds the same error
		}
		step = "step = " + strconv.FormatInt(size, 10)
	}
	if err := a.Begin(ctx, a.Dialect.Begin()); err != nil {
		return raised{}, false, err
	}
	a.MayWait = true
	update, err := a.Exec(ctx, "the update", fmt.Sprintf("UPDATE %s SET max_id = LAST_INSERT_ID(max_id + 1) + %d WHERE %s AND %s AND max_id BETWEEN %d AND %d",
		a.quoted, size-1, d.whereTag(r.Tag), step, r.AtLeast, maxCounter-size))
	if err != nil {
		return raised{}, false, err
	}
	if result.changed, err = update.RowsAffected(); err != nil {
		return raised{}, false, err
	}
	if result.rows, err = d.read(ctx, a, r.Tag); err != nil || result.changed == 0 {
		return result, true, err
	}
	found, err := update.LastInsertId()
	result.before, result.added, result.reported = found-1, size, true
	counter, _, valuesErr := a.t.values(result.rows, r.Tag)
	// If the row is wrong, the caller finds the same error. If the row has another counter than this statement has
	// set, the ID may be that of a trigger.
	return result, valuesErr != nil || err == nil && found > 0 && counter == result.before+size, nil
}

// raiseCompared is raise without insert IDs. It locks the row and reads it, and the UPDATE compares what was read. So
// the range follows from a single statement here, too.
func (d mysqlTags) raiseCompared(ctx context.Context, a *tagAttempt, r segment.Request) (result raised, err error) {
	if err := a.Begin(ctx, a.Dialect.Begin()); err != nil {
		return raised{}, err
	}
	a.Wait("the lock of the row")
	a.MayWait = true
	if result.rows, err = a.query(ctx, d.selectRows(a, r.Tag)+" FOR UPDATE"); err != nil {
		return raised{}, err
	}
	counter, step, err := a.t.values(result.rows, r.Tag)
	if err != nil {
		return result, nil // the caller finds the same error
	}
	size := cmp.Or(r.Size, step)
	if counter < r.AtLeast || counter > maxCounter-size {
		return result, nil
	}
	update, err := a.Exec(ctx, "the update", fmt.Sprintf("UPDATE %s SET max_id = %d WHERE %s AND max_id = %d AND step = %d",
		a.quoted, counter+size, d.whereTag(r.Tag), counter, step))
	if err != nil {
		return raised{}, err
	}
	if result.changed, err = update.RowsAffected(); err != nil {
		return raised{}, err
	}
	result.before, result.added, result.reported = counter, size, true
	result.rows, err = d.read(ctx, a, r.Tag)
	return result, err
}

// raiseLast implements tagDialect.
func (d mysqlTags) raiseLast(ctx context.Context, a *tagAttempt, tag string, seen int64) (int64, error) {
	update, err := a.Exec(ctx, "the update", fmt.Sprintf("UPDATE %s SET max_id = %d WHERE %s AND max_id = %d AND step BETWEEN 1 AND %d",
		a.quoted, int64(maxCounter), d.whereTag(tag), seen, int64(segment.MaxStep)))
	if err != nil {
		return 0, err
	}
	return update.RowsAffected()
}

// insert implements tagDialect.
func (d mysqlTags) insert(ctx context.Context, a *tagAttempt, tag string, c segment.TagConfig) error {
	description := "NULL"
	if c.Description != "" {
		description = sqlattempt.MySQLText(c.Description)
	}
	_, err := a.Exec(ctx, "the insert", fmt.Sprintf("INSERT INTO %s (biz_tag, max_id, step, description) VALUES (%s, %d, %d, %s)",
		a.quoted, sqlattempt.MySQLText(tag), c.Start, c.Step, description))
	return err
}

// read implements tagDialect.
func (d mysqlTags) read(ctx context.Context, a *tagAttempt, tag string) ([]tagRow, error) {
	return a.query(ctx, d.selectRows(a, tag))
}

// selectRows returns a statement that reads the rows of a tag.
func (d mysqlTags) selectRows(a *tagAttempt, tag string) string {
	return "SELECT CAST(CONVERT(biz_tag USING utf8mb4) AS BINARY), max_id, step FROM " + a.quoted + " WHERE biz_tag = " + sqlattempt.MySQLText(tag)
}

// synchronize implements tagDialect.
func (d mysqlTags) synchronize(ctx context.Context, a *tagAttempt, tag string) (bool, error) {
	if d.IsTiDB() {
		return false, nil
	}
	a.Wait("the cluster")
	settings, err := sqlattempt.ReadVariables(ctx, a.Conn, "wsrep_on")
	if err != nil || !sqlattempt.IsOn(settings["wsrep_on"]) {
		return false, err
	}
	statement := d.selectRows(a, tag)
	if d.IsMariaDB() {
		statement = "SET STATEMENT wsrep_sync_wait = 1 FOR " + statement
	} else {
		statement = "SELECT /*+ SET_VAR(wsrep_sync_wait = 1) */" + statement[len("SELECT"):]
	}
	_, err = a.query(ctx, statement)
	return true, err
}

package segment

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ringuid/ringuid/internal/sqlstore"
)

// mysqlTable is the dialect of MariaDB, MySQL and TiDB. Its statements have no parameters, so that none is prepared: with
// prepared statements on a Galera cluster, MariaDB 10.11 has hidden from clients that a transaction was rolled back, and
// numbers were handed out twice.
type mysqlTable struct{ isTiDB, isMariaDB bool }

func (d mysqlTable) quote(table string) (string, error) { return sqlstore.QuoteMySQL(table) }

func (d mysqlTable) isPostgres() bool { return false }

func (d mysqlTable) adviceLocked() string { return sqlstore.AdviceLocked }

// inspect implements tableDialect. Without transactions, another writer's UPDATE may come between this one's and its
// SELECT.
func (d mysqlTable) inspect(ctx context.Context, a *tableAttempt) error {
	if d.isTiDB {
		return nil
	}
	engine, err := sqlstore.OtherEngine(ctx, a.conn, a.quoted)
	if err != nil {
		return err
	}
	if engine != "" {
		return a.refuse(ctx, fmt.Errorf("%w: the storage engine of %s is %s; must be InnoDB, which has transactions: ALTER TABLE %s ENGINE = InnoDB",
			ErrSource, a.t, engine, a.quoted))
	}
	return nil
}

// begin implements tableDialect. A transaction of TiDB that is not pessimistic may be executed again by the server when it
// is committed, with other results than those that it has returned.
func (d mysqlTable) begin() string {
	if d.isTiDB {
		return "BEGIN PESSIMISTIC"
	}
	return "START TRANSACTION"
}

func (d mysqlTable) commit() string   { return sqlstore.CommitMySQL }
func (d mysqlTable) rollback() string { return sqlstore.RollbackMySQL }

// whereTag is a condition: the row of exactly this tag. The first comparison, which may use the index, is that of the
// column's collation, and the second one is that of the bytes.
func (d mysqlTable) whereTag(tag string) string {
	literal := sqlstore.MySQLText(tag)
	return "biz_tag = " + literal + " AND CAST(CONVERT(biz_tag USING utf8mb4) AS BINARY) = CAST(" + literal + " AS BINARY)"
}

// raise implements tableDialect. LAST_INSERT_ID(x) is x, which the session keeps for LAST_INSERT_ID(). So a table whose rows
// are changed by others between UPDATE and SELECT is noticed, a trigger that changes max_id or step, a step that is generated,
// and a proxy that sends the SELECT to another server. The reply to the UPDATE does not have the value if there is a trigger.
func (d mysqlTable) raise(ctx context.Context, a *tableAttempt, r Request) (result raised, err error) {
	added, fits := "step", fmt.Sprintf("CASE WHEN step BETWEEN 1 AND %d THEN max_id <= %d - step ELSE FALSE END", int64(MaxStep), int64(maxCounter))
	if r.Size > 0 {
		added = strconv.FormatInt(r.Size, 10)
		fits = fmt.Sprintf("step BETWEEN 1 AND %d AND max_id <= %d", int64(MaxStep), maxCounter-r.Size)
	}
	counter, before := "LAST_INSERT_ID(max_id + 1) + ("+added+" - 1)", ", LAST_INSERT_ID()"
	if d.isTiDB {
		counter, before = "max_id + "+added, ""
	}
	if _, err := a.exec(ctx, "the begin of the transaction", d.begin()); err != nil {
		return result, err
	}
	a.mayWait = true
	update, err := a.exec(ctx, "the update", "UPDATE "+a.quoted+" SET max_id = "+counter+
		" WHERE "+d.whereTag(r.Tag)+" AND max_id >= "+strconv.FormatInt(r.AtLeast, 10)+" AND "+fits)
	if err != nil {
		return result, err
	}
	if result.changed, err = update.RowsAffected(); err != nil {
		return result, err
	}
	result.rows, err = a.query(ctx, d.selectRows(a, r.Tag, before))
	if len(result.rows) == 1 && !d.isTiDB {
		kept, ok := integer(result.rows[0].rest)
		result.before, result.reported = kept-1, true
		if !ok {
			result.before = -1
		}
	}
	return result, err
}

// raiseLast implements tableDialect.
func (d mysqlTable) raiseLast(ctx context.Context, a *tableAttempt, tag string, seen int64) (int64, error) {
	update, err := a.exec(ctx, "the update", fmt.Sprintf("UPDATE %s SET max_id = %d WHERE %s AND max_id = %d AND step BETWEEN 1 AND %d",
		a.quoted, int64(maxCounter), d.whereTag(tag), seen, int64(MaxStep)))
	if err != nil {
		return 0, err
	}
	return update.RowsAffected()
}

// insert implements tableDialect.
func (d mysqlTable) insert(ctx context.Context, a *tableAttempt, tag string, c TagConfig) error {
	description := "NULL"
	if c.Description != "" {
		description = sqlstore.MySQLText(c.Description)
	}
	_, err := a.exec(ctx, "the insert", fmt.Sprintf("INSERT INTO %s (biz_tag, max_id, step, description) VALUES (%s, %d, %d, %s)",
		a.quoted, sqlstore.MySQLText(tag), c.Start, c.Step, description))
	return err
}

// read implements tableDialect.
func (d mysqlTable) read(ctx context.Context, a *tableAttempt, tag string) ([]tableRow, error) {
	return a.query(ctx, d.selectRows(a, tag, ""))
}

// selectRows returns a statement that reads the rows of a tag, and more, which begins with a comma.
func (d mysqlTable) selectRows(a *tableAttempt, tag, more string) string {
	return "SELECT CAST(CONVERT(biz_tag USING utf8mb4) AS BINARY), max_id, step" + more + " FROM " + a.quoted + " WHERE biz_tag = " + sqlstore.MySQLText(tag)
}

// synchronize implements tableDialect.
func (d mysqlTable) synchronize(ctx context.Context, a *tableAttempt, tag string) (bool, error) {
	if d.isTiDB {
		return false, nil
	}
	a.waiting = "the cluster"
	settings, err := sqlstore.ReadVariables(ctx, a.conn, "wsrep_on")
	if err != nil || !sqlstore.IsOn(settings["wsrep_on"]) {
		return false, err
	}
	statement := d.selectRows(a, tag, "")
	if d.isMariaDB {
		statement = "SET STATEMENT wsrep_sync_wait = 1 FOR " + statement
	} else {
		statement = "SELECT /*+ SET_VAR(wsrep_sync_wait = 1) */" + statement[len("SELECT"):]
	}
	_, err = a.query(ctx, statement)
	return true, err
}

package sqlstore

import (
	"context"
	"fmt"
	"math"

	"github.com/ringuid/ringuid/segment"
)

// A tagRow is a row of the table.
type tagRow struct {
	tag          string
	maxID, step  any // as the driver returns them
	maxIDType    string
	stepTypeName string
	rest         any // the fourth column, if there is one
}

// query executes a statement that returns rows, whose first columns are biz_tag, max_id and step.
func (a *tagAttempt) query(ctx context.Context, statement string, args ...any) ([]tagRow, error) {
	rows, err := a.Conn.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	var all []tagRow
	for rows.Next() {
		var r tagRow
		var tag []byte
		var ignored any
		into := []any{&tag, &r.maxID, &r.step, &r.rest, &ignored}[:len(types)]
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		r.tag, r.maxIDType, r.stepTypeName = string(tag), types[1].DatabaseTypeName(), types[2].DatabaseTypeName()
		all = append(all, r)
	}
	return all, rows.Err()
}

// values returns the numbers of the only row, or an error that wraps ErrNoTag or ErrSource.
func (t *tagTable) values(rows []tagRow, tag string) (maxID, step int64, err error) {
	if len(rows) == 0 {
		return 0, 0, fmt.Errorf("%w: %s has no row with the biz_tag %q: create it with CreateTag, beyond its numbers if it existed", segment.ErrNoTag, t, tag)
	}
	if len(rows) > 1 {
		return 0, 0, fmt.Errorf("%w: %s has %d rows for the tag %q; biz_tag must be the primary key, as in schema.sql, and "+
			"the greatest of their max_id is the one to keep", segment.ErrSource, t, len(rows), tag)
	}
	row := rows[0]
	if row.tag != tag {
		return 0, 0, fmt.Errorf("%w: %s has no row with the biz_tag %q, but one with %q, which the column's collation does not distinguish from it: "+
			"use that name, or give the column the collation utf8mb4_bin, as in schema.sql", segment.ErrNoTag, t, tag, row.tag)
	}
	maxID, ok := integer(row.maxID)
	if !ok {
		return 0, 0, t.wrongValue(tag, "max_id", row.maxID, row.maxIDType)
	}
	if step, ok = integer(row.step); !ok {
		return 0, 0, t.wrongValue(tag, "step", row.step, row.stepTypeName)
	}
	if maxID < 0 {
		return 0, 0, fmt.Errorf("%w: max_id of the tag %q in %s is %d; must be at least 1, and more than every number that was handed out",
			segment.ErrSource, tag, t, maxID)
	}
	if step < 1 || step > segment.MaxStep {
		return 0, 0, fmt.Errorf("%w: step of the tag %q in %s is %d; must be 1 to %d", segment.ErrSource, tag, t, step, int64(segment.MaxStep))
	}
	return maxID, step, nil
}

// wrongValue returns the error for a column that is NULL or has another type.
func (t *tagTable) wrongValue(tag, column string, value any, typeName string) error {
	if value == nil {
		return fmt.Errorf("%w: %s of the tag %q in %s is NULL; must be an integer", segment.ErrSource, column, tag, t)
	}
	if n, ok := value.(uint64); ok {
		return fmt.Errorf("%w: %s of the tag %q in %s is %d; must be at most %d", segment.ErrSource, column, tag, t, n, int64(maxCounter))
	}
	if typeName == "" {
		typeName = "another type"
	}
	return fmt.Errorf("%w: the column %s of %s is %s; must be BIGINT, as in schema.sql, because other types do not hold all numbers exactly",
		segment.ErrSource, column, t, typeName)
}

// integer returns the integer that a driver has returned for a column of an integer type.
func integer(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case uint64:
		return int64(n), n <= math.MaxInt64
	}
	return 0, false
}

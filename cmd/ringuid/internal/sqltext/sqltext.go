// Package sqltext writes in SQL what package uid does with a format: it takes UIDs apart, and finds those of a period of time.
package sqltext

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/ringuid/ringuid/uid"
)

// dialect has the SQL of one kind of database, as formats for fmt.
type dialect struct {
	title              string
	quote              string // what stands around a name that is not a plain word
	shift, mask        string // of an expression and a number
	time               string // of the epoch in microseconds since 1970, an expression of the microseconds since the epoch, and the epoch in seconds
	greatest           string // of a time and the numbers in before: the greatest UID before it, NULL for NULL
	digit              string // of an alphabet, a column and a number: the digit of the quotient modulo 62
	concat, comma, end string // of digits: what is before the first one, between them, and after the last one
	function           string // of a name, a parameter and its type, the type of the result, and an expression; "" if there are none
	id, instant        string // types
	base62             string
}

var dialects = map[string]dialect{
	"mysql": {
		title: "MySQL and MariaDB, and TiDB without the functions; times are DATETIME values in UTC, as of UTC_TIMESTAMP(6), not of NOW()",
		quote: "`", shift: "CAST(%s >> %d AS SIGNED)", mask: "(%s & %d)",
		time: "(TIMESTAMP'1970-01-01 00:00:00' + INTERVAL (%[1]d + %[2]s) MICROSECOND)",
		greatest: "(((LEAST(GREATEST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', %[1]s) - (%[2]d), 0), %[3]d) + %[4]d) DIV %[5]d - 1)" +
			" * %[6]d + %[7]d)",
		digit: "SUBSTRING('%s', %s DIV %d %% 62 + 1, 1)", concat: "CONVERT(CONCAT(", comma: ", ", end: ") USING ascii) COLLATE ascii_bin",
		function: "CREATE FUNCTION %s(%s %s) RETURNS %s DETERMINISTIC NO SQL RETURN %s;",
		id:       "BIGINT", instant: "DATETIME(6)", base62: "CHAR(11) CHARACTER SET ascii COLLATE ascii_bin",
	},
	"postgres": {
		title: "PostgreSQL; times are of the type timestamptz, or become it in the time zone of the session",
		quote: `"`, shift: "(%s >> %d)", mask: "(%s & %d)",
		time: "(timestamptz 'epoch' + (%[1]d + %[2]s) / 1000000 * interval '1 second' + (%[1]d + %[2]s) %% 1000000 * interval '1 microsecond')",
		// Without CASE, least and greatest would ignore NULL. They are before the cast because of infinity.
		greatest: "CASE WHEN (%[1]s)::timestamptz IS NOT NULL THEN ((least(greatest(extract(epoch FROM (%[1]s)::timestamptz) * 1000000 - (%[2]d), 0), " +
			"%[3]d)::bigint + %[4]d) / %[5]d - 1) * %[6]d + %[7]d END",
		digit: "substr('%s', (%s / %d %% 62)::int + 1, 1)", comma: " || ",
		function: "CREATE FUNCTION %s(%s %s) RETURNS %s LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT %s $$;",
		id:       "bigint", instant: "timestamptz", base62: "text",
	},
	"sqlite": {
		title: "SQLite; times are texts in UTC with microseconds, up to 9999-12-31 23:59:59.999, but 'now' has milliseconds",
		quote: "`", shift: "(%s >> %d)", mask: "(%s & %d)", // a name in "…" would be a text if there is no such column
		time: "(strftime('%%Y-%%m-%%d %%H:%%M:%%S', %[3]d + %[2]s / 1000000, 'unixepoch') || printf('.%%06d', %[2]s %% 1000000))",
		// SQLite rounds a time to milliseconds, so the fraction of the second, f, is from the text.
		greatest: "(SELECT ((min(max(m - (%[2]d), 0), %[3]d) + %[4]d) / %[5]d - 1) * %[6]d + %[7]d FROM (SELECT " +
			"CAST(round((julianday(t) - 2440587.5) * 86400 - f) AS INTEGER) * 1000000 + CAST(round(f * 1000000) AS INTEGER) AS m FROM (SELECT t, " +
			"CAST(CASE WHEN t LIKE '%%:%%.%%' THEN substr(t, instr(t, '.')) ELSE substr(strftime('%%f', t), 3) END AS REAL) AS f FROM " +
			"(SELECT %[1]s AS t))))",
		digit: "substr('%s', %s / %d %% 62 + 1, 1)", comma: " || ",
	},
	"clickhouse": {
		title: "ClickHouse (no test has run these on a server); times are of the type DateTime64(6, 'UTC')",
		quote: "`", shift: "bitShiftRight(%s, %d)", mask: "bitAnd(%s, %d)",
		time: "fromUnixTimestamp64Micro(toInt64(%[1]d + %[2]s), 'UTC')",
		greatest: "CASE WHEN (%[1]s) IS NOT NULL THEN (intDiv(least(greatest(toUnixTimestamp64Micro(toDateTime64(%[1]s, 6, 'UTC')) - (%[2]d), 0), " +
			"%[3]d) + %[4]d, %[5]d) - 1) * %[6]d + %[7]d END",
		digit: "substring('%s', intDiv(%s, %d) %% 62 + 1, 1)", concat: "concat(", comma: ", ", end: ")",
		function: "CREATE FUNCTION %s AS (%s) -> %[5]s;",
	},
}

// Expression is an expression of a column.
type Expression struct {
	What, SQL string
}

// Text is the SQL for one format and one kind of database.
type Text struct {
	Title       string
	Expressions []Expression // the time, the worker ID, the sequence, and base 62
	Where       string       // a condition that UIDs have whose time is :from or later, and before :to; none if one of these is NULL
	Functions   []string     // statements that create functions; none if the database does not know such functions
}

// isColumn reports whether a text is the name of a column. A part of it may be in quotes.
func (d dialect) isColumn(column string) bool {
	part := "([A-Za-z_][A-Za-z0-9_]*|Q[^Q\\\\[:cntrl:]]+Q)"
	return regexp.MustCompile("^" + strings.ReplaceAll(part+`(\.`+part+")*$", "Q", d.quote)).MatchString(column)
}

// New returns the SQL for a column, and an error if there is none. The dialect is mysql, postgres, sqlite or clickhouse.
func New(name, column string, f uid.Format) (Text, error) {
	d, known := dialects[name]
	switch {
	case !known:
		return Text{}, fmt.Errorf("the dialect is %q; must be mysql, postgres, sqlite or clickhouse", name)
	case !d.isColumn(column):
		return Text{}, fmt.Errorf("the column is %q; must be letters, digits and _, as in id or o.id, or in quotes, as in %[2]sorder id%[2]s",
			column, d.quote)
	case f.Unit()%time.Microsecond != 0:
		return Text{}, fmt.Errorf("the time unit is %v; must be whole microseconds, because databases keep no less", f.Unit())
	}
	t := Text{Title: d.title, Where: column + " > " + d.before(":from", f) + " AND " + column + " <= " + d.before(":to", f)}
	parts := func(column string) []string {
		l := f.Layout()
		delta := fmt.Sprintf(d.shift, column, l.WorkerBits()+l.SequenceBits())
		worker := column
		if l.SequenceBits() > 0 {
			worker = fmt.Sprintf(d.shift, column, l.SequenceBits())
		}
		return []string{
			fmt.Sprintf(d.time, f.Epoch().UnixMicro(), fmt.Sprintf("%s * %d", delta, f.Unit().Microseconds()), f.Epoch().Unix()),
			fmt.Sprintf(d.mask, worker, l.MaxWorkerID()), fmt.Sprintf(d.mask, column, l.MaxSequence()), d.base62Of(column),
		}
	}
	for i, sql := range parts(column) {
		t.Expressions = append(t.Expressions, Expression{[]string{"time", "worker ID", "sequence", "base 62"}[i], sql})
	}
	if d.function != "" {
		for i, sql := range append(parts("id"), d.before("t", f)) {
			name := "ringuid_" + []string{"time", "worker_id", "sequence", "base62", "before"}[i]
			parameter, of, result := "id", d.id, []string{d.instant, d.id, d.id, d.base62, d.id}[i]
			if name == "ringuid_before" {
				parameter, of = "t", d.instant
			}
			t.Functions = append(t.Functions, fmt.Sprintf(d.function, name, parameter, of, result, sql))
		}
	}
	return t, nil
}

// before returns an expression of the greatest number that a UID of a time before t can have. It does not exceed 2^63-1.
func (d dialect) before(t string, f uid.Format) string {
	l, unit := f.Layout(), f.Unit().Microseconds()
	end := min(l.MaxDelta()+1, math.MaxInt64/unit-1) * unit
	inUnit := int64(1) << (l.WorkerBits() + l.SequenceBits())
	return fmt.Sprintf(d.greatest, t, f.Epoch().UnixMicro(), end, unit-1, unit, inUnit, inUnit-1)
}

// alphabet has the digits of base 62, as uid.ID.Base62.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// base62Of returns an expression of what uid.ID.Base62 returns.
func (d dialect) base62Of(column string) string {
	var digits []string
	for n := int64(1); ; n *= 62 {
		digits = append([]string{fmt.Sprintf(d.digit, alphabet, column, n)}, digits...)
		if n > math.MaxInt64/62 {
			return d.concat + strings.Join(digits, d.comma) + d.end
		}
	}
}

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
	shift, mask        string // of an expression and a number
	quotient           string // of an expression that is not negative and a number
	least, greatest    string // the names of functions
	time               string // of an expression of the microseconds since 1970
	micros             string // those of a time
	digit              string // of an alphabet, a column and a number: the digit of the quotient modulo 62
	concat, comma, end string // of digits: what is before the first one, between them, and after the last one
	function           string // of a name, a parameter and its type, the type of the result, and an expression; "" if there are none
	id, instant        string // types
	base62             string
}

var dialects = map[string]dialect{
	"mysql": {
		title: "MySQL, MariaDB and TiDB; times are DATETIME values in UTC",
		shift: "CAST(%s >> %d AS SIGNED)", mask: "(%s & %d)", quotient: "((%s) DIV %d)", least: "LEAST", greatest: "GREATEST",
		time:   "(TIMESTAMP'1970-01-01 00:00:00' + INTERVAL (%s) MICROSECOND)",
		micros: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', %s)",
		digit:  "SUBSTRING('%s', %s DIV %d %% 62 + 1, 1)", concat: "CONCAT(", comma: ", ", end: ")",
		function: "CREATE FUNCTION %s(%s %s) RETURNS %s DETERMINISTIC NO SQL RETURN %s;",
		id:       "BIGINT", instant: "DATETIME(6)", base62: "CHAR(11) CHARACTER SET ascii COLLATE ascii_bin",
	},
	"postgres": {
		title: "PostgreSQL; times are of the type timestamptz",
		shift: "(%s >> %d)", mask: "(%s & %d)", quotient: "((%s) / %d)", least: "least", greatest: "greatest",
		time:   "(timestamptz 'epoch' + (%[1]s) / 1000000 * interval '1 second' + (%[1]s) %% 1000000 * interval '1 microsecond')",
		micros: "(extract(epoch FROM %s) * 1000000)::bigint",
		digit:  "substr('%s', (%s / %d %% 62)::int + 1, 1)", comma: " || ",
		function: "CREATE FUNCTION %s(%s %s) RETURNS %s LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT %s $$;",
		id:       "bigint", instant: "timestamptz", base62: "text",
	},
	"sqlite": {
		title: "SQLite; times are texts in UTC with milliseconds",
		shift: "(%s >> %d)", mask: "(%s & %d)", quotient: "((%s) / %d)", least: "min", greatest: "max",
		time:   "strftime('%%Y-%%m-%%d %%H:%%M:%%f', (%s) / 1000000.0, 'unixepoch')",
		micros: "(CAST(strftime('%%s', %[1]s) AS INTEGER) * 1000000 + CAST(substr(strftime('%%f', %[1]s), 4) AS INTEGER) * 1000)",
		digit:  "substr('%s', %s / %d %% 62 + 1, 1)", comma: " || ",
	},
	"clickhouse": {
		title: "ClickHouse (no test has run these on a server); times are of the type DateTime64(6, 'UTC')",
		shift: "bitShiftRight(%s, %d)", mask: "bitAnd(%s, %d)", quotient: "intDiv(%s, %d)", least: "least", greatest: "greatest",
		time:   "fromUnixTimestamp64Micro(toInt64(%s), 'UTC')",
		micros: "toUnixTimestamp64Micro(toDateTime64(%s, 6, 'UTC'))",
		digit:  "substring('%s', intDiv(%s, %d) %% 62 + 1, 1)", concat: "concat(", comma: ", ", end: ")",
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
	Where       string       // a condition that UIDs have whose time is :from or later, and before :to
	Functions   []string     // statements that create functions; none if the database does not know such functions
}

// isColumn matches the name of a column.
var isColumn = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// New returns the SQL for a column, and an error if there is none. The dialect is mysql, postgres, sqlite or clickhouse.
func New(name, column string, f uid.Format) (Text, error) {
	d, known := dialects[name]
	switch {
	case !known:
		return Text{}, fmt.Errorf("the dialect is %q; must be mysql, postgres, sqlite or clickhouse", name)
	case !isColumn.MatchString(column):
		return Text{}, fmt.Errorf("the column is %q; must be letters, digits and _, as in id or o.id", column)
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
			fmt.Sprintf(d.time, fmt.Sprintf("%d + %s * %d", f.Epoch().UnixMicro(), delta, f.Unit().Microseconds())),
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
	since := fmt.Sprintf("%s(%s - (%d), 0)", d.greatest, fmt.Sprintf(d.micros, t), f.Epoch().UnixMicro())
	units := fmt.Sprintf(d.quotient, fmt.Sprintf("%s + %d", since, unit-1), unit) // rounded up
	inUnit := int64(1) << (l.WorkerBits() + l.SequenceBits())
	return fmt.Sprintf("((%s(%s, %d) - 1) * %d + %d)", d.least, units, l.MaxDelta()+1, inUnit, inUnit-1)
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

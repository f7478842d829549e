package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/sqltext"
)

type sqlCommand struct {
	Dialect string `required:"" enum:"mysql,postgres,sqlite,clickhouse" help:"The database: mysql (also MariaDB and TiDB), postgres, sqlite or clickhouse."`
	Column  string `default:"id" help:"The column of UIDs in the expressions; other names than words in quotes of the database. Default: ${default}."`
	From    string `placeholder:"TIME" help:"With --to: print the condition with two numbers, for UIDs of this time or a later one."`
	To      string `placeholder:"TIME" help:"With --from: and before this time."`
	formatFlags
}

// Help implements kong.HelpProvider.
func (*sqlCommand) Help() string {
	return `
Prints SQL that takes UIDs apart and finds those of a period of time: expressions, a condition, and statements that create functions (not for
SQLite). The flags of the format must have the values of the generators. The command contacts no database.

The time of a UID may lie a few seconds before its taking, or up to the borrow limit after it. So the condition may find a few other
rows than one on a column with the time of the insert.

Examples:

  ringuid sql --dialect postgres
  ringuid sql --dialect mysql --layout 1-41-10-12 --unit 1ms --column o.id
  ringuid sql --dialect mysql --from 2026-03-01 --to 2026-04-01
`
}

// Run prints the SQL.
func (c *sqlCommand) Run(a *App) error {
	f, err := c.format()
	if err != nil {
		return err
	}
	text, err := sqltext.New(c.Dialect, c.Column, f)
	if err != nil {
		return usageError{err}
	}
	from, to := ":from", ":to"
	if c.From != "" || c.To != "" {
		var times [2]time.Time
		for i, flag := range []struct{ name, value string }{{"from", c.From}, {"to", c.To}} {
			if times[i], err = parseTime(flag.value); err != nil {
				return usageErrorf("--%s: %w", flag.name, err)
			}
		}
		first, last, err := f.Range(times[0], times[1])
		if err != nil {
			return usageError{err}
		}
		from, to = c.From, c.To
		text.Where = fmt.Sprintf("%s BETWEEN %d AND %d", c.Column, first, last)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- UIDs of the format %s, for %s.\n", f, text.Title)
	for _, e := range text.Expressions {
		fmt.Fprintf(&b, "\n-- %s\n%s\n", e.What, e.SQL)
	}
	fmt.Fprintf(&b, "\n-- WHERE, for the times from %s, and before %s\n%s\n", from, to, text.Where)
	if len(text.Functions) > 0 {
		b.WriteString("\n-- The same as functions. ringuid_before returns the greatest UID before a time: WHERE id > ringuid_before(…) AND id <= ringuid_before(…)\n")
		b.WriteString(strings.Join(text.Functions, "\n") + "\n")
	}
	_, err = io.WriteString(a.stdout(), b.String())
	return err
}

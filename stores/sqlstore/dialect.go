package sqlstore

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/ringuid/ringuid/internal/sqlattempt"
)

// A dialect is what a slot table must know about a kind of server. The statements themselves, and the
// order in which they are executed, are the same for all kinds.
type dialect interface {
	// Base returns what is the same for all tables; Begin and Commit are its, unless a dialect has its own.
	Base() sqlattempt.Dialect
	Begin() string
	Commit() string

	// appendText appends a value of text to a statement, as a literal.
	appendText(b *statement, value string)

	// readText is an expression: a column of text, as a read selects it. decodeText returns the text for what the
	// driver returns.
	readText(column string) string
	decodeText(value string) (string, error)

	// clock is an expression: the server's clock in UTC, as a whole number of Unix milliseconds. It has
	// one value within a statement, and does not depend on the session's time zone.
	clock() string

	// history is an expression: the history of the server that executes the statement (rule R7), as bytes
	// or text that compares exactly. It has one value as long as the server's process runs.
	history() string

	// readOnly is an expression: 1 if the server accepts no writes at present, otherwise 0.
	readOnly() string

	// session is an expression of text: what sessionStatements must know about the session.
	session() string

	// sessionStatements returns statements to execute before a read is repeated, and after it, in a
	// session whose state is not suitable: one in which a read may see uncommitted rows or an old
	// snapshot, or in which a read leaves a transaction open. Both are nil if the first read was right.
	sessionStatements(session string) (before, after []string)

	// selectPrefix returns what precedes the SELECT of a read.
	selectPrefix() string

	// beginsAlways reports whether a single statement, too, is executed between Begin and Commit. If not,
	// Commit must have no effect without a transaction.
	beginsAlways() bool

	// inspect reads the settings of the server, and of the two tables with these quoted names, that decide whether
	// acknowledged writes can be lost.
	inspect(ctx context.Context, conn *sql.Conn, pool, slots string) (serverDurability, error)
}

// serverDurability is what the settings of a server say about writes that it has acknowledged.
type serverDurability struct {
	noLoss  bool   // no server of the configuration in use loses them
	risk    string // the settings with which this server can lose them; "" if there are none
	refused string // why a slot table cannot work with these settings; "" if it can
}

// detectDialect returns the dialect of the server behind a connection.
func detectDialect(ctx context.Context, conn *sql.Conn) (dialect, error) {
	base, err := sqlattempt.Detect(ctx, conn)
	switch {
	case err != nil:
		return nil, err
	case base.Kind == sqlattempt.Postgres:
		return postgresDialect{base}, nil
	}
	return newMySQLDialect(ctx, conn, base)
}

// statement is the text of a statement. Its values are literals.
type statement struct {
	dialect dialect
	query   strings.Builder
}

// raw appends text that is already SQL.
func (b *statement) raw(parts ...string) *statement {
	for _, part := range parts {
		b.query.WriteString(part)
	}
	return b
}

// int appends an integer.
func (b *statement) int(n int64) *statement { return b.raw(strconv.FormatInt(n, 10)) }

// text appends a value of text.
func (b *statement) text(s string) *statement {
	b.dialect.appendText(b, s)
	return b
}

// list appends comma-separated integers.
func (b *statement) list(numbers []int64) *statement {
	for i, n := range numbers {
		if i > 0 {
			b.raw(", ")
		}
		b.int(n)
	}
	return b
}

// exec executes the statement and returns the number of affected rows.
func (b *statement) exec(ctx context.Context, conn *sql.Conn) (int64, error) {
	result, err := conn.ExecContext(ctx, b.query.String())
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// execAll executes statements that have no result.
func execAll(ctx context.Context, conn *sql.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

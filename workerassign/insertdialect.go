package workerassign

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/ringuid/ringuid/internal/sqlattempt"
)

// insertTarget is the table in which a Disposable inserts rows, and what it must know of the server.
type insertTarget struct {
	sqlattempt.Dialect
	isGuess   bool   // whether the dialect is MySQL's only because the driver does not show the kind of the server
	table     string // quoted
	insert    func(quoted string, n node) (statement string, args []any)
	findRisks func(ctx context.Context, conn *sql.Conn, quoted string) []sqlattempt.Risk

	reasonTooLow, reasonKey sqlattempt.Reason
}

// postgresInsertStatement returns the statement that assigns a worker ID, for PostgreSQL. The names of the
// columns are not quoted: PostgreSQL folds them to lower case, as in the statements of Java services.
//
// A server with synchronous_commit = off acknowledges commits before they are durable. So the statement sets
// it to on, for its transaction only. It does not change any other value.
func postgresInsertStatement(quoted string, n node) (statement string, args []any) {
	return "INSERT INTO " + quoted +
		" (host_name, port, type, launch_date, modified, created)" +
		" VALUES ($1, $2, $3, CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)" +
		" RETURNING id, " + sqlattempt.WaitForCommit, []any{n.hostName, n.port, n.kind}
}

// setServerKind sets the target of the Disposable. If the kind of the server is not known, MySQL's dialect is tried first, see
// correctGuess.
func (d *Disposable) setServerKind(kind sqlattempt.Kind) (err error) {
	target := &insertTarget{Dialect: sqlattempt.Dialect{Kind: sqlattempt.MySQL}, isGuess: kind == sqlattempt.Unknown,
		insert: insertStatement, findRisks: findMySQLRisks, reasonTooLow: sqlattempt.ReasonTooLow, reasonKey: sqlattempt.ReasonKeyColumn}
	if kind == sqlattempt.Postgres {
		target = &insertTarget{Dialect: sqlattempt.Dialect{Kind: sqlattempt.Postgres}, insert: postgresInsertStatement, findRisks: findPostgresRisks,
			reasonTooLow: sqlattempt.ReasonTooLowPostgres, reasonKey: sqlattempt.ReasonKeyColumnPostgres}
	}
	if target.table, err = target.QuoteTable(d.cfg.table, DefaultTable); err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	d.target.Store(target)
	return nil
}

// correctGuess reports whether err shows that the server is a PostgreSQL server although the driver does
// not, for example because it wraps pgx. Then it sets the dialect. PostgreSQL refuses the statement of the
// other dialect, whose quotes it does not know, with a syntax error.
func (d *Disposable) correctGuess(target *insertTarget, err error) (corrected bool, _ error) {
	if _, isPostgres := sqlattempt.SQLState(err); !target.isGuess || !isPostgres {
		return false, nil
	}
	return true, d.setServerKind(sqlattempt.Postgres)
}

// DefaultTable is the name of the table that Baidu's UidGenerator uses. On PostgreSQL it is worker_node,
// because PostgreSQL folds names that are not quoted to lower case.
const DefaultTable = "WORKER_NODE"

// insertStatement returns the statement that assigns a worker ID, for MySQL. It names only the columns of
// Baidu's table. The server sets the times, so that no time setting of the driver matters.
//
// It has no parameters, so that it needs no prepared statement: with prepared statements on a Galera cluster, MariaDB
// 10.11 has hidden from clients that a transaction was rolled back (measured with SELECT and UPDATE, not with this
// statement).
func insertStatement(quoted string, n node) (statement string, args []any) {
	return "INSERT INTO " + quoted +
		" (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED)" +
		" VALUES (" + sqlattempt.MySQLText(n.hostName) + ", " + sqlattempt.MySQLText(n.port) + ", " + strconv.Itoa(n.kind) +
		", CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)", nil
}

package workerassign

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/ringuid/ringuid/internal/sqlstore"
)

// insertDialect is what Disposable must know of a kind of database server: MySQL's or PostgreSQL's.
type insertDialect struct {
	begin, commit, rollback string
	quote                   func(table string) (string, error)
	insert                  func(quoted string, n Node) (statement string, args []any)
	returnsKey              bool // the insert statement returns the key as a row
	findRisks               func(ctx context.Context, conn *sql.Conn, quoted string) []risk

	reasonLocked, reasonTooLow, reasonKey sqlstore.Reason
}

// mysqlInserts returns the dialect of MySQL, MariaDB and TiDB.
func mysqlInserts() *insertDialect {
	return &insertDialect{
		begin: "START TRANSACTION", commit: sqlstore.CommitMySQL, rollback: sqlstore.RollbackMySQL,
		quote: sqlstore.QuoteMySQL, insert: insertStatement, findRisks: findMySQLRisks,
		reasonLocked: sqlstore.ReasonLocked, reasonTooLow: sqlstore.ReasonTooLow, reasonKey: sqlstore.ReasonKeyColumn,
	}
}

// postgresInserts returns the dialect of PostgreSQL. COMMIT and ROLLBACK are those of standard SQL: no
// setting changes what they do. The isolation level is the lowest, because the transaction reads nothing.
// READ WRITE is not set, so that default_transaction_read_only protects a server during a failover.
func postgresInserts() *insertDialect {
	return &insertDialect{
		begin: "START TRANSACTION ISOLATION LEVEL READ COMMITTED", commit: "COMMIT", rollback: "ROLLBACK",
		quote: quotePostgresTable, insert: postgresInsertStatement, returnsKey: true, findRisks: findPostgresRisks,
		reasonLocked: sqlstore.ReasonLockedPostgres, reasonTooLow: sqlstore.ReasonTooLowPostgres, reasonKey: sqlstore.ReasonKeyColumnPostgres,
	}
}

// postgresInsertStatement returns the statement that assigns a worker ID, for PostgreSQL. The names of the
// columns are not quoted: PostgreSQL folds them to lower case, as in the statements of Java services.
//
// A server with synchronous_commit = off acknowledges commits before they are durable. So the statement sets
// it to on, for its transaction only. It does not change any other value.
func postgresInsertStatement(quoted string, n Node) (statement string, args []any) {
	return "INSERT INTO " + quoted +
		" (host_name, port, type, launch_date, modified, created)" +
		" VALUES ($1, $2, $3, CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)" +
		" RETURNING id, " + sqlstore.WaitForCommit, []any{n.HostName, n.Port, int(n.Type)}
}

// quotePostgresTable quotes a name of the form "table" or "schema.table" for PostgreSQL. DefaultTable is the
// table worker_node, because PostgreSQL folds names that are not quoted to lower case: that is the table
// that Java services use. The same applies to the other default names. All other names are used as they are.
func quotePostgresTable(name string) (string, error) {
	if name == DefaultTable || name == DefaultPoolTable || name == DefaultSlotTable {
		name = strings.ToLower(name)
	}
	return sqlstore.QuotePostgres(name)
}

// setServerKind sets the dialect of the Disposable, and the quoted name of its table. If the kind is not
// known, MySQL's dialect is tried first, see correctGuess.
func (d *Disposable) setServerKind(kind sqlstore.Kind) error {
	dialect := mysqlInserts()
	if kind == sqlstore.Postgres {
		dialect = postgresInserts()
	}
	quoted, err := dialect.quote(d.cfg.table)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	d.target.Store(&insertTarget{insertDialect: dialect, table: quoted, isGuess: kind == sqlstore.Unknown})
	return nil
}

// insertTarget is the table in which a Disposable inserts rows, and the dialect of its server.
type insertTarget struct {
	*insertDialect
	table   string // quoted
	isGuess bool   // whether the dialect is MySQL's only because the driver does not show the kind of the server
}

// correctGuess reports whether err shows that the server is a PostgreSQL server although the driver does
// not, for example because it wraps pgx. Then it sets the dialect. PostgreSQL refuses the statement of the
// other dialect, whose quotes it does not know, with a syntax error.
func (d *Disposable) correctGuess(target *insertTarget, err error) (corrected bool, _ error) {
	if _, isPostgres := sqlstore.SQLState(err); !target.isGuess || !isPostgres {
		return false, nil
	}
	return true, d.setServerKind(sqlstore.Postgres)
}

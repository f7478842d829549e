package segment

import (
	"context"
	"database/sql"
	"strings"

	"github.com/ringuid/ringuid/internal/sqlstore"
)

// A tableDialect is what a Table must know of a kind of database server. Its methods return errors of the driver,
// unless their comments say otherwise.
type tableDialect interface {
	quote(table string) (string, error)

	isPostgres() bool

	// reasonLocked is the reason if the server does not answer a statement that may wait for a lock.
	reasonLocked() sqlstore.Reason

	// inspect returns an ownError if the table has no transactions.
	inspect(ctx context.Context, a *tableAttempt) error

	// begin, commit and rollback are the statements that begin and end a transaction.
	begin() string
	commit() string
	rollback() string

	// raise begins a transaction, if one is required, and increases the counter of r.Tag by r.Size, or by the row's
	// step if that is 0, in one atomic step, and only if the row is right, the counter is r.AtLeast or more and does
	// not exceed maxCounter afterwards. It returns the rows of the tag as they are now, and how many it has changed.
	raise(ctx context.Context, a *tableAttempt, r Request) (raised, error)

	// raiseLast sets the counter of a tag to maxCounter, only if it is exactly seen.
	raiseLast(ctx context.Context, a *tableAttempt, tag string, seen int64) (changed int64, err error)

	// insert inserts a row.
	insert(ctx context.Context, a *tableAttempt, tag string, c TagConfig) error

	// read returns the rows that the server regards as equal to a tag.
	read(ctx context.Context, a *tableAttempt, tag string) ([]tableRow, error)

	// synchronize waits, on a node of a cluster, until the node has applied what other nodes have acknowledged. It
	// returns false if there is nothing to wait for. No transaction must be open.
	synchronize(ctx context.Context, a *tableAttempt, tag string) (bool, error)
}

// raised is the result of raise.
type raised struct {
	rows     []tableRow
	changed  int64
	before   int64 // what the statement found as the counter, if that is known apart from the rows
	reported bool  // whether before is known
	added    int64 // what the statement has added; 0: the size of the request, or the step in the row
}

// maxCounter is the greatest value of max_id: MaxNumber is the last number that is handed out.
const maxCounter = MaxNumber + 1

// detectTableDialect returns the dialect of the server behind a connection.
func detectTableDialect(ctx context.Context, conn *sql.Conn) (tableDialect, error) {
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return nil, err
	}
	if strings.HasPrefix(version, "PostgreSQL ") || strings.HasPrefix(version, "CockroachDB ") {
		return postgresTable{}, nil
	}
	return mysqlTable{isTiDB: strings.Contains(version, "TiDB"), isMariaDB: strings.Contains(version, "MariaDB")}, nil
}

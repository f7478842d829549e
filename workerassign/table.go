package workerassign

import (
	"strconv"

	"github.com/ringuid/ringuid/internal/sqlattempt"
)

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

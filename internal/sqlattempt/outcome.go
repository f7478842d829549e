package sqlattempt

import (
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// IsRolledBack reports whether err says that the server has rolled the transaction back because of a conflict with
// others: nothing was written.
func IsRolledBack(err error) bool {
	return hasCode(err, []string{"40001", "40P01"},
		1020, 1205, 1213, 1412, 1614, 1689, 3101, 3572, // see ServerErrors
		8002, 8005, 8020, 8022, 8028, 9007) // TiDB
}

// IsDuplicate reports whether err says that a row with the key exists already: nothing was written.
func IsDuplicate(err error) bool { return hasCode(err, []string{"23505"}, 1062) }

// IsRefused reports whether the server has refused the statement, or the driver did not send it: nothing was written, and
// another server or another connection may accept it.
func IsRefused(err error) bool {
	if IsUnusedConn(err) && !IsRolledBack(err) && !IsDuplicate(err) {
		return true
	}
	return hasCode(err, []string{"25006", "53300", "55000", "57P03", // a standby, or no connections
		"25P02"}, // a connection that another user left in a failed transaction
		1047, 1290, 1792, 1836, 1874) // a node outside of its cluster, a server that is read-only
}

// hasCode reports whether err is an error of a server with one of the SQLSTATEs of PostgreSQL, or of the error numbers of
// MySQL.
func hasCode(err error, states []string, numbers ...uint16) bool {
	if server := (*mysql.MySQLError)(nil); errors.As(err, &server) {
		return slices.Contains(numbers, server.Number)
	}
	state, ok := SQLState(err)
	return ok && slices.Contains(states, state)
}

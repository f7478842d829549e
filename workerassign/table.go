package workerassign

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// DefaultTable is the name of the table that Baidu's UidGenerator uses. On PostgreSQL it is worker_node,
// because PostgreSQL folds names that are not quoted to lower case.
const DefaultTable = "WORKER_NODE"

// quoteTable quotes a name of the form "table" or "database.table" for use in a statement of MySQL. Its
// checks apply to all servers.
func quoteTable(name string) (string, error) {
	parts := strings.Split(name, ".")
	if len(parts) > 2 {
		return "", fmt.Errorf("table name %q has more than one dot; must be \"table\" or \"database.table\"", name)
	}
	for i, part := range parts {
		switch n := utf8.RuneCountInString(part); {
		case part == "":
			return "", fmt.Errorf("table name %q has an empty part; must be \"table\" or \"database.table\"", name)
		case n > 64:
			return "", fmt.Errorf("table name %q has a part of %d characters; must be at most 64", name, n)
		case !utf8.ValidString(part) || strings.ContainsRune(part, 0) || strings.HasSuffix(part, " "):
			return "", fmt.Errorf("table name %q contains NUL or invalid UTF-8, or a part ends with a space; servers do not accept such names", name)
		}
		parts[i] = "`" + strings.ReplaceAll(part, "`", "``") + "`"
	}
	return strings.Join(parts, "."), nil
}

// insertStatement returns the statement that assigns a worker ID, for MySQL. It names only the columns of
// Baidu's table. The server sets the times, so that no time setting of the driver matters.
//
// It has no parameters, so that it needs no prepared statement: with prepared statements on a Galera cluster, MariaDB
// 10.11 has hidden from clients that a transaction was rolled back (measured with SELECT and UPDATE, not with this
// statement).
func insertStatement(quoted string, n Node) (statement string, args []any) {
	return "INSERT INTO " + quoted +
		" (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED)" +
		" VALUES (" + mysqlText(n.HostName) + ", " + mysqlText(n.Port) + ", " + strconv.Itoa(int(n.Type)) +
		", CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)", nil
}

// mysqlText returns a literal in hexadecimal digits, whose meaning depends neither on the connection's character
// set nor on the SQL mode.
func mysqlText(value string) string { return "_utf8mb4 X'" + hex.EncodeToString([]byte(value)) + "'" }

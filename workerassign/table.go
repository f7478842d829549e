package workerassign

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// DefaultTable is the original's table.
const DefaultTable = "WORKER_NODE"

// quoteTable quotes "table" or "database.table".
func quoteTable(name string) (string, error) {
	parts := strings.Split(name, ".")
	if len(parts) > 2 {
		return "", fmt.Errorf("table name %q has more than one dot; \"table\" or \"database.table\" is needed", name)
	}
	for i, part := range parts {
		switch n := utf8.RuneCountInString(part); {
		case part == "":
			return "", fmt.Errorf("table name %q has an empty part", name)
		case n > 64:
			return "", fmt.Errorf("table name %q has a part of %d characters, 64 at most are possible", name, n)
		case !utf8.ValidString(part) || strings.ContainsRune(part, 0) || strings.HasSuffix(part, " "):
			return "", fmt.Errorf("table name %q: no server accepts a NUL, bad UTF-8 or a space at the end", name)
		}
		parts[i] = "`" + strings.ReplaceAll(part, "`", "``") + "`"
	}
	return strings.Join(parts, "."), nil
}

// insertInto returns the statement that takes a worker ID: it names the original's columns
// and no others, and leaves the time to the server, so that no setting of the driver matters.
func insertStatement(quoted string) string {
	return "INSERT INTO " + quoted +
		" (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED)" +
		" VALUES (?, ?, ?, CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)"
}

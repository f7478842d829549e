package sqlattempt

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// QuoteMySQL quotes a name of the form "table" or "database.table" for use in a statement of MySQL. Its
// checks apply to all servers.
func QuoteMySQL(name string) (string, error) {
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

// maxPostgresName is the greatest length of a name in PostgreSQL, in bytes. The server cuts longer names,
// so that two of them can mean the same table.
const maxPostgresName = 63

// QuotePostgres quotes a name of the form "table" or "schema.table" for PostgreSQL.
func QuotePostgres(name string) (string, error) {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		if len(part) > maxPostgresName || !utf8.ValidString(part) {
			return "", fmt.Errorf("table name %q has a part of %d bytes; must be at most %d on PostgreSQL", name, len(part), maxPostgresName)
		}
		parts[i] = `"` + strings.ReplaceAll(part, `"`, `""`) + `"`
	}
	return strings.Join(parts, "."), nil
}

// QuoteTable quotes the name of a table. On PostgreSQL, the default name stands for its form in lower case, because PostgreSQL folds
// names that are not quoted to lower case: that is the table that its schema creates, and that Java services use. Other names are
// used as they are.
func (d Dialect) QuoteTable(name, byDefault string) (string, error) {
	if d.Kind == Postgres && name == byDefault {
		name = strings.ToLower(name)
	}
	return d.Quote(name)
}

// MySQLText returns a literal in hexadecimal digits, whose meaning depends neither on the connection's character
// set nor on the SQL mode.
func MySQLText(value string) string { return "_utf8mb4 X'" + hex.EncodeToString([]byte(value)) + "'" }

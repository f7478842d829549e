package testserver

import (
	"database/sql"
	"strings"
	"testing"
)

// RunScript runs the statements of a script, as a command-line client does.
func RunScript(tb testing.TB, db interface {
	Exec(statement string, args ...any) (sql.Result, error)
}, script string) {
	tb.Helper()
	for _, statement := range SplitStatements(script) {
		if _, err := db.Exec(statement); err != nil {
			tb.Fatalf("%v\nin: %s", err, statement)
		}
	}
}

// SplitStatements returns the statements of a script. Each ends with a semicolon at the end of a line.
// Lines that are comments are removed.
func SplitStatements(script string) []string {
	var text strings.Builder
	for line := range strings.Lines(script) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			text.WriteString(line)
		}
	}
	var statements []string
	for part := range strings.SplitSeq(text.String(), ";\n") {
		if part = strings.TrimSpace(part); part != "" {
			statements = append(statements, part)
		}
	}
	return statements
}

package sqlattempt

import (
	"strings"
	"testing"
)

// Names of tables are quoted, and invalid names are refused.
func TestMySQLNames(t *testing.T) {
	for name, want := range map[string]string{
		"t":                     "`t`",
		"ids.WORKER_NODE":       "`ids`.`WORKER_NODE`",
		"a`b":                   "`a``b`",
		"drop table x; --.`":    "`drop table x; --`.````",
		strings.Repeat("é", 64): "`" + strings.Repeat("é", 64) + "`",
	} {
		if got, err := QuoteMySQL(name); err != nil || got != want {
			t.Errorf("QuoteMySQL(%q) = %s, %v; want %s", name, got, err, want)
		}
	}
	for _, invalid := range []string{"", ".", "a.", ".b", "a.b.c", "a\x00b", "a ", "a\xff", strings.Repeat("x", 65)} {
		if got, err := QuoteMySQL(invalid); err == nil {
			t.Errorf("QuoteMySQL(%q) = %s, want an error", invalid, got)
		}
	}
}

// On PostgreSQL, names are quoted, and names that the server would cut are refused.
func TestPostgresNames(t *testing.T) {
	for name, want := range map[string]string{
		"Nodes": `"Nodes"`, "s.t": `"s"."t"`, `a"b`: `"a""b"`, strings.Repeat("x", 63): `"` + strings.Repeat("x", 63) + `"`,
	} {
		if got, err := QuotePostgres(name); err != nil || got != want {
			t.Errorf("QuotePostgres(%q) = %s, %v; want %s", name, got, err, want)
		}
	}
	for _, invalid := range []string{strings.Repeat("x", 64), strings.Repeat("é", 32), "a." + strings.Repeat("x", 64)} {
		if got, err := QuotePostgres(invalid); err == nil {
			t.Errorf("QuotePostgres(%q) = %s, want an error", invalid, got)
		}
	}
}

// On PostgreSQL, the default name stands for a table in lower case.
func TestQuoteTable(t *testing.T) {
	for _, tt := range []struct {
		kind       Kind
		name, want string
	}{{Postgres, "WORKER_NODE", `"worker_node"`}, {Postgres, "Nodes", `"Nodes"`}, {MySQL, "WORKER_NODE", "`WORKER_NODE`"}} {
		if got, err := (Dialect{Kind: tt.kind}).QuoteTable(tt.name, "WORKER_NODE"); err != nil || got != tt.want {
			t.Errorf("QuoteTable(%q) = %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
}

package workerassign

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-sql-driver/mysql"
)

// Names of tables are quoted, and invalid names are refused.
func TestTableNames(t *testing.T) {
	for name, want := range map[string]string{
		"t":                     "`t`",
		"ids.WORKER_NODE":       "`ids`.`WORKER_NODE`",
		"a`b":                   "`a``b`",
		"drop table x; --.`":    "`drop table x; --`.````",
		strings.Repeat("é", 64): "`" + strings.Repeat("é", 64) + "`",
	} {
		if got, err := quoteTable(name); err != nil || got != want {
			t.Errorf("quoteTable(%q) = %s, %v; want %s", name, got, err, want)
		}
	}
	for _, invalid := range []string{"", ".", "a.", ".b", "a.b.c", "a\x00b", "a ", "a\xff", strings.Repeat("x", 65)} {
		if got, err := quoteTable(invalid); err == nil {
			t.Errorf("quoteTable(%q) = %s, want an error", invalid, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithTable("ids.nodes"))
		expectBegin(m)
		m.ExpectExec(strings.Replace(insertSQL, "`WORKER_NODE`", "`ids`.`nodes`", 1)).WithoutArgs().WillReturnError(&mysql.MySQLError{Number: 1146})
		expectRollback(m)
		if _, err := d.Assign(context.Background(), Request{}); err == nil || !strings.Contains(err.Error(), "table ids.nodes") {
			t.Errorf("Assign() = %v, want an error that names the table", err)
		}
	})
}

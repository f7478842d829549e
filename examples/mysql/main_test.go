package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// The example runs on the table that schema.sql creates, and adds one row to it for each start. Without
// the table, the error says what to do.
func TestExampleRuns(t *testing.T) {
	db, dsn := mariadbtest.Connect(t)
	if err := run(io.Discard, dsn); err == nil || !strings.Contains(err.Error(), "apply schema.sql") {
		t.Errorf("without the table: %v", err)
	}
	script, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	testserver.RunScript(t, db, string(script))
	for range 2 {
		var out strings.Builder
		if err := run(&out, dsn); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), ": 100000 UIDs from "); n != 4 {
			t.Errorf("%d goroutines have UIDs, want 4:\n%s", n, &out)
		}
	}
	var tables, rows int
	if err := db.Get(&tables, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); err != nil || tables != 4 {
		t.Errorf("%d tables, %v; want those of schema.sql", tables, err)
	}
	if err := db.Get(&rows, "SELECT COUNT(*) FROM WORKER_NODE"); err != nil || rows != 2 {
		t.Errorf("%d rows, %v; want one for each start", rows, err)
	}
	if err := run(io.Discard, ""); err == nil || !strings.Contains(err.Error(), "-dsn must be given") {
		t.Errorf("without a DSN: %v", err)
	}
}

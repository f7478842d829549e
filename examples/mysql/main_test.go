package main

import (
	"os"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/mariadbtest"
)

// The example runs, on the table that schema.sql makes, and creates nothing but its row;
// without the table it says what to do.
func TestExampleRuns(t *testing.T) {
	db, dsn := mariadbtest.Connect(t)
	if err := run(dsn); err == nil || !strings.Contains(err.Error(), "apply schema.sql") {
		t.Errorf("without the table: %v", err)
	}
	script, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	mariadbtest.Script(t, db, string(script))
	for range 2 {
		if err := run(dsn); err != nil {
			t.Fatal(err)
		}
	}
	var tables, rows int
	if err := db.Get(&tables, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); err != nil || tables != 1 {
		t.Errorf("%d tables, %v", tables, err)
	}
	if err := db.Get(&rows, "SELECT COUNT(*) FROM WORKER_NODE"); err != nil || rows != 2 {
		t.Errorf("%d rows, %v; want one a start", rows, err)
	}
	if err := run(""); err == nil || !strings.Contains(err.Error(), "-dsn is needed") {
		t.Errorf("without a DSN: %v", err)
	}
}

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// Each start takes a worker ID and gives it back. The next start uses it again, once the time that the first one has
// borrowed is over. A disposable worker ID is a row of the other table.
func TestExampleRuns(t *testing.T) {
	db, dsn := postgrestest.Connect(t)
	if err := run(&strings.Builder{}, dsn, true, false); err == nil || !strings.Contains(err.Error(), "apply schema.postgres.sql") {
		t.Errorf("without the tables: %v", err)
	}
	script, err := os.ReadFile("../../schema.postgres.sql")
	if err != nil {
		t.Fatal(err)
	}
	testserver.RunScript(t, db, string(script))
	if err := run(&strings.Builder{}, dsn, true, false); err != nil {
		t.Fatal(err)
	}
	testkit.Starts(t, func(out *strings.Builder) error { return run(out, dsn, false, false) })
	for range 2 {
		if err := run(&strings.Builder{}, dsn, false, true); err != nil {
			t.Fatal(err)
		}
	}
	var rows int
	if err := db.Get(&rows, "SELECT count(*) FROM worker_node"); err != nil || rows != 2 {
		t.Errorf("%d rows, %v; want one for each disposable worker ID", rows, err)
	}
	if err := run(&strings.Builder{}, "", false, false); err == nil || !strings.Contains(err.Error(), "-dsn must be given") {
		t.Errorf("without a DSN: %v", err)
	}
}

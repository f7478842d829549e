package main

import (
	"context"
	"errors"
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
	late := 0 // starts whose Close did not release the worker ID within five seconds, because the disk is slow
	start := func(out *strings.Builder, isFirst bool) error {
		err := run(out, dsn, isFirst, false)
		if errors.Is(err, context.DeadlineExceeded) && late < 3 {
			late++
		} else if err != nil {
			t.Fatal(err)
		}
		return err
	}
	start(&strings.Builder{}, true)
	// A start that begins within seconds after the one before takes another worker ID, because the time up to which that one was used has
	// not come yet.
	testkit.Retry(t, "a start shows a worker ID that is free", func() error {
		var out strings.Builder
		if err := start(&out, false); err != nil {
			return err
		}
		if n := strings.Count(out.String(), " is held by process "); n < 1 || n > 1+late || !strings.Contains(out.String(), "10000 UIDs from ") {
			t.Fatalf("the output is %q; want 10000 UIDs, and one worker ID that is held", out.String())
		}
		if !strings.Contains(out.String(), " is free; it was used up to ") {
			return errors.New(out.String())
		}
		return nil
	})
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

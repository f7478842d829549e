package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
)

// Each start takes a worker ID and gives it back. The next start uses it again, once the time that the first
// one has borrowed is over.
func TestRun(t *testing.T) {
	server := redistest.Start(t)
	late := 0 // starts whose Close did not release the worker ID within five seconds, because the disk is slow
	start := func(out *strings.Builder, isFirst bool) error {
		err := run(out, server.Address(), "example", isFirst)
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
		if n := strings.Count(out.String(), "is held by process "); n < 1 || n > 1+late || !strings.Contains(out.String(), "10000 UIDs from ") {
			t.Fatalf("the output is %q; want 10000 UIDs, and one worker ID that is held", out.String())
		}
		if !strings.Contains(out.String(), " is free; it was used up to ") {
			return errors.New(out.String())
		}
		return nil
	})
	server.Kill()
	if err := run(&strings.Builder{}, server.Address(), "{", true); err == nil || !strings.Contains(err.Error(), "no braces") {
		t.Errorf("with an invalid pool the error is %v", err)
	}
}

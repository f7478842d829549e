package testkit

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Starts runs an example that leases a worker ID, takes UIDs, prints the pool, and gives the worker ID back, until a start shows a worker
// ID that is free again. A start that begins within seconds after the one before takes another one, because the time up to which that
// one was used has not come yet.
func Starts(tb testing.TB, run func(out *strings.Builder) error) {
	tb.Helper()
	late := 0 // starts whose Close did not release the worker ID within five seconds, because the disk is slow
	Retry(tb, "a start shows a worker ID that is free", func() error {
		var out strings.Builder
		err := run(&out)
		if errors.Is(err, context.DeadlineExceeded) && late < 3 {
			late++
			return err
		}
		if err != nil {
			tb.Fatal(err)
		}
		if n := strings.Count(out.String(), " is held by process "); n < 1 || n > 1+late || !strings.Contains(out.String(), "10000 UIDs from ") {
			tb.Fatalf("the output is %q; want 10000 UIDs, and one worker ID that is held", out.String())
		}
		if !strings.Contains(out.String(), " is free; it was used up to ") {
			return errors.New(out.String())
		}
		return nil
	})
}

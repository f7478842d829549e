package main

import (
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/redistest"
)

// Each start takes a worker ID and gives it back. The next start uses it again, once the time that the first
// one has borrowed is over.
func TestRun(t *testing.T) {
	server := redistest.Start(t)
	if err := run(&strings.Builder{}, server.Address(), "example", true); err != nil {
		t.Fatal(err)
	}
	for start := range 3 {
		var out strings.Builder
		if err := run(&out, server.Address(), "example", false); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "is held by process "); n != 1 || !strings.Contains(out.String(), "10000 UIDs from ") {
			t.Errorf("the output is %q; want 10000 UIDs, and one worker ID that is held", out.String())
		}
		if start > 0 && !strings.Contains(out.String(), "worker ID 0 is free; it was used up to ") {
			t.Errorf("the output is %q; want that worker ID 0 is free", out.String())
		}
	}
	server.Kill()
	if err := run(&strings.Builder{}, server.Address(), "{", true); err == nil || !strings.Contains(err.Error(), "no braces") {
		t.Errorf("with an invalid pool the error is %v", err)
	}
}

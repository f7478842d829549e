package main

import (
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
)

// Each start takes a worker ID and gives it back. The next start uses it again, once the time that the first
// one has borrowed is over.
func TestRun(t *testing.T) {
	server := redistest.Start(t)
	if err := run(&strings.Builder{}, server.Address(), "example", true); err != nil {
		t.Fatal(err)
	}
	testkit.Starts(t, func(out *strings.Builder) error { return run(out, server.Address(), "example", false) })
	server.Kill()
	if err := run(&strings.Builder{}, server.Address(), "{", true); err == nil || !strings.Contains(err.Error(), "no braces") {
		t.Errorf("with an invalid pool the error is %v", err)
	}
}

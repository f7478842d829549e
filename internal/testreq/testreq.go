// Package testreq skips tests whose requirements are missing on this machine. If all tests must run, it
// fails them instead.
package testreq

import (
	"os"
	"testing"
)

// Env is the name of an environment variable. If it is set, all tests must run: a missing requirement
// is a failure, and -short skips no test. `make test` sets it.
const Env = "RINGUID_REQUIRE_SERVER"

// required reports whether all tests must run.
func required() bool { return os.Getenv(Env) != "" }

// Missing skips a test because a requirement is missing. If all tests must run, it fails the test.
func Missing(tb testing.TB, why ...any) {
	tb.Helper()
	if required() {
		tb.Fatal(append(why, " (and "+Env+" is set)")...)
	}
	tb.Skip(why...)
}

// Slow skips a slow test if -short is set, unless all tests must run.
func Slow(tb testing.TB, why string) {
	tb.Helper()
	if testing.Short() && !required() {
		tb.Skip("short: " + why)
	}
}

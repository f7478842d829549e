// Package testreq skips tests that need what is not there; or fails them, where it has to be.
package testreq

import (
	"os"
	"testing"
)

// Env, where it is set, says that all tests have to run: what is missing is a failure, and no
// test is left out to be short. `make test` sets it.
const Env = "RINGUID_REQUIRE_SERVER"

// required tells whether all tests have to run.
func required() bool { return os.Getenv(Env) != "" }

// Missing skips a test for want of something, or fails it where all have to run.
func Missing(tb testing.TB, why ...any) {
	tb.Helper()
	if required() {
		tb.Fatal(append(why, " (and "+Env+" is set)")...)
	}
	tb.Skip(why...)
}

// Slow skips a test that takes long if tests are to be short, unless all have to run.
func Slow(tb testing.TB, why string) {
	tb.Helper()
	if testing.Short() && !required() {
		tb.Skip("short: " + why)
	}
}

// Package testkit has what the tests of all modules share: which tests run, at which size, waiting for events, child
// processes, and a buffer.
package testkit

import (
	"os"
	"testing"
)

// RequireEnv is the name of an environment variable. If it is set, all tests must run: a missing requirement is a
// failure, and -short skips no test. `make test` sets it.
const RequireEnv = "RINGUID_REQUIRE_SERVER"

// FullEnv is the name of an environment variable. If it is set, the tests run in full size. `make test-full` sets it.
const FullEnv = "RINGUID_FULL"

// required reports whether all tests must run.
func required() bool { return os.Getenv(RequireEnv) != "" }

// IsFull reports whether the tests run in full size.
func IsFull() bool { return os.Getenv(FullEnv) != "" }

// Size returns how large a part of a test is: full if the tests run in full size, usual otherwise.
func Size[T any](usual, full T) T {
	if IsFull() {
		return full
	}
	return usual
}

// Amount returns how large a part of a test is: small with -short, and also with the race detector unless the tests run in
// full size; otherwise usual, or full if they run in full size without the race detector.
func Amount[T any](small, usual, full T) T {
	switch {
	case testing.Short(), Race && !IsFull():
		return small
	case Race || !IsFull():
		return usual
	}
	return full
}

// Missing skips a test because a requirement is missing. If all tests must run, it fails the test.
func Missing(tb testing.TB, why ...any) {
	tb.Helper()
	if required() {
		tb.Fatal(append(why, " (and "+RequireEnv+" is set)")...)
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

// WithoutRace skips a test with the race detector unless the tests run in full size: a test that computes much, and in which one
// goroutine takes UIDs or numbers, or all goroutines are processes of their own. Its package must be one of those that
// scripts/plain.sh runs without the race detector. In uid and segment, that script looks for this call in functions named TestX and testX.
func WithoutRace(tb testing.TB) {
	tb.Helper()
	if Race && !IsFull() {
		tb.Skip("with the race detector only in full size (" + FullEnv + ")")
	}
}

// Full skips a test that only `make test-full` runs.
func Full(tb testing.TB, why string) {
	tb.Helper()
	if !IsFull() {
		tb.Skip("only in full size (" + FullEnv + "): " + why)
	}
}

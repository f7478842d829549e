package testkit

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

// recordingTB is a test that records whether it failed, was skipped or ran.
type recordingTB struct {
	testing.TB
	result string
}

func (o *recordingTB) Helper()                           {}
func (o *recordingTB) Fatalf(format string, args ...any) { o.Fatal(fmt.Sprintf(format, args...)) }
func (o *recordingTB) Fatal(args ...any)                 { o.result = "failed: " + fmt.Sprint(args...); panic(o) }
func (o *recordingTB) Skip(args ...any)                  { o.result = "skipped: " + fmt.Sprint(args...); panic(o) }

// runTest runs a test and returns its result.
func runTest(test func(testing.TB)) string {
	o := new(recordingTB)
	func() {
		defer func() { recover() }()
		test(o)
		o.result = "ran"
	}()
	return o.result
}

// If all tests must run, Missing fails a test and Slow does not skip it.
func TestMissingAndSlow(t *testing.T) {
	missing := func(tb testing.TB) { Missing(tb, "no links: ", 7) }
	long := func(tb testing.TB) { Slow(tb, "it takes 6 s") }
	short := flag.Lookup("test.short")
	before := short.Value.String()
	defer short.Value.Set(before)
	for _, tt := range []struct{ required, short, missing, long string }{
		{"", "false", "skipped: no links: 7", "ran"},
		{"", "true", "skipped: no links: 7", "skipped: short: it takes 6 s"},
		{"1", "false", "failed: no links: 7", "ran"},
		{"1", "true", "failed: no links: 7", "ran"},
	} {
		t.Setenv(RequireEnv, tt.required)
		short.Value.Set(tt.short)
		if got := runTest(missing); !strings.HasPrefix(got, tt.missing) {
			t.Errorf("%+v: Missing: %s", tt, got)
		}
		if got := runTest(long); got != tt.long {
			t.Errorf("%+v: Slow: %s", tt, got)
		}
	}
}

func TestWithoutRace(t *testing.T) {
	for env, want := range map[string]string{"": "ran", "1": "ran"} {
		if Race && env == "" {
			want = "skipped: with the race detector only in full size (RINGUID_FULL)"
		}
		t.Setenv(FullEnv, env)
		if got := runTest(func(tb testing.TB) { WithoutRace(tb) }); got != want {
			t.Errorf("%s=%s: WithoutRace: %s, want %s", FullEnv, env, got, want)
		}
	}
}

func TestFull(t *testing.T) {
	test := func(tb testing.TB) { Full(tb, "it takes an hour") }
	for env, want := range map[string]string{"": "skipped: only in full size (RINGUID_FULL): it takes an hour", "1": "ran"} {
		t.Setenv(FullEnv, env)
		if got := runTest(test); got != want {
			t.Errorf("%s=%s: Full: %s, want %s", FullEnv, env, got, want)
		}
		want := map[string]int{"": 8, "1": 100}[env]
		if Race {
			want = map[string]int{"": 1, "1": 8}[env]
		}
		if got := Amount(1, 8, 100); got != want && !testing.Short() {
			t.Errorf("%s=%s: Amount(1, 8, 100) = %d, want %d", FullEnv, env, got, want)
		}
		if got, want := Size(8, 100), map[string]int{"": 8, "1": 100}[env]; got != want {
			t.Errorf("%s=%s: Size(8, 100) = %d, want %d", FullEnv, env, got, want)
		}
	}
}

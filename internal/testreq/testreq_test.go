package testreq

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

func (o *recordingTB) Helper()           {}
func (o *recordingTB) Fatal(args ...any) { o.result = "failed: " + fmt.Sprint(args...); panic(o) }
func (o *recordingTB) Skip(args ...any)  { o.result = "skipped: " + fmt.Sprint(args...); panic(o) }

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
		t.Setenv(Env, tt.required)
		short.Value.Set(tt.short)
		if got := runTest(missing); !strings.HasPrefix(got, tt.missing) {
			t.Errorf("%+v: Missing: %s", tt, got)
		}
		if got := runTest(long); got != tt.long {
			t.Errorf("%+v: Slow: %s", tt, got)
		}
	}
}

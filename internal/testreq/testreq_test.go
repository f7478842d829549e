package testreq

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

// outcome is a test that notes what is made of it.
type outcome struct {
	testing.TB
	said string
}

func (o *outcome) Helper()           {}
func (o *outcome) Fatal(args ...any) { o.said = "failed: " + fmt.Sprint(args...); panic(o) }
func (o *outcome) Skip(args ...any)  { o.said = "skipped: " + fmt.Sprint(args...); panic(o) }

// of runs a test and returns what was made of it.
func of(test func(testing.TB)) string {
	o := new(outcome)
	func() {
		defer func() { recover() }()
		test(o)
		o.said = "ran"
	}()
	return o.said
}

func TestWhatIsMissingFailsWhereAllHaveToRun(t *testing.T) {
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
		if got := of(missing); !strings.HasPrefix(got, tt.missing) {
			t.Errorf("%+v: Missing: %s", tt, got)
		}
		if got := of(long); got != tt.long {
			t.Errorf("%+v: Slow: %s", tt, got)
		}
	}
}

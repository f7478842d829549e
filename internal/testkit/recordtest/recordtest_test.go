package recordtest

import (
	"fmt"
	"testing"
)

func TestRun(t *testing.T) {
	cleaned := ""
	r := Run(t, func(tb testing.TB) {
		tb.Helper()
		tb.Log("not recorded")
		tb.Cleanup(func() { cleaned += "b" })
		tb.Cleanup(func() { cleaned += "a" })
		tb.Error("one", 1)
		tb.Errorf("two %d", 2)
		tb.Fatalf("three")
		tb.Error("not reached")
	})
	if got := fmt.Sprintf("%q", r.Failures); got != `["one 1" "two 2" "three"]` || !r.Failed() || r.SkipReason != "" || cleaned != "ab" {
		t.Errorf("recorded %s, skipped %q, cleaned up %q", got, r.SkipReason, cleaned)
	}
	r = Run(t, func(tb testing.TB) { tb.Skipf("why %d", 3); tb.Error("not reached") })
	if r.Failed() || r.SkipReason != "why 3" {
		t.Errorf("recorded %q, skipped %q", r.Failures, r.SkipReason)
	}
	for _, end := range []func(testing.TB){func(tb testing.TB) { tb.Fatal("x") }, func(tb testing.TB) { tb.FailNow() }} {
		if r := Run(t, func(tb testing.TB) { end(tb); tb.Error("not reached") }); len(r.Failures) != 1 {
			t.Errorf("recorded %q", r.Failures)
		}
	}
}

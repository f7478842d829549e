package assigntest

import (
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/recordtest"
)

// runCase runs one test of a store.
func runCase(tb testing.TB, name string, h Harness) *recordtest.Recorder {
	for _, c := range storeCases {
		if c.name == name {
			return recordtest.Run(tb, func(tb testing.TB) { c.test(tb, h) })
		}
	}
	tb.Fatalf("there is no test %s", name)
	return nil
}

// A fault without a function is a failure, unless the harness gives a reason: then its tests are skipped.
func TestFaultsRequire(t *testing.T) {
	h := newMemoryServer().harness()
	h.Pause = nil
	if r := runCase(t, "Paused", h); len(r.Failures) != 1 || !strings.Contains(r.Failures[0], `Without["Pause"]`) {
		t.Errorf("without Pause: %q, want a failure that names it", r.Failures)
	}
	h.Without = map[string]string{"Pause": "it has no signals"}
	if r := runCase(t, "Paused", h); r.Failed() || r.SkipReason != "the harness has no fault Pause: it has no signals" {
		t.Errorf("with a reason: failures %q, skipped %q, want only the latter", r.Failures, r.SkipReason)
	}
	h.Without["Kill"] = "no signals"
	if r := runCase(t, "KilledDuringWrites", h); len(r.Failures) != 1 || !strings.Contains(r.Failures[0], "remove one of them") {
		t.Errorf("with Kill and a reason why there is none: %q, want a failure", r.Failures)
	}
	if r := runCase(t, "Empty", Harness{}); len(r.Failures) != 1 || !strings.Contains(r.Failures[0], "Harness.New") {
		t.Errorf("without New: %q, want a failure that names it", r.Failures)
	}
}

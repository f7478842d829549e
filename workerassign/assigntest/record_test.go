package assigntest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder is a testing.TB that records what a test reports, so that a test which must fail can be tested.
type recorder struct {
	testing.TB // the test that runs the other one

	mu       sync.Mutex
	failures []string
	skipped  string
	cleanups []func()
}

// record runs a test and returns what it reported.
func record(tb testing.TB, test func(tb testing.TB)) *recorder {
	r := &recorder{TB: tb}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, f := range slices.Backward(r.cleanups) {
				f()
			}
		}()
		test(r)
	}()
	<-done
	return r
}

func (r *recorder) fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, strings.TrimSpace(text))
}

func (r *recorder) Error(args ...any)                 { r.fail(fmt.Sprintln(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.fail(fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any)                 { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }
func (r *recorder) FailNow()                          { r.Error("FailNow"); runtime.Goexit() }
func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Cleanup(f func())    { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Helper()             {}
func (r *recorder) Log(...any)          {}
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Failed() bool        { r.mu.Lock(); defer r.mu.Unlock(); return len(r.failures) > 0 }

// runCase runs one test of a store.
func runCase(tb testing.TB, name string, h Harness) *recorder {
	for _, c := range storeCases {
		if c.name == name {
			return record(tb, func(tb testing.TB) { c.test(tb, h) })
		}
	}
	tb.Fatalf("there is no test %s", name)
	return nil
}

// A fault without a function is a failure, unless the harness gives a reason: then its tests are skipped.
func TestFaultsRequire(t *testing.T) {
	h := newMemoryServer().harness()
	h.Pause = nil
	if r := runCase(t, "Paused", h); len(r.failures) != 1 || !strings.Contains(r.failures[0], `Without["Pause"]`) {
		t.Errorf("without Pause: %q, want a failure that names it", r.failures)
	}
	h.Without = map[string]string{"Pause": "it has no signals"}
	if r := runCase(t, "Paused", h); r.Failed() || r.skipped != "the harness has no fault Pause: it has no signals" {
		t.Errorf("with a reason: failures %q, skipped %q, want only the latter", r.failures, r.skipped)
	}
	h.Without["Kill"] = "no signals"
	if r := runCase(t, "KilledDuringWrites", h); len(r.failures) != 1 || !strings.Contains(r.failures[0], "remove one of them") {
		t.Errorf("with Kill and a reason why there is none: %q, want a failure", r.failures)
	}
	if r := runCase(t, "Empty", Harness{}); len(r.failures) != 1 || !strings.Contains(r.failures[0], "NewStore") {
		t.Errorf("without NewStore: %q, want a failure that names it", r.failures)
	}
}

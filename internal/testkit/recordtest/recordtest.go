// Package recordtest runs tests that must fail, and records what they report.
package recordtest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A Recorder is a testing.TB that records what a test reports. Run returns one, when the test is over.
type Recorder struct {
	testing.TB // the test that runs the other one

	Failures   []string // the texts of the failures, in their order
	SkipReason string   // why the test was skipped; "" if it was not

	mu       sync.Mutex // for Failures
	cleanups []func()
}

// Run runs a test in a goroutine of its own, with its cleanups, and returns what it reported.
func Run(tb testing.TB, test func(tb testing.TB)) *Recorder {
	r := &Recorder{TB: tb}
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

func (r *Recorder) fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Failures = append(r.Failures, strings.TrimSpace(text))
}

// Error implements testing.TB, as the methods below.
func (r *Recorder) Error(args ...any)                 { r.fail(fmt.Sprintln(args...)) }
func (r *Recorder) Errorf(format string, args ...any) { r.fail(fmt.Sprintf(format, args...)) }
func (r *Recorder) Fatal(args ...any)                 { r.Error(args...); runtime.Goexit() }
func (r *Recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }
func (r *Recorder) FailNow()                          { r.Error("FailNow"); runtime.Goexit() }
func (r *Recorder) Skipf(format string, args ...any) {
	r.SkipReason = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
func (r *Recorder) Cleanup(f func())    { r.cleanups = append(r.cleanups, f) }
func (r *Recorder) Helper()             {}
func (r *Recorder) Log(...any)          {}
func (r *Recorder) Logf(string, ...any) {}
func (r *Recorder) Failed() bool        { r.mu.Lock(); defer r.mu.Unlock(); return len(r.Failures) > 0 }

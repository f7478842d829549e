package testkit

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Eventually and Retry return as soon as what they wait for holds, and fail the test if it never does.
func TestEventually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := time.Now().Add(patience - time.Second)
		Eventually(t, "ready", func() bool { return !time.Now().Before(ready) })
		if late := time.Since(ready); late > time.Millisecond {
			t.Errorf("Eventually returned %v late", late)
		}
		for want, test := range map[string]func(testing.TB){
			"failed: never ready: not after 10m0s: it does not hold": func(tb testing.TB) { Eventually(tb, "never ready", func() bool { return false }) },
			"failed: no answer: not after 10m0s: refused":            func(tb testing.TB) { Retry(tb, "no answer", func() error { return errors.New("refused") }) },
		} {
			if got := runTest(test); !strings.HasPrefix(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
}

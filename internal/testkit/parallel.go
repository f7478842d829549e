package testkit

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// RunParallel runs the tests of a package that wait most of the time, for TestMain: n at the same time, unless -parallel is
// set. Then it ends what Shared has started.
func RunParallel(m *testing.M, n int) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		flag.Set("test.parallel", strconv.Itoa(n))
	}
	code := m.Run()
	endShared()
	os.Exit(code)
}

var (
	sharedMu   sync.Mutex
	sharedEnds []func() // in the order of the calls of Cleanup
)

// endShared ends what Shared has started.
func endShared() {
	for _, end := range slices.Backward(sharedEnds) {
		end()
	}
	sharedEnds = nil
}

// Shared returns a function that returns the result of start, which is called once: by the first test that requires it. What
// start has started ends with RunParallel, and must not be used by methods that require its test.
func Shared[T any](start func(testing.TB) T) func(testing.TB) T {
	var result T
	started := false
	return func(tb testing.TB) T {
		tb.Helper()
		sharedMu.Lock()
		defer sharedMu.Unlock()
		if !started {
			result = start(sharedTB{tb}) // may end the test
			started = true
		}
		return result
	}
}

// sharedTB is the first test that requires what is shared. It has ended when what is shared ends.
type sharedTB struct{ testing.TB }

// Cleanup implements testing.TB.
func (sharedTB) Cleanup(f func()) { sharedEnds = append(sharedEnds, f) }

// Failed implements testing.TB.
func (sharedTB) Failed() bool { return false }

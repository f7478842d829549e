package testkit

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// RunParallel runs the tests of a package that wait most of the time, for TestMain: n at the same time, unless -parallel is
// set.
func RunParallel(m *testing.M, n int) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		flag.Set("test.parallel", strconv.Itoa(n))
	}
	os.Exit(m.Run())
}

package testkit

import (
	"slices"
	"testing"
)

// What is shared is started once, also if the first test that requires it is skipped, and outlives the tests.
func TestShared(t *testing.T) {
	var log []string
	skip := true
	get := Shared(func(tb testing.TB) int {
		tb.Cleanup(func() { log = append(log, "end") })
		if skip {
			tb.Skip("it is not installed")
		}
		log = append(log, "start")
		return 7
	})
	t.Run("skipped", func(t *testing.T) { get(t) })
	skip = false
	for range 2 {
		t.Run("test", func(t *testing.T) {
			if n := get(t); n != 7 {
				t.Errorf("the result is %d", n)
			}
		})
	}
	if !slices.Equal(log, []string{"start"}) {
		t.Errorf("%q", log)
	}
	endShared()
	if !slices.Equal(log, []string{"start", "end", "end"}) {
		t.Errorf("%q", log)
	}
}

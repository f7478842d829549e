package leaktest

import (
	"strings"
	"sync"
	"testing"
)

// A group counts its goroutines, also indirect ones, and no others.
func TestGroup(t *testing.T) {
	stop := make(chan struct{})
	var running sync.WaitGroup
	wait := func() { <-stop }
	for range 10 {
		running.Go(wait) // not of the group
	}
	g := NewGroup()
	g.Do(func() {
		for range 3 {
			running.Go(func() {
				running.Go(wait)
				<-stop
			})
		}
		running.Go(wait)
	})
	for n, profile := g.Count(); n != 7; n, profile = g.Count() {
		if n > 7 {
			t.Fatalf("%d goroutines, want 7\n%s", n, profile)
		}
	}
	if _, profile := g.Count(); !strings.Contains(profile, "TestGroup") {
		t.Errorf("the profile has no stack of this test:\n%s", profile)
	}
	if n, _ := NewGroup().Count(); n != 0 {
		t.Errorf("a new group has %d goroutines", n)
	}
	close(stop)
	running.Wait()
}

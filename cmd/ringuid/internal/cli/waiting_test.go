package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// What takes more than a second shows for how long, and removes that text at the end. What is faster shows nothing.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		done := showWaiting(&b, "checking")
		time.Sleep(2500 * time.Millisecond)
		done()
		done()
		if want := "\rchecking: 1 s\rchecking: 2 s\r             \r"; b.String() != want {
			t.Errorf("%q, want %q", &b, want)
		}
		b.Reset()
		showWaiting(&b, "checking")()
		if b.String() != "" {
			t.Errorf("%q, want nothing", &b)
		}
	})
	a := &App{Stderr: new(bytes.Buffer)}
	a.waiting("checking")() // no terminal
}

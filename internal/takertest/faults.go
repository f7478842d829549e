package takertest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testserver"
	"github.com/ringuid/ringuid/segment"
)

// Kill kills the server many times, each time in the middle of a Take. No number is taken twice. open returns another
// client of the store.
func Kill(t *testing.T, open func() segment.Creator, kill, restart func()) {
	Create(t, open())
	k := New(t)
	for n := range 4 {
		src := open()
		for range 2 {
			k.Run(src, n%2 == 0, 2*time.Second)
		}
	}
	idle := 0
	for range kills() {
		k.Wait(10)
		time.Sleep(rand.N(50 * time.Millisecond))
		for end := time.Now().Add(5 * time.Second); k.inCall.Load() == 0 && time.Now().Before(end); {
		}
		if k.inCall.Load() == 0 {
			idle++
		}
		kill()
		restart()
	}
	k.Wait(10)
	if idle > 0 {
		t.Errorf("%d of %d kills were not in the middle of a Take", idle, kills())
	}
	k.Check()
}

// Pause pauses the server for longer than the calls may take. They fail, and later ones succeed. No number is taken
// twice.
func Pause(t *testing.T, open func() segment.Creator, pause, resume func()) {
	Create(t, open())
	k := New(t)
	for n := range 4 {
		k.Run(open(), n%2 == 0, 300*time.Millisecond)
	}
	pauses := 3
	if full() {
		pauses = 30
	}
	for range pauses {
		k.Wait(10)
		failed := k.failures.Load()
		pause()
		for begin := time.Now(); k.failures.Load() < failed+4; time.Sleep(time.Millisecond) {
			if time.Since(begin) > 20*time.Second {
				t.Fatal("the calls do not end with their contexts")
			}
		}
		resume()
	}
	k.Wait(10)
	k.Check()
}

// LostReplies loses the replies to Takes, in different moments. The range of a Take whose reply was lost is a gap.
// through and direct are sources of the same store, with and without the proxy.
func LostReplies(t *testing.T, p *testserver.Proxy, through func() segment.Creator, direct segment.Creator) {
	Create(t, direct)
	k := New(t)
	w := k.Writer()
	gaps, size := 0, int64(7)
	for n := range kills() {
		src := through()
		k.Add(w, Take(t, src, segment.Request{Tag: Tag, Size: size}))
		// The reply to the write is lost if the reply to the read has arrived before, so the moment is a random one.
		done := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		var lost segment.Range
		go func() {
			var err error
			if n%2 == 0 {
				time.Sleep(5 * time.Millisecond) // the read is lost, too
			}
			lost, err = src.Take(ctx, segment.Request{Tag: Tag, Size: size})
			done <- err
		}()
		time.Sleep(rand.N(4 * time.Millisecond))
		var err error
		p.LoseReplies(t, func() { err = <-done })
		cancel()
		before := k.Last()
		if err == nil {
			k.Add(w, lost)
			continue
		}
		for _, src := range []segment.Source{src, direct} {
			got := Take(t, src, segment.Request{Tag: Tag, Size: size, AtLeast: before + 1})
			k.Add(w, got)
			if got.First == before+1+size {
				gaps++
			} else if got.First != k.Last()-size+1 {
				t.Errorf("after %d follows %+v", before, got)
			}
			before = k.Last()
		}
	}
	t.Logf("%d replies were lost after the write", gaps)
	k.Check()
}

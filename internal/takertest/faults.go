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

// LostReplies loses the replies to Takes, at random moments, until some of the lost replies were those to the write. The
// range of such a Take is a gap. through and direct are sources of the same store, with and without the proxy.
func LostReplies(t *testing.T, p *testserver.Proxy, through func() segment.Creator, direct segment.Creator) {
	const tries, size = 200, 7
	Create(t, direct)
	k := New(t)
	w := k.Writer()
	src := through()
	gaps, want := 0, max(2, kills()/4)
	for n := 0; gaps < want && n < tries; n++ {
		k.Add(w, takeAgain(t, src, segment.Request{Tag: Tag, Size: size, AtLeast: k.Last() + 1}))
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		type result struct {
			r   segment.Range
			err error
		}
		done := make(chan result, 1)
		go func() {
			r, err := src.Take(ctx, segment.Request{Tag: Tag, Size: size})
			done <- result{r, err}
		}()
		// The reply to the write is lost only if that to the read has arrived before.
		time.Sleep(rand.N(6 * time.Millisecond))
		var got result
		p.LoseReplies(t, func() { got = <-done })
		cancel()
		if got.err == nil {
			k.Add(w, got.r)
			continue
		}
		switch next := Take(t, direct, segment.Request{Tag: Tag, Size: size}); next.First {
		case k.Last() + 1 + size:
			gaps++
			k.Add(w, next)
		case k.Last() + 1:
			k.Add(w, next)
		default:
			t.Errorf("after %d and a lost reply follows %+v", k.Last(), next)
		}
	}
	t.Logf("%d replies were lost after the write", gaps)
	if gaps < want {
		t.Errorf("only %d replies to writes were lost in %d tries; want %d", gaps, tries, want)
	}
	k.Check()
}

// takeAgain takes a range. It tries again if that fails: the connection may have to be made again.
func takeAgain(t *testing.T, src segment.Source, r segment.Request) segment.Range {
	for n := 0; ; n++ {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		got, err := src.Take(ctx, r)
		cancel()
		if err == nil {
			return got
		}
		if n == 20 {
			t.Fatalf("Take(%+v): %v", r, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

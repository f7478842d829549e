package segment_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// Opening, dropping and closing race. Nothing is left, and calls return numbers or ErrClosed.
func TestTagsClose(t *testing.T) {
	leaktest.Check(t)
	for round := range 200 {
		m := segmenttest.NewMemory()
		m.SetFaults(func(segmenttest.Op) segmenttest.Fault { runtime.Gosched(); return segmenttest.NoFault })
		tags, err := segment.NewTags(m, quietOption(), segment.WithMaxWait(longWait), segment.WithCreate(segment.TagConfig{Step: 1}))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				for n := 0; ; n++ {
					_, err := tags.Next(fmt.Sprint("tag", (g+n)%20))
					if errors.Is(err, segment.ErrClosed) {
						return
					}
					if err != nil {
						t.Errorf("Next while Close runs: %v", err)
						return
					}
				}
			})
		}
		for range round % 17 {
			runtime.Gosched()
		}
		wg.Go(func() { tags.Close() })
		testkit.Close(t, tags.Close, segment.ErrBusy)
		if _, err := tags.Next("tag1"); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("Next after Close = %v, want ErrClosed", err)
		}
		wg.Wait()
		if t.Failed() {
			return
		}
	}
}

// Calls that wait for the first range of a tag return ErrClosed at once when the Tags is closed.
func TestTagsCloseWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, how := range []string{"down", "paused"} {
			m := segmenttest.NewMemory()
			create(t, m, "x", segment.TagConfig{})
			if how == "down" {
				m.Kill()
			} else {
				m.Pause()
			}
			tags := newTags(t, m)
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					if _, err := tags.Next("x"); !errors.Is(err, segment.ErrClosed) {
						t.Errorf("Next of a source that is %s while Close runs = %v, want ErrClosed", how, err)
					}
				})
			}
			time.Sleep(time.Second)
			begin := time.Now()
			if err := tags.Close(); err != nil || time.Since(begin) > 0 {
				t.Errorf("Close = %v after %v", err, time.Since(begin))
			}
			wg.Wait()
		}
	})
}

// A source that ignores its context is reported by Close, also if the tag was dropped meanwhile.
func TestTagsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{Step: 1})
		var taken atomic.Int64
		tags, err := segment.NewTags(hookedSource{m, func(context.Context, segment.Request) error {
			if taken.Add(1) > 2 {
				<-release
			}
			return nil
		}}, quietOption(), segment.WithIdle(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tags.Next("x"); err != nil {
			t.Fatal(err)
		}
		tags.Next("x")
		time.Sleep(10 * time.Second) // it is dropped
		for range tags.Stats() {
			t.Error("the tag was not dropped")
		}
		if err := tags.Close(); !errors.Is(err, segment.ErrBusy) {
			t.Errorf("Close with a source that does not return = %v, want ErrBusy", err)
		}
		close(release)
		if err := tags.Close(); err != nil {
			t.Errorf("Close again = %v", err)
		}
	})
}

// A source that ignores its context is also reported by a Close that begins while the tag is being dropped: at that
// moment neither the tag nor a goroutine that waits for the source permanently is known to Close.
func TestTagsBusyWhileDropping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{Step: 1})
		var taken, running atomic.Int64
		tags, err := segment.NewTags(hookedSource{m, func(context.Context, segment.Request) error {
			if taken.Add(1) > 2 {
				running.Add(1)
				<-release
				running.Add(-1)
			}
			return nil
		}}, quietOption(), segment.WithIdle(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := tags.Next("x"); err != nil {
				t.Fatal(err)
			}
		}
		for dropping := false; !dropping; time.Sleep(100 * time.Millisecond) {
			dropping = true
			for range tags.Stats() {
				dropping = false
			}
		}
		if err := tags.Close(); !errors.Is(err, segment.ErrBusy) {
			t.Errorf("Close while a tag is being dropped whose source does not return = %v, with %d calls of the source running; want ErrBusy", err, running.Load())
		}
		close(release)
		if err := tags.Close(); err != nil {
			t.Errorf("Close again = %v", err)
		}
	})
}

// slowSource returns a range after a minute, and ignores its context.
type slowSource struct{ returned *atomic.Bool }

func (s slowSource) Take(context.Context, segment.Request) (segment.Range, error) {
	time.Sleep(time.Minute)
	s.returned.Store(true)
	return segment.Range{First: 1, Length: 10}, nil
}
func (slowSource) String() string { return "a slow source" }

// A tag whose opening ends after Close has returned ErrBusy is closed: no goroutine is left in the bubble.
func TestTagsOpenedAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ignored atomic.Bool
		tags, err := segment.NewTags(slowSource{&ignored}, quietOption(), segment.WithTryTimeout(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tags.Next("x"); !errors.Is(err, segment.ErrEmpty) {
			t.Errorf("Next = %v, want ErrEmpty", err)
		}
		if err := tags.Close(); !errors.Is(err, segment.ErrBusy) {
			t.Errorf("Close = %v, want ErrBusy", err)
		}
		time.Sleep(10 * time.Minute)
		if !ignored.Load() {
			t.Error("the source was not called")
		}
	})
}

// Close with many tags whose source does not return takes no longer than with one.
func TestTagsManyBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var down atomic.Bool
		m := segmenttest.NewMemory()
		tags, err := segment.NewTags(hookedSource{m, func(context.Context, segment.Request) error {
			if down.Load() {
				<-release
			}
			return nil
		}}, quietOption(), segment.WithCreate(segment.TagConfig{Step: 2}))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // the third number is of the second range, so another one is requested
			for n := range 1000 {
				if _, err := tags.Next(fmt.Sprint(n)); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			down.Store(true)
		}
		begin := time.Now()
		if err := tags.Close(); !errors.Is(err, segment.ErrBusy) || time.Since(begin) > 15*time.Second {
			t.Errorf("Close of 1000 tags whose source does not return = %v after %v, want ErrBusy after 5s", err, time.Since(begin))
		}
		close(release)
		if err := tags.Close(); err != nil {
			t.Errorf("Close again = %v", err)
		}
	})
}

package segment

import (
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// A series of failures is one record when it begins and one when it is over, with the tag and the error.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out testkit.Buffer
		s, src := newEmptySequence(t, down, WithLogger(slog.New(slog.NewTextHandler(&out, nil))))
		time.Sleep(time.Hour)
		src.fail(nil)
		time.Sleep(2 * time.Second)
		mustNext(t, s, 21)
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], "tag=orders") ||
			!strings.Contains(lines[0], "connection refused") || !strings.Contains(lines[1], "level=INFO") || !strings.Contains(lines[1], "tag=orders") {
			t.Errorf("the records are\n%s", out.String())
		}
	})
}

// Handlers that end their goroutine, block or take numbers do not disturb callers.
func TestBadLogHandlers(t *testing.T) {
	for name, handle := range map[string]func(s *Sequence, release chan struct{}){
		"Goexit": func(*Sequence, chan struct{}) { runtime.Goexit() },
		"blocks": func(_ *Sequence, release chan struct{}) { <-release },
		"Next":   func(s *Sequence, _ chan struct{}) { s.Next(); s.Stats(); s.Health() },
		"Close":  func(s *Sequence, _ chan struct{}) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s *Sequence
				release := make(chan struct{})
				var logged atomic.Bool
				src := newMemorySource(10)
				var ready sync.WaitGroup // the handler uses s, when the calls below are over
				ready.Add(1)
				s, err := New(t.Context(), src, testTag, WithLogger(slog.New(handlerFunc(func(slog.Record) {
					logged.Store(true)
					ready.Wait()
					handle(s, release)
				}))))
				if err != nil {
					t.Fatal(err)
				}
				src.fail(down)
				begin := time.Now()
				for v := int64(1); v <= 20; v++ {
					mustNext(t, s, v)
				}
				if d := time.Since(begin); d != 0 {
					t.Errorf("20 calls took %v", d)
				}
				ready.Done()
				synctest.Wait()
				src.fail(nil)
				time.Sleep(10 * time.Second)
				if v, err := s.Next(); name != "Close" && (err != nil || v < 21 || v > 40) || name == "Close" && err != ErrClosed {
					t.Errorf("Next() = %d, %v", v, err)
				}
				if !logged.Load() {
					t.Error("nothing was logged")
				}
				begin = time.Now()
				if err := s.Close(); err != nil || time.Since(begin) > 2*time.Second {
					t.Errorf("Close() = %v after %v", err, time.Since(begin))
				}
				close(release)
			})
		})
	}
}

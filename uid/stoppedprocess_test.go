//go:build unix

package uid_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// A process is stopped by SIGSTOP and continued, while 8 goroutines take UIDs from both kinds of
// generator: there is no duplicate and no negative UID, UIDs increase in each goroutine, and they are
// fresh again.
func TestStoppedProcess(t *testing.T) {
	if folder := testkit.ChildArg(); folder != "" {
		if err := generateUntilStopFile(folder); err != nil {
			fmt.Println(err)
		}
		return
	}
	testkit.Slow(t, "it is stopped for 4 s")
	t.Parallel()
	c := startGenerating(t, nil)
	c.Pause()
	time.Sleep(testkit.Size(4*time.Second, time.Minute))
	c.Resume()
	c.stop(0)
}

// generatingChild is a process that runs generateUntilStopFile.
type generatingChild struct {
	*testkit.Child
	t      *testing.T
	folder string
}

// startGenerating starts a child by a command, and waits until all its goroutines have taken UIDs.
func startGenerating(t *testing.T, command []string, env ...string) *generatingChild {
	t.Helper()
	c := &generatingChild{t: t, folder: t.TempDir()}
	c.Child = testkit.StartChildWith(t, command, c.folder, env...)
	c.awaitMove(0)
	return c
}

// awaitMove waits until all goroutines of the child have taken UIDs when its wall clock was moved by so much since the start.
func (c *generatingChild) awaitMove(by time.Duration) {
	c.t.Helper()
	if line, want := c.Line(), fmt.Sprint("moved by ", by); line != want {
		c.t.Fatalf("the child reports %q, want %q", line, want)
	}
}

// stop ends the child when its UIDs are fresh. Its wall clock must have been moved by so much in all.
func (c *generatingChild) stop(moved time.Duration) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.folder, "stop"), nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
	line, want := c.Line(), fmt.Sprint("UIDs, all different, while the wall clock was moved by ", moved)
	if !strings.HasSuffix(line, want) {
		c.t.Errorf("the child reports %q, want %q", line, want)
	}
	if err := c.Wait(); err != nil {
		c.t.Error(err)
	}
	c.t.Log(line)
}

// generateUntilStopFile takes UIDs from both kinds of generator until there is a file named stop, and the UIDs are fresh. It
// prints a line each time that all goroutines have taken UIDs after a step of the wall clock, and one at the end.
func generateUntilStopFile(folder string) error {
	workers := workerassign.NewFile(filepath.Join(folder, "worker"))
	c, err := uid.NewCached(context.Background(), workers)
	if err != nil {
		return err
	}
	defer c.Close()
	d, err := uid.NewDefault(context.Background(), workers)
	if err != nil {
		return err
	}
	defer d.Close()
	const takers = 8
	var (
		seen  uniq.Set
		all   sync.WaitGroup
		stop  atomic.Bool
		total atomic.Int64
		fault atomic.Pointer[error]
		first = stepWatch{start: time.Now()}
		moves [takers]atomic.Int64 // by how much the wall clock was moved when a taker took its last UID, in minutes, plus a million
	)
	fail := func(format string, args ...any) {
		err := fmt.Errorf(format, args...)
		fault.Store(&err)
		stop.Store(true)
	}
	for n := range takers {
		all.Go(func() {
			g := []uid.Generator{c, d}[n%2]
			w, last, watch := seen.Writer(), uid.ID(-1), first
			for !stop.Load() {
				before := time.Now()
				watch.look(before)
				id, err := g.Next()
				if err != nil || id <= last || !w.Add(int64(id)) {
					fail("Next() = %d, %v after %d, or it is a duplicate", id, err, last)
					return
				}
				last = id
				if total.Add(1)%64 == 0 {
					time.Sleep(time.Millisecond)
				}
				if watch.windows > 0 {
					continue
				}
				// A Default generator's time is that of the call, within the accuracy of its clock: the wall clock and
				// the monotonic clock are read one after the other. The ring's may be older just after the process
				// continues, before the padder has run.
				const accuracy = 10 * time.Millisecond
				if p := g.Parse(id); g == d && p.Time.Before(before.Add(-time.Second-accuracy)) {
					fail("%v was returned at %v", p, before)
					return
				}
				moves[n].Store(int64(watch.moved.Round(time.Minute)/time.Minute) + 1e6)
			}
		})
	}
	least, most, reported, enough := time.Duration(0), time.Duration(0), int64(0), int64(0)
	for !stop.Load() {
		moved := first.movedBy(time.Now())
		least, most = min(least, moved), max(most, moved)
		move := moves[0].Load()
		for n := range moves {
			if moves[n].Load() != move {
				move = 0
			}
		}
		if move != 0 && move != reported {
			fmt.Println("moved by", time.Duration(move-1e6)*time.Minute)
			reported = move
		}
		if _, err := os.Stat(filepath.Join(folder, "stop")); err == nil {
			if enough == 0 {
				enough = total.Load() + 1_000
			}
			id, err := c.Next()
			if err != nil {
				fail("%w", err)
			} else if total.Load() >= enough && time.Since(c.Parse(id).Time) <= uid.DefaultMaxStaleness {
				stop.Store(true)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	all.Wait()
	if err := fault.Load(); err != nil {
		return *err
	}
	if n := seen.Len(); n != total.Load() {
		return fmt.Errorf("%d of %d UIDs are distinct", n, total.Load())
	}
	fmt.Printf("%d UIDs, all different, while the wall clock was moved by %v\n", total.Load(), (most - least).Round(time.Minute))
	return nil
}

// stepWatch notices steps of the wall clock. A generator follows a step forward when it reads the clock the next time, and a long one
// when it has read the clock two times more. It reads the clock in a call that comes more than a second after the last reading.
type stepWatch struct {
	start   time.Time
	moved   time.Duration
	windows int       // in how many calls, each a second after the one before, the generator must have read the clock
	next    time.Time // when the next window ends
}

// movedBy returns how far the wall clock has moved relative to the monotonic clock since the start.
func (w *stepWatch) movedBy(t time.Time) time.Duration {
	return t.Round(0).Sub(w.start.Round(0)) - t.Sub(w.start)
}

// look is called before each call of a generator.
func (w *stepWatch) look(now time.Time) {
	const window = 1100 * time.Millisecond
	if w.windows > 0 && now.After(w.next) {
		w.windows, w.next = w.windows-1, now.Add(window)
	}
	switch by := w.movedBy(now) - w.moved; {
	case by > time.Hour:
		w.moved, w.windows, w.next = w.moved+by, 3, now.Add(window)
	case by > 100*time.Millisecond:
		w.moved, w.windows, w.next = w.moved+by, max(w.windows, 1), now.Add(window)
	case by < -100*time.Millisecond:
		w.moved += by
	}
}
